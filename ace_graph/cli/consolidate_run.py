"""What `consolidate`, `consolidate undo` and `consolidate distinct` do, and what they print."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from ace_graph.cli.environment import load_settings
from ace_graph.cli.options import Which
from ace_graph.cli.store_access import commit_json, on_store
from ace_graph.cli.terminal import console, counted, print_json, print_line, printable
from ace_graph.consolidation import (
    Consolidation,
    Options,
    Undone,
    Writer,
    consolidate,
    distinguish,
    model_writer,
    undo,
)
from ace_graph.errors import UsageError
from ace_graph.memory.commit import Commit
from ace_graph.memory.stores.base import Store
from ace_graph.memory.views.kinds import Kind, is_bullet_kind
from ace_graph.models import choose_model, close_model, make_model
from ace_graph.prompts import Prompts
from ace_graph.settings import Settings

__all__ = ["options_of", "run_consolidation", "run_distinct", "run_undo", "summary_of", "writer_for"]


def options_of(
    kind: Kind | None, topic: str | None, section: str | None, below: float, keep_above: float
) -> Options:
    """Return which bullets to consolidate. Raises UsageError."""
    if kind is not None and not is_bullet_kind(kind):
        raise UsageError(f"a {kind} is no bullet: consolidate merges bullets")
    return Options(kind, topic, section, below, keep_above)


def run_consolidation(
    url: str | None,
    which: Which,
    options: Options,
    batch: int | None,
    run_id: str | None,
    *,
    dry_run: bool,
    with_model: bool,
    as_json: bool,
) -> None:
    """Consolidate a playbook, or show the plan, and print the report; `batch` None: that of the policy."""

    async def job(store: Store) -> Consolidation:
        wanted = replace(options, batch=batch or store.policy.consolidate_batch)
        async with writer_for(load_settings(), wanted=with_model) as writer:
            return await consolidate(
                store, which.name, which.learner, wanted, writer=writer, dry_run=dry_run, run_id=run_id
            )

    report = on_store(url, job)
    if as_json:
        print_json(report.json())
    else:
        _print_report(report, with_model=with_model)


def run_undo(url: str | None, which: Which, run_id: str | None, *, as_json: bool) -> None:
    """Take back a run and print what is back."""

    async def job(store: Store) -> Undone:
        return await undo(store, which.name, which.learner, run_id=run_id)

    done = on_store(url, job)
    if as_json:
        print_json(done.json())
        return
    back = counted(len(done.restored), "bullet")
    console().print(f"version {done.version}: {back} restored, {len(done.removed)} removed", soft_wrap=True)


def run_distinct(url: str | None, which: Which, bullet_ids: Sequence[str], *, as_json: bool) -> None:
    """Record that bullets are distinct."""
    if len(bullet_ids) < 2:
        raise UsageError("consolidate distinct takes the ids of two bullets or more")

    async def job(store: Store) -> Commit:
        return await distinguish(store, bullet_ids, name=which.name, owner=which.learner)

    done = on_store(url, job)
    if as_json:
        print_json(commit_json(done))
        return
    print_line(f"{' '.join(bullet_ids)}: never merged with each other")


@asynccontextmanager
async def writer_for(settings: Settings, *, wanted: bool) -> AsyncGenerator[Writer | None]:
    """Yield a writer with the model of the settings; None where none is wanted."""
    if not wanted:
        yield None
        return
    choose_model(settings)
    model = make_model(settings)
    try:
        yield model_writer(model, Prompts.load(settings.prompts_dir), timeout=settings.llm_timeout)
    finally:
        await close_model(model)


def _print_report(report: Consolidation, *, with_model: bool) -> None:
    out = console()
    for heading, ids in _groups(report, with_model=with_model):
        out.print(printable(heading), soft_wrap=True)
        for name in ids:
            out.print(printable(f"  {name}: {report.texts[name]}"), soft_wrap=True)
    out.print(summary_of(report), soft_wrap=True)
    if report.figures.pairs:
        out.print(f"The bullets' own questions: {report.figures}", soft_wrap=True)
    if report.left:
        out.print(f"{counted(report.left, 'group')} more wait for the next run", soft_wrap=True)
    if report.groups and not report.dry_run:
        out.print(f"ace-graph consolidate undo {report.run_id} takes it back", soft_wrap=True)


def summary_of(report: Consolidation) -> str:
    counts = f"{len(report.preserved)} preserved, {report.untouched} untouched"
    if not report.groups:
        return f"{counted(report.total, 'bullet')}: nothing to merge, {counts}"
    become = "would become" if report.dry_run else "became"
    saved = f"{report.space_saved_bytes} bytes saved"
    return (
        f"{counted(report.total, 'bullet')}: {report.merged} {become} {len(report.groups)}, {counts}; {saved}"
    )


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
