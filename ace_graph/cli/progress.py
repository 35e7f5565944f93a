"""Ctrl-C during long work: once asks it to stop at the next step, twice ends the program at once.

How far an adaptation is, on stderr: a bar with its accuracy; lines now and then where no terminal is.

Does not: save anything. What the work has written by then is what it goes on from.
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
from ace_graph.cli.app import say
from ace_graph.cli.terminal import console

__all__ = ["StepBar", "Stopping", "so_far", "stopping_on_interrupt"]


_LINES = 10
"""Lines a phase where there is no terminal."""


def so_far(measured: Accuracy) -> str:
    """Return the accuracy so far, and the failed calls, if any."""
    failed = f", {measured.failed} failed" if measured.failed else ""
    return f"accuracy {measured.accuracy:.1%}{failed}" if measured.total else "accuracy -"


class StepBar:
    """Shows every phase on a line of its own. Used in a `with` block; call it with each step."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._tasks: dict[tuple[str, int], TaskID] = {}
        self._told: dict[tuple[str, int], int] = {}
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
            self._line(key, name, measured)
            return
        if key not in self._tasks:
            self._tasks[key] = self._bar.add_task(name, total=measured.count, so_far="")
        self._bar.update(self._tasks[key], completed=measured.total, so_far=so_far(measured))

    def _line(self, key: tuple[str, int], name: str, measured: Accuracy) -> None:
        tenth = measured.total * _LINES // measured.count if measured.count else _LINES
        if tenth > self._told.get(key, 0):
            self._told[key] = tenth
            say(f"{name}: {measured.total} of {measured.count}, {so_far(measured)}")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


_SHOW_CURSOR = "\x1b[?25h"


class Stopping:
    """Whether the work was asked to stop."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked


@contextmanager
def stopping_on_interrupt(say: Callable[[str], None]) -> Generator[Stopping]:
    """Yield what the work has to ask; while the block runs, Ctrl-C means what this module says."""
    stopping = Stopping()

    def interrupted(number: int, frame: FrameType | None) -> None:
        if stopping.asked:
            if sys.stderr.isatty():
                os.write(2, _SHOW_CURSOR.encode())
            os.write(2, b"\nstopped at once; --resume goes on\n")
            os._exit(1)
        stopping.asked = True
        say("stopping when the answers under way are in; Ctrl-C again stops at once")

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield stopping
    finally:
        signal.signal(signal.SIGINT, before)
