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
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Any, Literal

from pydantic import ValidationError

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
from ace_graph.cli.terminal import counted, print_line, print_notice, printable, progress_bar
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.store import Store
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
from ace_graph.training.samples import Environment, Outcome, RowFile
from ace_graph.training.scoring import task_named
from ace_graph.training.statistics import Paired, paired, paired_gain, share_interval

Run = Callable[[Environment, AdaptationOptions, dict[str, RowFile]], Awaitable[AdaptationResult]]


def adapt_offline(
    call: Call, given: RunOptions, train: Path, val: Path | None, test: Path | None, epochs: int
) -> int:
    """Run or resume an offline adaptation; return the exit code."""
    files = {"train": train, "validation": val, "test": test}
    return _run(
        *(call, given, {name: path for name, path in files.items() if path is not None}),
        lambda score, options, data: OfflineAdapter(score, options, epochs=epochs).run(
            data["train"],
            validation=data.get("validation", ()),
            test=data.get("test", ()),
            out=given.out,
            resume=given.resume,
        ),
    )


def adapt_online(call: Call, given: RunOptions, file: Path) -> int:
    """Run or resume an online adaptation; return the exit code."""
    return _run(
        *(call, given, {"data": file}),
        lambda score, options, data: OnlineAdapter(score, options).run(
            data["data"], out=given.out, resume=given.resume
        ),
    )


def _tell_left_out(rows: RowFile) -> None:
    if (left_out := rows.report()) is not None:
        print_notice(left_out)


def _run(call: Call, given: RunOptions, files: dict[str, Path], run: Run) -> int:
    task = task_named(given.task)
    data = {name: RowFile(path, task, given.limit) for name, path in files.items()}
    for opened in data.values():
        _tell_left_out(opened)
    settings = call.settings("ERROR")

    async def adapt(executor: Executor) -> AdaptationResult:
        with _stop_on_interrupt() as stopping, _step_progress() as bar:
            options = AdaptationOptions(
                settings=settings,
                mode=given.mode,
                context=ACEContext(max_revisions=given.max_revisions),
                concurrency=given.concurrency,
                executor=executor,
                seed=given.seed,
                max_failures=given.max_failures,
                on_progress=bar,
                should_stop=stopping.is_set,
            )
            return await run(task.score, options, data)

    choose_model(settings)
    with executor_for(given.on) as executor:
        try:
            adapted = asyncio.run(adapt(executor))
        except (AdaptationError, ClusterError) as error:
            raise type(error)(f"{error} (the same command with --resume)") from error
    if not adapted.finished:
        print_notice("stopped; the same command with --resume continues")
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
        for line in () if observed is None else _observed_lines(call, observed):
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
            f"{first} and {second} are the same version: choose two that `playbook history` lists"
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
    environment: Environment = task.score if scored else lambda _sample, _answer: Outcome(0)
    _tell_left_out(rows)
    for side in (first, second):
        choose_model(side.options.settings)
    with executor_for(options.on) as executor, _stop_on_interrupt() as stopping, _step_progress() as bar:

        def ready(side: Side) -> Side:
            given = replace(side.options, executor=executor, on_progress=bar, should_stop=stopping.is_set)
            return replace(side, options=given)

        found = asyncio.run(compare(ready(first), ready(second), rows, environment, shown=options.show))
    return _Compared(found, rows, task.unit, scored)


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
    known = ACEContext.model_fields.keys() - {"learner_id"}
    fields = {name: value for name, value in given.items() if name in known}
    unknown = [name for name in given if name not in (*variables, *fields, "mode")]
    if unknown:
        raise UsageError(f"unknown setting {unknown[0]!r}: use a variable, a field of ACEContext, or mode")

    def value_of(text: str) -> object:
        try:
            return json.loads(text)
        except ValueError:
            return text

    try:
        context = ACEContext.model_validate({name: value_of(text) for name, text in fields.items()})
        named: dict[str, Any] = {  # Any: texts and a path, which Settings checks
            name.removeprefix("ACE_").lower() if name.startswith("ACE_") else name: value
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


def _print_comparison(found: _Compared) -> None:
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
        chance = "Neither is shown to be better: the difference may be chance. More rows would tell."
        print_line(f"{better} is better on these rows." if (better := _better(pairs)) else chance)


_CHANCE = 0.05
"""The largest p of a difference that is called one."""


def _better(pairs: Paired) -> Literal["A", "B"] | None:
    if pairs.p_value >= _CHANCE:
        return None
    return "A" if pairs.only_first > pairs.only_second else "B"


def _comparison_as_json(found: _Compared) -> dict[str, object]:
    compared, rows, scored = found.comparison, found.rows, found.scored

    def side(place: int) -> dict[str, object]:
        measured = compared.measured[place]
        numbers = measured_json(measured, found.unit) if scored else {"total": measured.total}
        usage = {role: asdict(cost) for role, cost in measured.usage.items()}
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


@contextmanager
def _step_progress() -> Generator[Callable[[AdaptationProgress], None]]:
    with progress_bar(lines=_LINES_PER_PHASE) as bar:

        def show(step: AdaptationProgress) -> None:
            measured = step.measured
            accuracy = f"{measured.accuracy:.1%}{_failed(measured)}" if measured.total else "-"
            name = f"{step.phase} {step.epoch}" if step.epoch else step.phase
            bar(name, measured.total, measured.count, f"accuracy {accuracy}")

        yield show


_SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def _stop_on_interrupt() -> Generator[Event]:
    """Yield what the first Ctrl-C in the block sets; the second one ends the program."""
    stopping = Event()

    def interrupted(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            if sys.stderr.isatty():
                os.write(2, _SHOW_CURSOR.encode())
            os.write(2, b"\nstopped at once; --resume goes on\n")
            os._exit(1)
        stopping.set()
        print_notice("stopping when the answers under way are in; Ctrl-C again stops at once")

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield stopping
    finally:
        signal.signal(signal.SIGINT, before)
