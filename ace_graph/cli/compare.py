"""`ace-graph compare A B --data FILE`: two playbooks, or two settings, on the same rows.

Without a model it is an error: the offline tutor never takes the place of a model here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ace_graph.adaptation.journal import AdaptationStep
from ace_graph.adaptation.options import AdaptationOptions
from ace_graph.adaptation.results import Accuracy
from ace_graph.adaptation.samples import Environment, Outcome, Sample
from ace_graph.build_resources import read_base_playbook
from ace_graph.cli.app import print_notice
from ace_graph.cli.cluster import executor_for
from ace_graph.cli.environment import ENV_FILE, load_settings
from ace_graph.cli.progress import StepProgress, stop_on_interrupt
from ace_graph.cli.terminal import console, print_json, printable
from ace_graph.context import ACEContext
from ace_graph.errors import DatasetError, UsageError
from ace_graph.evaluation.comparison import Comparison, Side, compare
from ace_graph.evaluation.datasets import RowFile
from ace_graph.evaluation.reports import comparison_json, measured_json
from ace_graph.evaluation.statistics import share_interval
from ace_graph.evaluation.tasks import task_named
from ace_graph.memory.playbook import Playbook
from ace_graph.models import choose_model
from ace_graph.prompts import preview
from ace_graph.settings import Settings, variable_names

__all__ = [
    "CompareOptions",
    "Compared",
    "ask_both",
    "comparison_as_json",
    "print_comparison",
    "run_compare",
    "side_options",
]

_NONE = "none"


@dataclass(frozen=True)
class CompareOptions:
    """The rows of a comparison, how they are answered and scored, and how many of them are shown."""

    file: Path
    task: str
    limit: int | None
    concurrency: int
    shown: int
    on: str | None = None


@dataclass(frozen=True)
class Compared:
    """What two sides answered to the rows; `scored` where these have targets, counted in `unit`."""

    comparison: Comparison
    rows: RowFile
    unit: str
    scored: bool


def run_compare(names: tuple[str, str], options: CompareOptions, *, as_json: bool, debug: bool) -> int:
    """Ask both sides, print both answers and the comparison; return the exit code."""
    task_named(options.task)
    load_settings(quiet="ERROR", debug=debug)
    first, second = (_side(name, options.concurrency) for name in names)
    compared = ask_both(first, second, options)
    if as_json:
        print_json(comparison_as_json(compared))
    else:
        print_comparison(compared)
    return 0 if compared.comparison.finished else 1


def ask_both(first: Side, second: Side, options: CompareOptions) -> Compared:
    """Let both sides answer the rows, with a progress bar. Raises DatasetError, and what `compare` raises."""
    rows, scored = _rows(options.file, options.task, options.limit)
    environment: Environment = task_named(options.task).score if scored else _unjudged
    for side in (first, second):
        choose_model(side.options.settings)
    with (
        executor_for(options.on) as executor,
        stop_on_interrupt(print_notice) as stopping,
        StepProgress() as bar,
    ):

        def ready(side: Side) -> Side:
            given = replace(side.options, executor=executor, on_progress=bar, should_stop=stopping)
            return replace(side, options=given)

        found = asyncio.run(compare(ready(first), ready(second), rows, environment, shown=options.shown))
    return Compared(found, rows, task_named(options.task).unit, scored)


def _unjudged(sample: Sample, answer: str) -> Outcome:
    return Outcome(0)


def _rows(file: Path, task: str, limit: int | None) -> tuple[RowFile, bool]:
    """Return the rows, and whether they have targets: those without are left out where others have one."""
    try:
        rows, scored = RowFile(file, task_named(task), limit), True
    except DatasetError:
        rows, scored = RowFile(file, task_named(task), limit, targets=False), False
    left_out = rows.report()
    if left_out is not None:
        print_notice(left_out)
    return rows, scored


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
    return Side(text, playbook, side_options(given, concurrency))


def side_options(given: Mapping[str, str], concurrency: int) -> AdaptationOptions:
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
        settings = _settings(variables)
    except ValidationError as error:
        detail = error.errors(include_input=False, include_url=False)[0]
        raise UsageError(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}") from error
    return AdaptationOptions(
        settings=settings, context=context, mode=given.get("mode", "cot"), concurrency=concurrency
    )


def _settings(variables: dict[str, str]) -> Settings:
    """The settings of the environment with these variables in their place."""
    named: dict[str, Any] = {  # Any: texts and a path, which Settings checks
        name if not name.startswith("ACE_") else name.removeprefix("ACE_").lower(): value
        for name, value in variables.items()
    }
    named["_env_file"] = ENV_FILE
    return Settings(**named)


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def print_comparison(found: Compared) -> None:
    """Print the rows that are shown, the accuracy of both sides, and their difference."""
    compared, scored, out = found.comparison, found.scored, console()
    for first, second in compared.shown:
        question = preview(printable(found.rows[first.index].question), 200)
        out.print(f"{first.sample}: {question}", soft_wrap=True)
        if first.target is not None:
            out.print(f"  right  {printable(first.target)}", soft_wrap=True)
        for label, step in (("A", first), ("B", second)):
            answer = printable((step.error or "") if step.failed else step.answer)
            out.print(f"  {label} {_mark(step, scored=scored)}  {answer}", soft_wrap=True)
    for label, side, measured in zip("AB", compared.sides, compared.measured, strict=True):
        out.print(f"{label} = {printable(side.name)}: {_summed(measured, scored=scored)}", soft_wrap=True)
    if scored:
        pairs = compared.paired
        low, high = pairs.interval
        out.print(
            f"A against B: {pairs.difference:+.1%} right answers ({low:+.1%} to {high:+.1%}), only A "
            f"{pairs.only_first}, only B {pairs.only_second}, p = {pairs.p_value:.3g}",
            soft_wrap=True,
        )


def _mark(step: AdaptationStep, *, scored: bool) -> str:
    return "failed" if step.failed else " " if not scored else "right" if step.correct else "wrong"


def _summed(measured: Accuracy, *, scored: bool) -> str:
    failed = f", {measured.failed} failed" if measured.failed else ""
    if not scored:
        return f"{measured.total} answers{failed}"
    low, high = share_interval(measured.outcomes())
    return (
        f"{measured.accuracy:.1%} ({low:.1%} to {high:.1%}), {measured.correct} of {measured.total}{failed}"
    )


def comparison_as_json(found: Compared) -> dict[str, object]:
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
