"""What `consolidate --all` does: the same consolidation of every learner's memory, each by itself.

All learners have the run's id in their commits, so a pass that was stopped goes on under `--resume RUN`, and
a learner whose node died is not consolidated twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import uuid4

from ace_graph.cli.app import print_notice
from ace_graph.cli.consolidate_run import summary_of, writer_for
from ace_graph.cli.passes import all_learners, run_pass, settings_with
from ace_graph.cli.terminal import console, counted, print_json, printable
from ace_graph.consolidation import Options, consolidate
from ace_graph.errors import CommitContention, CorruptPayload, NewerFormat
from ace_graph.memory.catalogue.name import DEFAULT
from ace_graph.memory.stores.base import PendingStore
from ace_graph.settings import Settings

__all__ = ["consolidate_all"]


@dataclass(frozen=True)
class _Done:
    """One learner's report as plain values; `problem` instead where the memory can't be consolidated."""

    learner: str
    report: dict[str, object]
    summary: str = ""
    merged: bool = False
    problem: str | None = None


@dataclass(frozen=True)
class _Consolidate:
    """Consolidates one learner's memory; pickled for Ray."""

    settings: Settings
    options: Options
    batch: int | None
    run_id: str
    dry_run: bool
    with_model: bool

    async def __call__(self, store: PendingStore, learner: str) -> _Done:
        wanted = replace(self.options, batch=self.batch or store.policy.consolidate_batch)
        try:
            async with writer_for(self.settings, wanted=self.with_model) as writer:
                report = await consolidate(
                    *(store, DEFAULT, learner, wanted),
                    writer=writer,
                    dry_run=self.dry_run,
                    run_id=self.run_id,
                )
        except (CorruptPayload, NewerFormat, CommitContention) as error:
            return _Done(learner, {}, problem=str(error))
        return _Done(learner, report.json(), summary_of(report), merged=bool(report.groups))


def consolidate_all(
    url: str | None,
    options: Options,
    batch: int | None,
    run_id: str | None,
    *,
    on: str | None,
    dry_run: bool,
    with_model: bool,
    as_json: bool,
) -> int:
    """Consolidate all memories, print what changed; return 1 where one could not be consolidated."""
    run, settings = run_id or uuid4().hex, settings_with(url)
    act = _Consolidate(settings, options, batch, run, dry_run, with_model)
    done = run_pass(settings, all_learners, act, on=on, what="consolidating")
    merged, failed = ([each for each in done if wanted(each)] for wanted in (_merged, _failed))
    if as_json:
        print_json(
            {
                "run_id": None if dry_run else run,
                "dry_run": dry_run,
                "learners": len(done),
                "consolidated": [{"learner": each.learner, **each.report} for each in merged],
                "failed": [{"learner": each.learner, "problem": each.problem} for each in failed],
            }
        )
        return int(bool(failed))
    out = console()
    for each in merged:
        out.print(printable(f"{each.learner}: {each.summary}"), soft_wrap=True)
    for each in failed:
        print_notice(f"{each.learner} was not consolidated: {each.problem}")
    would = "would be " if dry_run else ""
    of = f"{counted(len(done), 'learner')} looked at"
    out.print(f"{of}, {len(merged)} {would}consolidated", soft_wrap=True)
    if merged and not dry_run:
        out.print(f"ace-graph consolidate undo {run} --learner ID takes one back", soft_wrap=True)
    return int(bool(failed))


def _merged(each: _Done) -> bool:
    return each.merged


def _failed(each: _Done) -> bool:
    return each.problem is not None
