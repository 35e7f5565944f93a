"""Ctrl-C during long work: once asks it to stop at the next step, twice ends the program at once.

Does not: save anything. What the work has written by then is what it goes on from.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Stopping", "stopping_on_interrupt"]

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
