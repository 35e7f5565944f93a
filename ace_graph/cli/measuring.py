"""What `adapt offline`, `adapt online`, `adapt compare` and `playbook diff --data` do: ask, score, report.

Without a model it is an error: the offline tutor never takes the place of a model here. A progress bar shows
the accuracy so far on stderr; without a terminal ten lines a phase replace it. Ctrl-C once stops the work at
its next step, so that `--resume` continues there; twice ends the program at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Literal, Self

from pydantic import ValidationError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from ace_graph import playbooks
from ace_graph.agent.context import ACEContext
from ace_graph.agent.models import choose_model
from ace_graph.agent.resources import read_base_playbook
from ace_graph.base.errors import AdaptationError, ClusterError, DatasetError, UsageError
from ace_graph.base.executors import Executor
from ace_graph.base.prompts import preview
from ace_graph.base.settings import Settings, variable_names
from ace_graph.cli.adapt import CompareOptions, RunOptions
from ace_graph.cli.command import Call
from ace_graph.cli.environment import ENV_FILE
from ace_graph.cli.passes import executor_for
from ace_graph.cli.terminal import console, counted, print_line, print_notice, printable
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.base import Store
from ace_graph.playbooks.handle import open_playbook
from ace_graph.playbooks.versions import VersionOutcome, version_from
from ace_graph.training.adapters import OfflineAdapter, OnlineAdapter
from ace_graph.training.evaluation import (
    Comparison,
    Prices,
    Side,
    compare,
    comparison_json,
    measured_json,
    report,
    write_results,
)
from ace_graph.training.journal import Accuracy, AdaptationResult, AdaptationStep
from ace_graph.training.options import AdaptationOptions
from ace_graph.training.options import Progress as AdaptationProgress
from ace_graph.training.samples import Environment, Outcome, RowFile, Sample
from ace_graph.training.scoring import Task, task_named
from ace_graph.training.statistics import Paired, paired, paired_gain, share_interval

Run = Callable[[AdaptationOptions], Awaitable[AdaptationResult]]


def adapt_offline(
    call: Call, given: RunOptions, train: Path, val: Path | None, test: Path | None, epochs: int
) -> int:
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

    return _run(call, given, task, data, run)


def adapt_online(call: Call, given: RunOptions, file: Path) -> int:
    """Run or resume an online adaptation; return the exit code."""
    task = task_named(given.task)
    data = _opened({"data": file}, task, given.limit)

    async def run(options: AdaptationOptions) -> AdaptationResult:
        return await OnlineAdapter(task.score, options).run(data["data"], out=given.out, resume=given.resume)

    return _run(call, given, task, data, run)


def _opened(files: dict[str, Path], task: Task, limit: int | None) -> dict[str, RowFile]:
    return {name: _told(RowFile(path, task, limit)) for name, path in files.items()}


def _told(rows: RowFile) -> RowFile:
    """Print which rows are left out, if any."""
    left_out = rows.report()
    if left_out is not None:
        print_notice(left_out)
    return rows


def _run(call: Call, given: RunOptions, task: Task, data: dict[str, RowFile], run: Run) -> int:
    settings = call.settings("ERROR")

    async def adapt(executor: Executor) -> AdaptationResult:
        with _stop_on_interrupt() as stopping, _StepProgress() as bar:
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
    prices = None
    if given.input_price is not None or given.output_price is not None:
        prices = Prices(given.input_price or 0.0, given.output_price or 0.0)
    write_results(given.out, report(adapted, unit=task.unit, prices=prices, data=data))
    rows = {adapted.measured_on: adapted.measured, **adapted.controls}
    width = max(map(len, rows))
    for name, measured in rows.items():
        print_line(f"{name:<{width}}  {_accuracy_of(measured)} right{_failed(measured)}")
    for name, control in adapted.controls.items():
        gain = paired_gain(adapted.measured.beside(control))
        low, high = gain.interval
        p_value = paired(adapted.measured.pairs(control)).p_value
        print_line(f"gain over {name}: {gain.value:+.1%} ({low:+.1%} to {high:+.1%}), p = {p_value:.3g}")
    print_line(f"{counted(len(adapted.playbook), 'bullet')}: {given.out / 'playbook.json'}")
    return 0


def _accuracy_of(measured: Accuracy) -> str:
    low, high = share_interval(measured.outcomes())
    return f"{measured.accuracy:.1%} ({low:.1%} to {high:.1%}), {measured.correct} of {measured.total}"


def _failed(measured: Accuracy) -> str:
    return f", {measured.failed} failed" if measured.failed else ""


_NONE = "none"


@dataclass(frozen=True)
class _Compared:
    """What two sides answered to the rows; `scored` where these have targets, counted in `unit`."""

    comparison: Comparison
    rows: RowFile
    unit: str
    scored: bool


def compare_sides(call: Call, names: tuple[str, str], data: Path, options: CompareOptions) -> int:
    """Ask both sides, print both answers and the comparison; return the exit code."""
    call.settings("ERROR")
    first, second = (_side(name, options.concurrency) for name in names)
    compared = _ask_both(first, second, data, options)
    if call.as_json:
        call.answer(_comparison_as_json(compared), ())
    else:
        _print_comparison(compared)
    return 0 if compared.comparison.finished else 1


def compare_versions(call: Call, versions: tuple[str, str], data: Path, options: CompareOptions) -> int:
    """Ask both versions, print the comparison and the observed turns; return the exit code."""
    (first, second), observed = call.on_store(
        lambda store: _version_sides(call, store, versions, options), call.settings("ERROR")
    )
    compared = _ask_both(first, second, data, options)
    if call.as_json:
        call.answer({**_comparison_as_json(compared), "observed": _observed_json(observed)}, ())
    else:
        _print_comparison(compared)
        for line in _observed_lines(call, observed or ()) if observed is not None else ():
            print_line(line)
    return 0 if compared.comparison.finished else 1


async def _version_sides(
    call: Call, store: Store, versions: tuple[str, str], options: CompareOptions
) -> tuple[tuple[Side, Side], Sequence[VersionOutcome] | None]:
    """Return both versions as sides, and the turns with each; None for the own memory.

    The own memory has a new version after nearly every turn, so there would be a turn or two of each.
    """
    contents = [
        await playbooks.get_version(store, version, call.name, call.learner)
        for version in map(version_from, versions)
    ]
    if contents[0][0] == contents[1][0]:
        first, second = versions
        raise UsageError(
            f"{first} and {second} are one version: name two of those that `playbook history` lists"
        )
    target, observed = await open_playbook(store, call.name, call.learner), None
    if target.named is not None:
        observed = await playbooks.observe_versions(store, call.learner, target.key)
    one, other = (
        Side(f"version {text}", content, _side_options({}, options.concurrency))
        for text, (_, content) in zip(versions, contents, strict=True)
    )
    return (one, other), observed


def _observed_json(observed: Sequence[VersionOutcome] | None) -> dict[str, object] | None:
    if observed is None:
        return None
    fields = ("label", "turns", "judged", "succeeded", "success_rate")
    rows = [
        {**{name: getattr(each, name) for name in fields}, "interval": list(each.interval)}
        for each in observed
    ]
    return {"randomised": False, "versions": rows}


def _observed_lines(call: Call, observed: Sequence[VersionOutcome]) -> list[str]:
    turns = sum(each.turns for each in observed)
    if not turns:
        return [f"No turn of learner {call.learner} has read {call.name} yet."]
    lines = [f"Observed in {counted(turns, 'turn')} of learner {call.learner}, not randomised:"]
    for each in observed:
        low, high = each.interval
        judged = f"{each.succeeded} of {each.judged} judged a success"
        rate = each.success_rate
        told = "none judged" if rate is None else f"{judged}: {rate:.1%} ({low:.1%} to {high:.1%})"
        lines.append(f"  {each.label}: {counted(each.turns, 'turn')}, {told}")
    return lines


def _ask_both(first: Side, second: Side, data: Path, options: CompareOptions) -> _Compared:
    """Let both sides answer the rows, with a progress bar. Raises DatasetError, and what `compare` raises."""
    task = task_named(options.task)
    try:
        rows, scored = RowFile(data, task, options.limit), True
    except DatasetError:  # rows without targets are left out where others have one
        rows, scored = RowFile(data, task, options.limit, targets=False), False
    environment: Environment = task.score if scored else _unjudged
    _told(rows)
    for side in (first, second):
        choose_model(side.options.settings)
    with executor_for(options.on) as executor, _stop_on_interrupt() as stopping, _StepProgress() as bar:

        def ready(side: Side) -> Side:
            given = replace(side.options, executor=executor, on_progress=bar, should_stop=stopping)
            return replace(side, options=given)

        found = asyncio.run(compare(ready(first), ready(second), rows, environment, shown=options.show))
    return _Compared(found, rows, task.unit, scored)


def _unjudged(sample: Sample, answer: str) -> Outcome:
    return Outcome(0)


def _side(text: str, concurrency: int) -> Side:
    """Return what `none`, a file or a folder, and NAME=VALUE after commas mean. Raises UsageError."""
    whole = Path(text)
    parts = [text] if whole.exists() else [part.strip() for part in text.split(",")]
    playbook: Playbook | None = None
    given: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if equals and not Path(part).exists():
            given[name.strip()] = value.strip()
        elif part != _NONE:
            path = Path(part)
            playbook = read_base_playbook(path / "playbook.json" if path.is_dir() else path)
    return Side(text, playbook, _side_options(given, concurrency))


def _side_options(given: Mapping[str, str], concurrency: int) -> AdaptationOptions:
    """Return how a side is run, with these settings in the place of the environment's. Raises UsageError."""
    variables = {name: value for name, value in given.items() if name in variable_names()}
    fields = {
        name: value
        for name, value in given.items()
        if name in ACEContext.model_fields and name != "learner_id"
    }
    unknown = [name for name in given if name not in (*variables, *fields, "mode")]
    if unknown:
        raise UsageError(
            f"{unknown[0]!r} is no setting: use a variable of the environment, a field of the context, "
            "or mode"
        )
    try:
        context = ACEContext.model_validate({name: _value(value) for name, value in fields.items()})
        # The settings of the environment with these variables in their place
        named: dict[str, Any] = {  # Any: texts and a path, which Settings checks
            name if not name.startswith("ACE_") else name.removeprefix("ACE_").lower(): value
            for name, value in variables.items()
        }
        named["_env_file"] = ENV_FILE
        settings = Settings(**named)
    except ValidationError as error:
        detail = error.errors(include_input=False, include_url=False)[0]
        raise UsageError(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}") from error
    return AdaptationOptions(
        settings=settings, context=context, mode=given.get("mode", "cot"), concurrency=concurrency
    )


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _print_comparison(found: _Compared) -> None:
    """Print the rows that are shown, the accuracy of both sides, and their difference."""
    compared, scored = found.comparison, found.scored
    for first, second in compared.shown:
        print_line(f"{first.sample}: {preview(printable(found.rows[first.index].question), 200)}")
        if first.target is not None:
            print_line(f"  right  {first.target}")
        for label, step in (("A", first), ("B", second)):
            mark = "failed" if step.failed else " " if not scored else "right" if step.correct else "wrong"
            print_line(f"  {label} {mark}  {(step.error or '') if step.failed else step.answer}")
    for label, side, measured in zip("AB", compared.sides, compared.measured, strict=True):
        told = _accuracy_of(measured) if scored else f"{measured.total} answers"
        print_line(f"{label} = {side.name}: {told}{_failed(measured)}")
    if scored:
        pairs = compared.paired
        low, high = pairs.interval
        print_line(
            f"A against B: {pairs.difference:+.1%} right answers ({low:+.1%} to {high:+.1%}), only A "
            f"{pairs.only_first}, only B {pairs.only_second}, p = {pairs.p_value:.3g}"
        )
        better = _better(pairs)
        print_line(
            f"{better} is better on these rows."
            if better
            else "Neither is shown to be better: the difference may be chance. More rows would tell."
        )


