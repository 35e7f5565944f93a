"""Long work on stderr: a progress bar with the accuracy so far, and what Ctrl-C does.

Without a terminal ten lines a phase replace the bar. Ctrl-C once stops the work at its next step, so that
`--resume` continues there; twice ends the program at once.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from ace_graph.adaptation.options import Progress as AdaptationStep
from ace_graph.adaptation.results import Accuracy
from ace_graph.cli.app import print_notice
from ace_graph.cli.terminal import console

__all__ = ["StepProgress", "StopRequest", "accuracy_text", "stop_on_interrupt"]


_LINES_PER_PHASE = 10
"""Without a terminal."""


def accuracy_text(measured: Accuracy) -> str:
    """Return the accuracy so far, and the failed calls, if any."""
    failed = f", {measured.failed} failed" if measured.failed else ""
    return f"accuracy {measured.accuracy:.1%}{failed}" if measured.total else "accuracy -"


class StepProgress:
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

    def __call__(self, step: AdaptationStep) -> None:
        """Show how far the phase is."""
        key, measured = (step.phase, step.epoch), step.measured
        name = f"{step.phase} {step.epoch}" if step.epoch else step.phase
        if not self._terminal:
            self._print_line(key, name, measured)
            return
        if key not in self._tasks:
            self._tasks[key] = self._bar.add_task(name, total=measured.count, so_far="")
        self._bar.update(self._tasks[key], completed=measured.total, so_far=accuracy_text(measured))

    def _print_line(self, key: tuple[str, int], name: str, measured: Accuracy) -> None:
        tenth = measured.total * _LINES_PER_PHASE // measured.count if measured.count else _LINES_PER_PHASE
        if tenth > self._printed.get(key, 0):
            self._printed[key] = tenth
            print_notice(f"{name}: {measured.total} of {measured.count}, {accuracy_text(measured)}")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


_SHOW_CURSOR = "\x1b[?25h"


class StopRequest:
    """Whether the work was asked to stop."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked


@contextmanager
def stop_on_interrupt(say: Callable[[str], None]) -> Generator[StopRequest]:
    """Yield the stop request, which the first Ctrl-C in the block sets; the second one ends the program."""
    stopping = StopRequest()

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
