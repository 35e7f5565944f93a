"""What the reflection window saves: messages and tokens of a prompt before and after, and its own cost.

An interaction is a question, a tool call, its result of 3,000 characters, and an answer.
"""

from __future__ import annotations

from functools import partial

from ace_graph.memory.window import select_window, truncate_tool_results, window_metrics
from benchmarks.plan import Findings, Plan
from benchmarks.table import Table
from benchmarks.timing import number, timed

__all__ = ["measure_windows"]

_LENGTHS = (10, 50, 200)
_SIZES = (None, 0, 3, 5, 7, 10)
_RESULT_CHARS = 3_000

Message = dict[str, object]


def measure_windows(plan: Plan, findings: Findings) -> None:
    """Add the table of window sizes; `all` is the prompt without a window."""
    rows: list[tuple[str, ...]] = []
    for length in _LENGTHS:
        history = _conversation(length)
        for size in _SIZES:
            shown = _window(history, size)
            metrics = window_metrics(history, shown)
            saved = 1 - metrics.tokens_after / metrics.tokens_before
            took = timed([partial(_window, history, size)] * plan.repeats)
            rows.append(
                (
                    f"{length} interactions, window {'all' if size is None else size}",
                    f"{metrics.messages_before} -> {metrics.messages_after}",
                    f"{metrics.tokens_before:,} -> {metrics.tokens_after:,}",
                    f"{saved:.0%}",
                    number(took.p50),
                )
            )
    columns = ("conversation", "messages", "tokens", "saved", "select, ms")
    note = "Tool results are cut at 2,000 characters in every window; `all` is the history without a window."
    findings.tables.append(Table("Window sizes, before and after", columns, rows, note))


def _window(history: list[Message], size: int | None) -> list[Message]:
    if size is None:
        return history
    return truncate_tool_results(select_window(history, size, question="What about the next file?"))


def _conversation(length: int) -> list[Message]:
    made: list[Message] = []
    for n in range(length):
        call = {"id": f"call-{n}", "name": "read_file", "args": {"path": f"src/module_{n}.py"}}
        made.append({"role": "user", "content": f"Explain module {n} and what would break without it."})
        made.append({"role": "assistant", "content": "", "tool_calls": [call]})
        found = f"line {n} of the file. " * (_RESULT_CHARS // 20)
        made.append({"role": "tool", "tool_call_id": f"call-{n}", "content": found})
        told = f"Module {n} reads its input, checks it, and hands it on. " * 4
        made.append({"role": "assistant", "content": told})
    return made