_CHANCE = 0.05
"""The largest p of a difference that is called one."""


def _better(pairs: Paired) -> Literal["A", "B"] | None:
    """Which side is better, None where that may be chance."""
    if pairs.p_value >= _CHANCE:
        return None
    return "A" if pairs.only_first > pairs.only_second else "B"


def _comparison_as_json(found: _Compared) -> dict[str, object]:
    """Return the accuracy of both sides, their difference, and the rows that are shown."""
    compared, rows, scored = found.comparison, found.rows, found.scored

    def side(place: int) -> dict[str, object]:
        measured = compared.measured[place]
        numbers = measured_json(measured, found.unit) if scored else {"total": measured.total}
        usage = {role: cost.model_dump() for role, cost in measured.usage.items()}
        return {"name": compared.sides[place].name, **numbers, "failed": measured.failed, "usage": usage}

    def outcome(step: AdaptationStep) -> dict[str, object]:
        return {"answer": step.answer, "correct": step.correct if scored else None, "error": step.error}

    return {
        "A": side(0),
        "B": side(1),
        "paired": comparison_json(*compared.measured) if scored else None,
        "better": _better(compared.paired) if scored else None,
        "rows": [
            {
                "sample": first.sample,
                "question": rows[first.index].question,
                "target": first.target,
                "A": outcome(first),
                "B": outcome(second),
            }
            for first, second in compared.shown
        ],
    }


