"""`ace-graph reflect`, and learning after the fact: from feedback, from what many runs have in common.

The offline tutor never takes the place of a model here; `trajectory feedback`, `reflect --batch` and
`playbook curate` work without one.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ace_graph.base.errors import ModelNotConfigured, UsageError, unknown
from ace_graph.cli.command import AUTHOR, LEARNER, Call, as_utc, command
from ace_graph.cli.terminal import counted, learning_summary, picked, print_notice, printable

if TYPE_CHECKING:
    from ace_graph.agent.resources import Resources
    from ace_graph.base.settings import Settings
    from ace_graph.learning.curate_reflections import CuratedReflections
    from ace_graph.learning.worker import PendingOutcome
    from ace_graph.memory.evidence import Verdict
    from ace_graph.memory.stores.store import Store

T = TypeVar("T")
_MIN_TRAJECTORIES = 5
_VERDICTS: dict[str, Verdict] = {"good": "success", "bad": "failure"}

commands = typer.Typer()


@command(commands, *LEARNER)
def reflect(
    call: Call,
    trajectory_id: Annotated[str | None, "ID", "A trajectory, or the id of pending work."] = None,
    batch: Annotated[bool, "Find what many runs have in common, instead of reflecting on one."] = False,
    agent: Annotated[str | None, "--agent NAME", "--batch: the agent."] = None,
    type_: Annotated[str | None, "--type TYPE", "--batch: the kind of task."] = None,
    since: Annotated[
        datetime | None, "--since TIME", "--batch: completed on this day or later, or since a time (UTC)."
    ] = None,
    minimum: Annotated[int, "--min N", "--batch: runs needed, at least 2."] = _MIN_TRAJECTORIES,
) -> int:
    """Learn from one trajectory now; or, with --batch, find what many runs have in common.

    \b
    ace-graph reflect 3f2a...
    ace-graph reflect --batch --agent crawler --since 2026-01-01

    Dead letters are retried. --batch needs no model; `playbook curate` takes the ids it prints.
    """
    if bool(trajectory_id) == batch:
        raise UsageError(
            "nothing to reflect on: give the id of a trajectory, or --batch; trajectory list shows the ids"
        )
    if not batch and (agent, type_, since, minimum) != (None, None, None, _MIN_TRAJECTORIES):
        raise UsageError("--agent, --type, --since and --min need --batch: add it")
    if trajectory_id is not None and not batch:
        return _reflect_on(call, trajectory_id)
    from ace_graph.learning.batch_reflection import batch_reflect

    common = call.on_store(
        lambda store: batch_reflect(
            *(store, call.learner),
            agent=agent,
            since=as_utc(since),
            task_type=type_,
            min_trajectories=minimum,
        )
    )
    if common.status == "not_enough":
        few = f"Not enough: {counted(common.found, 'completed run')}, {common.needed} are needed."
        call.answer(picked(common, "status", "found", "needed"), few)
        return 0
    rows = [
        {
            "memory_id": each.memory_id,
            **picked(each.pattern, "text", "polarity", "frequency"),
            "confidence": round(each.pattern.confidence, 3),
            "trajectory_ids": each.pattern.trajectory_ids,
        }
        for each in common.patterns
    ]
    lines = [
        f"{each.memory_id}  {each.pattern.frequency} of {common.found}  {each.pattern.polarity}: "
        f"{each.pattern.text}"
        for each in common.patterns
    ]
    nothing = f"{counted(common.found, 'run')}: their reflections found nothing to learn."
    unread = f"{counted(len(common.unreflected), 'run')} not reflected on yet"
    call.answer(
        {
            **picked(common, "status", "found", "trajectory_id"),
            "patterns": rows,
            **picked(common, "unreflected", "left_out"),
        },
        lines,
        None if lines else nothing,
        f"{unread}: ace-graph worker --once, or ace-graph reflect ID." if common.unreflected else None,
        f"{counted(common.left_out, 'rarer pattern')} left out." if common.left_out else None,
    )
    return 0


def _reflect_on(call: Call, trajectory_id: str) -> int:
    """Learn from one trajectory now; a dead letter is tried again. 1 where it could not be learned from."""
    from ace_graph.agent.models import choose_model
    from ace_graph.learning.trajectory_feedback import reflect_on

    settings = call.settings()
    choose_model(settings)
    done = _with_model(
        call, settings, lambda resources, store: reflect_on(call.learner, trajectory_id, resources, store)
    )
    call.answer(
        {"trajectory_id": trajectory_id, **picked(done, "status", "learning", "error")},
        [learning_summary(done.learning)] if done.learning is not None else (),
    )
    if done.status != "done":
        print_notice(f"not learned: {printable(done.error or 'a worker is at it')}")
    return int(done.status != "done")


def judge(call: Call, trajectory_id: str, verdict: str, text: str) -> None:
    """Judge a trajectory; learn from it now where learning is inline and there is a model."""
    from ace_graph.learning.trajectory_feedback import give_feedback

    if verdict not in _VERDICTS:
        raise UsageError(unknown("verdict", verdict, ("good", "bad")))
    settings = call.settings()
    given = call.on_store(
        lambda store: give_feedback(store, call.learner, trajectory_id, _VERDICTS[verdict], text), settings
    )
    outcome = _learned_now(call, settings, given.pending_id)
    lines = [f"Noted. Voted on {', '.join(given.commit.report.tagged) or 'no bullet'}."]
    if outcome is not None and outcome.learning is not None:
        lines.append(learning_summary(outcome.learning))
    elif given.pending_id is not None:
        lines.append("A worker will learn from it, or: ace-graph reflect ID")
    call.answer(
        {
            "trajectory_id": trajectory_id,
            "verdict": _VERDICTS[verdict],
            "tagged": list(given.commit.report.tagged),
            "score_before": given.before,
            "score_after": given.after,
            "pending": given.pending_id if outcome is None or outcome.status != "done" else None,
        },
        lines,
    )


def _learned_now(call: Call, settings: Settings, pending_id: str | None) -> PendingOutcome | None:
    from ace_graph.agent.models import choose_model
    from ace_graph.learning.trajectory_feedback import reflect_on

    if pending_id is None or settings.learning not in (None, "inline"):
        return None
    try:
        choose_model(settings)
    except ModelNotConfigured:
        return None
    return _with_model(
        call, settings, lambda resources, store: reflect_on(call.learner, pending_id, resources, store)
    )


def _with_model(call: Call, settings: Settings, job: Callable[[Resources, Store], Awaitable[T]]) -> T:
    from ace_graph.agent.models import open_model
    from ace_graph.learning.worker import learning_resources

    async def work(opened: Store) -> T:
        async with open_model(settings) as model:
            return await job(*learning_resources(model=model, store=opened, settings=settings))

    return call.on_store(work, settings)


def curate_reflections(call: Call, reflection_ids: list[str]) -> None:
    """Take the lessons of reflections into a playbook, and print what changed."""
    from ace_graph.learning.curate_reflections import curate

    settings = call.settings()

    async def by_rules(store: Store) -> CuratedReflections:
        return await curate(store, call.learner, reflection_ids, call.name, author=AUTHOR)

    async def by_model(resources: Resources, store: Store) -> CuratedReflections:
        return await curate(
            *(store, call.learner, reflection_ids, call.name),
            resources=resources,
            author=AUTHOR,
            progress=_show_progress,
        )

    if settings.curator_use_llm:
        done = _with_model(call, settings, by_model)
    else:
        done = call.on_store(by_rules, settings)
    version = f"version {done.version.n} ({done.version.label})"
    nothing = {"unchanged": ": nothing new", "repeated": ": these reflections were curated before"}
    changes = (("+", done.added), ("~", done.updated), ("-", done.removed))
    lines = [f"{sign} [{each.id}] {each.text}" for sign, bullets in changes for each in bullets]
    remarks = [f"refused: {refusal.id}: {refusal.why}" for refusal in done.refused]
    for old in done.outdated:
        instead = f" --replaced-by {old.by}" if old.by else ""
        remarks.append(f"outdated? [{old.id}] {old.text}: {old.why}; playbook remove {old.id}{instead}")
    lines.append(version + nothing.get(done.status, ""))
    call.answer(
        {
            "status": done.status,
            "version": done.version.n,
            "label": str(done.version.label),
            "added": [each._asdict() for each in done.added],
            "updated": [each._asdict() for each in done.updated],
            "removed": [each._asdict() for each in done.removed],
            "refused": [each.model_dump(mode="json") for each in done.refused],
            "problem": done.problem,
            "outdated": [each._asdict() for each in done.outdated],
        },
        lines,
        *remarks,
        done.problem,
    )


def _show_progress(done: int, whole: int) -> None:
    """Show how many lessons are decided on: one line that is overwritten, on a terminal only."""
    if sys.stderr.isatty():
        end = "\n" if done == whole else ""
        print(f"\r{done} of {counted(whole, 'lesson')}", end=end, file=sys.stderr, flush=True)
