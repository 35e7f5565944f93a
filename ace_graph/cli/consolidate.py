"""What `playbook consolidate` does: of one playbook, of the memories of all learners, and back again.

With `--all` every learner's memory is consolidated by itself. They share the run's id, so a pass that was
stopped goes on under `--resume RUN`, and a learner whose node died is not consolidated twice.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from uuid import uuid4

from ace_graph.base.errors import CommitContention, CorruptPayload, NewerFormat, UsageError
from ace_graph.base.settings import Settings
from ace_graph.cli.command import DEFAULT_NAME, Call
from ace_graph.cli.passes import run_pass
from ace_graph.cli.playbook import ConsolidatedBullets
from ace_graph.cli.terminal import counted, print_notice
from ace_graph.learning.cleaning import learner_ids
from ace_graph.memory.bullet import MemoryType
from ace_graph.memory.catalogue import Scope
from ace_graph.memory.consolidation import Options
from ace_graph.memory.stores.store import Store
from ace_graph.memory.views import is_bullet_kind
from ace_graph.playbooks.consolidation import Consolidation, Writer, consolidate, undo
from ace_graph.playbooks.memories import own_names


def options_of(chosen: ConsolidatedBullets, tags: tuple[str, ...]) -> Options:
    """Return which bullets to consolidate. Raises UsageError."""
    kind, below, keep_above = chosen.kind, chosen.below, chosen.keep_above
    if kind is not None and not is_bullet_kind(kind):
        raise UsageError(f"can't consolidate a {kind}: only bullets are merged; choose another --kind")
    if not chosen.preserve and keep_above is not None:
        raise UsageError("--keep-above and --no-preserve exclude each other: use one")
    types = frozenset[MemoryType](each.value for each in chosen.memory_type or ())
    known = Options(kind, chosen.topic, chosen.section, memory_types=types, tags=tags)
    if chosen.preserve:
        kept = known.keep_above if keep_above is None else keep_above
        return replace(known, below=known.below if below is None else below, keep_above=kept)
    return replace(known, below=1.0 if below is None else below, keep_above=None)


@asynccontextmanager
async def _writer_for(settings: Settings, *, wanted: bool) -> AsyncGenerator[Writer | None]:
    if not wanted:
        yield None
        return
    from ace_graph.agent.models import open_model
    from ace_graph.base.prompts import Prompts
    from ace_graph.learning.consolidation_writer import model_writer

    async with open_model(settings) as model:
        yield model_writer(
            model,
            Prompts.load(settings.prompts_dir),
            timeout=settings.llm_timeout,
            tracer_content=settings.tracer_content,
        )


@dataclass(frozen=True)
class Work:
    """How playbooks are consolidated; `batch` None: that of the policy. Pickled for Ray."""

    settings: Settings
    options: Options
    batch: int | None
    dry_run: bool
    with_model: bool
    run_id: str | None = None

    async def on(self, store: Store, learner: str, names: Iterable[str]) -> list[Consolidation]:
        """Consolidate a learner's playbooks, one after the other."""
        wanted = replace(self.options, batch=self.batch or store.policy.consolidate_batch)
        async with _writer_for(self.settings, wanted=self.with_model) as writer:
            return [
                await consolidate(
                    *(store, name, learner, wanted),
                    writer=writer,
                    dry_run=self.dry_run,
                    run_id=self.run_id,
                )
                for name in names
            ]

    async def __call__(self, store: Store, learner: str) -> _Done:
        """Consolidate the learner's memory."""
        try:
            (report,) = await self.on(store, learner, [DEFAULT_NAME])
        except (CorruptPayload, NewerFormat, CommitContention) as error:
            return _Done(learner, {}, problem=str(error))
        return _Done(learner, report.json(), _summary_of(report), merged=bool(report.groups))


def consolidate_one(call: Call, work: Work) -> None:
    """Consolidate a playbook, or show the plan, and print the report."""
    (report,) = call.on_store(lambda store: work.on(store, call.learner, [call.name]), work.settings)
    call.answer(report.json(), _report_lines(report, with_model=work.with_model))


