"""What `ace-graph adapt` does: reads the files, runs the adapter, writes the results, prints what they mean.

Without a model it is an error: the offline tutor never takes the place of a model here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from ace_graph.adaptation.offline import OfflineAdapter
from ace_graph.adaptation.online import OnlineAdapter
from ace_graph.adaptation.options import AdaptationOptions
from ace_graph.adaptation.results import Accuracy, AdaptationResult
from ace_graph.cli.app import print_notice
from ace_graph.cli.cluster import executor_for
from ace_graph.cli.environment import load_settings
from ace_graph.cli.progress import StepProgress, stop_on_interrupt
from ace_graph.cli.terminal import console, counted, printable
from ace_graph.context import ACEContext
from ace_graph.errors import AdaptationError, ClusterError
from ace_graph.evaluation.datasets import RowFile
from ace_graph.evaluation.reports import Prices, report, write_results
from ace_graph.evaluation.statistics import paired, paired_gain, share_interval
from ace_graph.evaluation.tasks import Task, task_named
from ace_graph.executors import Executor
from ace_graph.models import choose_model

__all__ = ["RunOptions", "adapt_offline", "adapt_online"]


@dataclass(frozen=True)
class RunOptions:
    """The options that both kinds of adaptation take."""

    task: str
    out: Path
    resume: bool
    limit: int | None
    seed: int
    concurrency: int
    mode: str
    max_revisions: int
    max_failures: int
    prices: Prices | None
    debug: bool
    on: str | None = None


Run = Callable[[AdaptationOptions], Awaitable[AdaptationResult]]


def adapt_offline(given: RunOptions, train: Path, val: Path | None, test: Path | None, epochs: int) -> int:
    """Run or resume an offline adaptation; return the exit code."""
    task = task_named(given.task)
    files = {"train": train, "validation": val, "test": test}
    data = _opened({name: path for name, path in files.items() if path is not None}, task, given.limit)

    async def run(options: AdaptationOptions) -> AdaptationResult:
        return await OfflineAdapter(task.score, options, epochs=epochs).run(
            data["train"],
            validation=data.get("validation", ()),
            test=data.get("test", ()),
            out=given.out,
            resume=given.resume,
        )

    return _run(given, task, data, run)


def adapt_online(given: RunOptions, file: Path) -> int:
    """Run or resume an online adaptation; return the exit code."""
    task = task_named(given.task)
    data = _opened({"data": file}, task, given.limit)

    async def run(options: AdaptationOptions) -> AdaptationResult:
        return await OnlineAdapter(task.score, options).run(data["data"], out=given.out, resume=given.resume)

    return _run(given, task, data, run)


def _opened(files: dict[str, Path], task: Task, limit: int | None) -> dict[str, RowFile]:
    data = {name: RowFile(path, task, limit) for name, path in files.items()}
    for rows in data.values():
        left_out = rows.report()
        if left_out is not None:
            print_notice(left_out)
    return data


def _run(given: RunOptions, task: Task, data: dict[str, RowFile], run: Run) -> int:
    settings = load_settings(quiet="ERROR", debug=given.debug)

    async def adapt(executor: Executor) -> AdaptationResult:
        with stop_on_interrupt(print_notice) as stopping, StepProgress() as bar:
            options = AdaptationOptions(
                settings=settings,
                mode=given.mode,
                context=ACEContext(max_revisions=given.max_revisions),
                concurrency=given.concurrency,
                executor=executor,
                seed=given.seed,
                max_failures=given.max_failures,
                on_progress=bar,
                should_stop=stopping,
            )
            return await run(options)

    choose_model(settings)
    with executor_for(given.on) as executor:
        try:
            adapted = asyncio.run(adapt(executor))
        except (AdaptationError, ClusterError) as error:
            raise type(error)(f"{error} (the same command with --resume)") from error
    if not adapted.finished:
        print_notice("stopped; the same command with --resume goes on")
        return 1
    write_results(given.out, report(adapted, unit=task.unit, prices=given.prices, data=data))
    _print_results(adapted, given.out)
    return 0


def _print_results(adapted: AdaptationResult, out: Path) -> None:
    lines = console()
    rows = {adapted.measured_on: adapted.measured, **adapted.controls}
    width = max(map(len, rows))
    for name, measured in rows.items():
        lines.print(f"{name:<{width}}  {_accuracy_text(measured)}", soft_wrap=True)
    for name, control in adapted.controls.items():
        gain = paired_gain(adapted.measured.beside(control))
        low, high = gain.interval
        p_value = paired(adapted.measured.pairs(control)).p_value
        lines.print(
            f"gain over {name}: {gain.value:+.1%} ({low:+.1%} to {high:+.1%}), p = {p_value:.3g}",
            soft_wrap=True,
        )
    file = printable(str(out / "playbook.json"))
    lines.print(f"{counted(len(adapted.playbook), 'bullet')}: {file}", soft_wrap=True)


def _accuracy_text(measured: Accuracy) -> str:
    low, high = share_interval(measured.outcomes())
    failed = f", {measured.failed} failed" if measured.failed else ""
    return (
        f"{measured.accuracy:.1%} ({low:.1%} to {high:.1%}), "
        f"{measured.correct} of {measured.total} right{failed}"
    )