_LINES_PER_PHASE = 10
"""Without a terminal."""


def _so_far(measured: Accuracy) -> str:
    """Return the accuracy so far, and the failed calls, if any."""
    return f"accuracy {measured.accuracy:.1%}{_failed(measured)}" if measured.total else "accuracy -"


class _StepProgress:
    """Shows each phase on its own line. A context manager, to be called with each step."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._tasks: dict[tuple[str, int], TaskID] = {}
        self._printed: dict[tuple[str, int], int] = {}
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[so_far]}"),
            TimeRemainingColumn(),
            console=console(error=True),
            disable=not self._terminal,
        )

    def __call__(self, step: AdaptationProgress) -> None:
        """Show how far the phase is."""
        key, measured = (step.phase, step.epoch), step.measured
        name = f"{step.phase} {step.epoch}" if step.epoch else step.phase
        if not self._terminal:
            self._print_line(key, name, measured)
            return
        if key not in self._tasks:
            self._tasks[key] = self._bar.add_task(name, total=measured.count, so_far="")
        self._bar.update(self._tasks[key], completed=measured.total, so_far=_so_far(measured))

    def _print_line(self, key: tuple[str, int], name: str, measured: Accuracy) -> None:
        tenth = measured.total * _LINES_PER_PHASE // measured.count if measured.count else _LINES_PER_PHASE
        if tenth > self._printed.get(key, 0):
            self._printed[key] = tenth
            print_notice(f"{name}: {measured.total} of {measured.count}, {_so_far(measured)}")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


_SHOW_CURSOR = "\x1b[?25h"


class _StopRequest:
    """Whether the work was asked to stop."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked


@contextmanager
def _stop_on_interrupt() -> Generator[_StopRequest]:
    """Yield the stop request, which the first Ctrl-C in the block sets; the second one ends the program."""
    stopping = _StopRequest()

    def interrupted(number: int, frame: FrameType | None) -> None:
        if stopping.asked:
            if sys.stderr.isatty():
                os.write(2, _SHOW_CURSOR.encode())
            os.write(2, b"\nstopped at once; --resume goes on\n")
            os._exit(1)
        stopping.asked = True
        print_notice("stopping when the answers under way are in; Ctrl-C again stops at once")

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield stopping
    finally:
        signal.signal(signal.SIGINT, before)