def consolidate_scope(call: Call, scope: Scope, work: Work) -> None:
    """Consolidate the learner's own playbooks of a scope, one after the other, and print each report."""

    async def job(store: Store) -> list[tuple[str, Consolidation]]:
        names = await own_names(store, call.learner, scope)
        return list(zip(names, await work.on(store, call.learner, names), strict=True))

    done = call.on_store(job, work.settings)
    lines = list[str]()
    for name, report in done:
        lines += [f"{name}:", *_report_lines(report, with_model=work.with_model)]
    rows = [{"playbook": name, **report.json()} for name, report in done]
    call.answer({"playbooks": rows}, lines or [f"Learner {call.learner} has no playbook of this scope."])


def undo_run(call: Call, run_id: str | None) -> None:
    """Take back a run and print what is back."""
    done = call.on_store(lambda store: undo(store, call.name, call.learner, run_id=run_id))
    back = counted(len(done.restored), "bullet")
    call.answer(asdict(done), f"version {done.version}: {back} restored, {len(done.removed)} removed")


def _report_lines(report: Consolidation, *, with_model: bool) -> Iterator[str]:
    for heading, ids in _groups(report, with_model=with_model):
        yield heading
        for name in ids:
            yield f"  {name}: {report.texts[name]}"
    yield _summary_of(report)
    if report.figures.pairs:
        yield f"The bullets' own questions: {report.figures}"
    if report.left:
        yield f"{counted(report.left, 'group')} more wait for the next run"
    if report.groups and not report.dry_run:
        yield f"ace-graph playbook consolidate undo {report.run_id} takes it back"


def _groups(report: Consolidation, *, with_model: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a heading for every group of bullets in the report, and the ids of its bullets."""
    for group in report.groups:
        made = "would become" if group.new_id is None else f"became {group.new_id}"
        yield f"{made}: {group.text}", group.ids
    for refused in report.refused:
        yield f"not merged, because {refused.why}:", refused.ids
    for ids in report.distinct:
        yield "distinct, says the model:", ids
    who = "the model did not" if with_model else "rules can't, --with-model asks the model to"
    for ids in report.for_model:
        yield f"alike; {who} tell whether they say the same:", ids


def _summary_of(report: Consolidation) -> str:
    counts = f"{len(report.preserved)} preserved, {report.untouched} untouched"
    if not report.groups:
        return f"{counted(report.total, 'bullet')}: nothing to merge, {counts}"
    become = "would become" if report.dry_run else "became"
    saved = f"{report.space_saved_bytes} bytes saved"
    return (
        f"{counted(report.total, 'bullet')}: {report.merged} {become} {len(report.groups)}, {counts}; {saved}"
    )


@dataclass(frozen=True)
class _Done:
    """One learner's report as plain values; `problem` instead where the memory can't be consolidated."""

    learner: str
    report: dict[str, object]
    summary: str = ""
    merged: bool = False
    problem: str | None = None


def consolidate_all(call: Call, work: Work, on: str | None) -> int:
    """Consolidate all memories, print what changed; return 1 where one could not be consolidated."""
    run, dry_run = work.run_id or uuid4().hex, work.dry_run
    work = replace(work, run_id=run, settings=work.settings.with_absolute_paths())
    done = run_pass(work.settings, learner_ids, work, on=on, what="consolidating")
    merged = [each for each in done if each.merged]
    failed = [each for each in done if each.problem is not None]
    if not call.as_json:
        for each in failed:
            print_notice(f"{each.learner} was not consolidated: {each.problem}")
    lines = [f"{each.learner}: {each.summary}" for each in merged]
    would = "would be " if dry_run else ""
    lines.append(f"{counted(len(done), 'learner')} looked at, {len(merged)} {would}consolidated")
    if merged and not dry_run:
        lines.append(f"ace-graph playbook consolidate undo {run} --learner ID takes one back")
    call.answer(
        {
            "run_id": None if dry_run else run,
            "dry_run": dry_run,
            "learners": len(done),
            "consolidated": [{"learner": each.learner, **each.report} for each in merged],
            "failed": [{"learner": each.learner, "problem": each.problem} for each in failed],
        },
        lines,
    )
    return int(bool(failed))
