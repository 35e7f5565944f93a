"""Where a chat's questions come from: a person at a terminal, or a pipe with one question a line.

Does not: interpret a line.
"""

from __future__ import annotations

import contextlib
import sys
from importlib import import_module

__all__ = ["next_line", "prepare"]

_PROMPT = "you> "


def prepare() -> None:
    """Let a person edit the line and go back to earlier ones, where the platform can."""
    if sys.stdin.isatty():
        with contextlib.suppress(ImportError):
            import_module("readline")  # input() uses it from then on


def next_line() -> str | None:
    """Return the next line without its end; None at the end of the input, or on Ctrl-C or Ctrl-D."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.rstrip("\r\n") if line else None
    try:
        return input(_PROMPT)
    except (EOFError, KeyboardInterrupt):
        print()
        return None
