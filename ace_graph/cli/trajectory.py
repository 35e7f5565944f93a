"""The commands `ace-graph trajectory ...`: record work of your own, look at what was recorded, judge it.

A worker learns from trajectories, or `ace-graph reflect`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import FormatError, UsageError, unknown
from ace_graph.cli.command import LEARNER, Bounds, Call, CommandGroup, as_utc, command, to_its_end
from ace_graph.cli.terminal import (
    counted,
    into_text,
    picked,
    print_aside,
    print_json,
    print_line,
    printable,
    progress_bar,
)
from ace_graph.learning.trajectories import (
    Completion,
    ListedTrajectory,
    complete_trajectory,
    delete_trajectory,
    list_trajectories,
    listed_trajectory,
    log_step,
    start_trajectory,
)
from ace_graph.memory.trajectory import TrajectoryFilter, effective_score
from ace_graph.memory.turn import TurnStatus

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ace_graph.learning.transcripts import ImportedTranscript
    from ace_graph.memory.stores.store import Store
    from ace_graph.memory.turn import StepKind

commands = typer.Typer(cls=CommandGroup, no_args_is_help=True)

_LOOK, _RECORD = "Look and judge", "Record"
_TASK = 60
_VALUES = "A JSON object of your own values."
Id = Annotated[str, "ID", "The trajectory."]
Agent = Annotated[str | None, "--agent NAME", "The agent."]
Type = Annotated[str | None, "--type TYPE", "The kind of task."]
Since = Annotated[datetime | None, "--since TIME", "Completed on this day or later, or since a time (UTC)."]
Until = Annotated[datetime | None, "--until TIME", "Completed on this day or earlier, or until a time (UTC)."]


@command(commands, *LEARNER, panel=_LOOK, name="list")
def list_(
    call: Call,
    failed: Annotated[bool, "Only what failed, or could not be learned from."] = False,
    agent: Agent = None,
    type_: Type = None,
    status: Annotated[str | None, "--status STATUS", "in_progress, success, failure or partial."] = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, "--limit -n", "At most this many.", Bounds(1)] = 50,
    skip: Annotated[int, "Skip this many of the newest.", Bounds(0)] = 0,
) -> None:
    """List trajectories, the newest first, including the graph's own turns.

    \b
    ace-graph trajectory list --agent crawler --status failure
    ace-graph trajectory list --since 2026-01-01 --until 2026-01-31

    With --since or --until, those in progress are left out. --until includes its day.
    """
    if status is not None and status not in get_args(TurnStatus):
        raise UsageError(unknown("status", status, get_args(TurnStatus)))
    wanted = TrajectoryFilter(
        agent=agent,
        task_type=type_,
        status=cast("TurnStatus | None", status),
        since=as_utc(since),
        until=to_its_end(as_utc(until)),
    )
    rows = call.on_store(
        lambda store: list_trajectories(store, call.learner, wanted, failed=failed, limit=limit, skip=skip)
    )
    if call.as_json:
        print_json([_row_json(row) for row in rows])
        return
    for row in rows:
        turn, why = row.turn, f": {row.item.error}" if row.item and row.item.error else ""
        standing = f"  [{row.standing}{why}]" if row.standing not in ("learned", None) else ""
        about = f"{turn.turn_id}  {turn.started_at:%Y-%m-%d %H:%M}  {turn.status:<11}"
        print_line(f"{about}  {printable(turn.task)[:_TASK]}{standing}")
    if not rows:
        print_aside(f"Learner {call.learner} has no trajectory of this kind.")


def _row_json(row: ListedTrajectory) -> dict[str, object]:
    fields: dict[str, object] = row.turn.model_dump(mode="json")
    fields["trajectory_id"] = row.turn.turn_id
    fields["effective_score"] = effective_score(row.turn, utc_now())
    fields["learning"] = row.standing or ""
    fields["learning_error"] = row.item.error if row.item else None
    fields["pending_id"] = row.item.pending_id if row.item else None
    return fields


@command(commands, *LEARNER, panel=_LOOK)
def show(call: Call, id_: Id) -> None:
    """Show one trajectory: its outcome, its steps, what was learned from it."""
    row = call.on_store(lambda store: listed_trajectory(store, call.learner, id_))
    call.answer(_row_json(row), _lines(row))


def _lines(row: ListedTrajectory) -> Iterator[str]:
    turn = row.turn
    yield f"{turn.turn_id}  {turn.status}  {turn.task}"
    yield (
        f"  agent {turn.agent}, mode {turn.mode}, {turn.duration_ms:.0f} ms, "
        f"{turn.input_tokens} + {turn.output_tokens} tokens, verdict {turn.verdict}, score {turn.score}"
    )
    for read in turn.playbooks:
        yield f"  playbook {read.playbook_id}, version {read.label}"
    for part in into_text(turn.learned_into):
        yield f"  {part}"
    if turn.error:
        yield f"  error: {turn.error}"
    for step in turn.steps:
        again = f" (x{step.times})" if step.times > 1 else ""
        yield f"  {step.kind}: {step.text}{again}"
    for feedback in turn.feedback:
        yield f"  feedback ({feedback.kind}): {feedback.verdict} {feedback.text}"
    for reflection in turn.reflections:
        mark = " (by rules)" if reflection.fallback else ""
        good, bad = reflection.successes, reflection.failures
        findings = (*good, *bad, *reflection.observations, *reflection.recommendations)
        yield f"  reflection {reflection.reflection_id}{mark}: {'; '.join(findings) or 'nothing to learn'}"
        for number, lesson in enumerate(reflection.lessons, 1):
            yield f"    #{number} {lesson.polarity}: {lesson.content}"
    if row.item is not None:
        why = f": {row.item.error}" if row.item.error else ""
        yield f"  learning: {row.item.state}{why}"


@command(commands, *LEARNER, panel=_LOOK)
def feedback(
    call: Call,
    trajectory_id: Id,
    verdict: Annotated[str, "good|bad", "What it was worth."],
    text: Annotated[str, "TEXT", "Why; the right answer."] = "",
) -> None:
    """Judge a trajectory: vote on the bullets it followed, and learn from it again.

    \b
    ace-graph trajectory feedback 3f2a... bad "The answer is 5/6."
    """
    from ace_graph.cli.reflect import judge

    judge(call, trajectory_id, verdict, text)


@command(commands, *LEARNER, panel=_RECORD)
def start(
    call: Call,
    task: Annotated[str, "TASK", "What is to be done."],
    agent: Agent = None,
    type_: Type = None,
    parent: Annotated[str | None, "--parent ID", "The trajectory that this one is a part of."] = None,
    id_: Annotated[str | None, "--id ID", "An id of your own."] = None,
) -> None:
    """Begin a trajectory and print its id.

    \b
    id=$(ace-graph trajectory start "Fetch the invoices" --agent crawler)
    ace-graph trajectory log "$id" action "GET /invoices" --metadata '{"page": 1}'
    ace-graph trajectory complete "$id" failure --error "429 after 3 retries"
    """
    new_id = call.on_store(
        lambda store: start_trajectory(
            *(store, call.learner, task),
            agent=agent or "host",
            task_type=type_,
            parent_id=parent,
            trajectory_id=id_,
        )
    )
    call.answer({"trajectory_id": new_id, "status": "in_progress"}, new_id)


@command(commands, *LEARNER, panel=_RECORD)
def log(
    call: Call,
    id_: Id,
    kind: Annotated[str, "KIND", "decision, action or observation."],
    text: Annotated[str, "TEXT", "What was decided, done or seen."],
    metadata: Annotated[str | None, "--metadata JSON", _VALUES] = None,
) -> None:
    """Add a step."""
    values = _json_object(metadata, "--metadata")
    step = cast("StepKind", kind)  # log_step refuses other words
    turn = call.on_store(lambda store: log_step(store, call.learner, id_, step, text, values))
    call.answer({"trajectory_id": id_, "steps": len(turn.steps)}, f"{counted(len(turn.steps), 'step')}.")


@command(commands, *LEARNER, panel=_RECORD)
def complete(
    call: Call,
    id_: Id,
    status: Annotated[str, "STATUS", "success, failure or partial."],
    score: Annotated[float | None, "From 0 to 1."] = None,
    error: Annotated[str | None, "--error TEXT", "What went wrong."] = None,
    answer: Annotated[str, "--answer TEXT", "The result."] = "",
    metrics: Annotated[str | None, "--metrics JSON", _VALUES] = None,
    input_tokens: Annotated[int, "Tokens that the model read.", Bounds(0)] = 0,
    output_tokens: Annotated[int, "Tokens that the model wrote.", Bounds(0)] = 0,
    cost: Annotated[float | None, "The cost; by default from the price of --model.", Bounds(0)] = None,
    model: Annotated[str | None, "--model NAME", "The model that was asked."] = None,
    cited: Annotated[
        list[str] | None, "--cited ID", "A bullet that was followed; may be given several times."
    ] = None,
    learn: Annotated[bool, "--learn/--no-learn", "Whether a worker learns from it."] = True,
) -> None:
    """End a trajectory. Its first outcome stays.

    \b
    ace-graph trajectory complete "$id" success --input-tokens 1200 --output-tokens 300 --cost 0.03
    ace-graph trajectory complete "$id" success --metrics '{"tokens": 1500, "cost_usd": 0.03}'

    The metrics tokens, cost_usd and duration_ms fill in for missing options.
    """
    completion = Completion(
        score=score,
        error=error,
        answer=answer,
        metrics=_json_object(metrics, "--metrics"),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost=cost,
        model=model,
        cited=tuple(cited or ()),
        learns=learn,
    )
    outcome = cast("TurnStatus", status)  # complete_trajectory refuses other words
    settings = call.settings()
    pending = call.on_store(
        lambda store: complete_trajectory(
            store, call.learner, id_, outcome, completion, tracing=settings.tracing
        ),
        settings,
    )
    told = "Completed." if pending is None else "Completed; a worker will learn from it."
    call.answer({"trajectory_id": id_, "status": status, "pending": pending}, told)


def _json_object(text: str | None, option: str) -> dict[str, JsonValue]:
    if text is None:
        return {}
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{option} is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f'{option} must be a JSON object such as {{"pages": 3}}')
    return cast("dict[str, JsonValue]", value)


@command(commands, *LEARNER, panel=_RECORD, name="import")
def import_(
    call: Call,
    files: Annotated[list[Path], "FILE", "Exports, session files, databases."],
    format_: Annotated[
        str, "--format NAME", "chatgpt, claude, claude-code, codex or messages; recognised by default."
    ] = "auto",
    maps: Annotated[
        list[str] | None,
        "--map NAME=LEARNER",
        "Which user, folder or conversation of the file belongs to which learner; * for all others.",
    ] = None,
    learn: Annotated[bool, "--learn/--no-learn", "Whether a worker learns from it."] = True,
) -> int:
    """Import conversations with other programs, one trajectory per question with its answer.

    It reads conversations.json of ChatGPT's and Claude's exports, session files of Claude Code and
    Codex, databases of the OpenAI Agents SDK and of LangGraph's SQLite checkpointer, and JSON lines
    of messages. Known conversations are skipped, so a stopped import can be repeated.

    \b
    ace-graph trajectory import conversations.json --learner ada
    ace-graph trajectory import ~/.claude/projects/*/*.jsonl --map /srv/shop=ada
    ace-graph worker --once && ace-graph reflect --batch && ace-graph playbook dream
    """

    from ace_graph.learning.transcripts import ImportedTranscript, import_transcript, learner_by

    whose, settings = learner_by(maps or (), call.learner), call.settings()
    done, failed = list[tuple[Path, ImportedTranscript]](), list[str]()

    async def run(store: Store) -> None:
        with progress_bar() as bar:
            for path in files:
                try:
                    one = await import_transcript(
                        *(store, path, whose),
                        format_name=format_,
                        learns=learn,
                        tracing=settings.tracing,
                        progress=partial(bar, path.name),
                    )
                except FormatError as error:
                    failed.append(str(error))
                else:
                    done.append((path, one))

    call.on_store(run, settings)
    call.answer(
        {
            "imported": sum(one.imported for _, one in done),
            "known": sum(one.known for _, one in done),
            "pending": sum(one.pending for _, one in done),
            "files": [
                {
                    "file": str(path),
                    **vars(one),
                    "unread": [picked(each, "where", "why") for each in one.unread],
                }
                for path, one in done
            ],
            "failed": failed,
        },
        (line for path, one in done for line in _imported_lines(path, one)),
        *failed,
    )
    return int(bool(failed))


def _imported_lines(path: Path, done: ImportedTranscript) -> Iterator[str]:
    yield (
        f"{path}: {counted(done.read, 'exchange')}, {done.imported} imported, {done.known} known before"
        + (f", {done.unmapped} of nobody who is named by --map" if done.unmapped else "")
    )
    yield f"  read as {done.format}: {done.reads}"
    for each in done.unread:
        yield f"  {path}, {each.where}: {each.why}"
    if done.unread_count > len(done.unread):
        yield f"  ... and {done.unread_count - len(done.unread)} more"


@command(commands, *LEARNER, panel=_RECORD)
def delete(call: Call, id_: Id) -> None:
    """Delete a trajectory's text. Its parts, and what was learned, stay."""
    call.on_store(lambda store: delete_trajectory(store, call.learner, id_))
    call.answer({"trajectory_id": id_, "deleted": True}, "Deleted.")


@command(commands, *LEARNER, panel=_RECORD)
def trim(call: Call, days: Annotated[float, "Older than this many days.", Bounds(0)] = 30) -> None:
    """Delete old steps of trajectories that were reflected on; outcomes and evidence stay."""
    from ace_graph.learning.cleaning import trim_trajectories

    done = call.on_store(lambda store: trim_trajectories(store, call.learner, utc_now(), days))
    trimmed, kept = len(done.trimmed), len(done.unreflected)
    lines = [f"Dropped the steps of {trimmed} {'trajectory' if trimmed == 1 else 'trajectories'}."]
    if kept:
        lines.append(f"Kept {kept}, because nobody has reflected on them yet: ace-graph worker --once")
    call.answer({"trimmed": list(done.trimmed), "unreflected": list(done.unreflected)}, lines)
