"""Where text for people goes: rich on a terminal, plain lines everywhere else.

Text that others wrote is made printable first, so that it can't move the cursor, change colours or be
taken for markup.

Does not: hold a console at import time; a test, or a pipe, may replace the streams at any moment.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

__all__ = ["PLAIN_WIDTH", "console", "counted", "print_json", "printable", "tolerant_streams"]

PLAIN_WIDTH = 110
"""Columns of a table that goes to a file or a pipe."""

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def printable(text: str, *, lines: bool = False) -> str:
    """Return `text` with control and direction characters as escapes; line breaks stay with `lines`."""
    mended = _SURROGATES.sub("\ufffd", text)
    shown = _CONTROLS.sub(lambda found: found.group().encode("unicode_escape").decode(), mended)
    return shown if lines else shown.replace("\n", "\\n")


def console(*, error: bool = False) -> Console:
    """Return a console on the stdout, or the stderr, of this moment."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else PLAIN_WIDTH
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def print_json(value: Mapping[str, object]) -> None:
    """Print one JSON object, and nothing else, on stdout."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def counted(number: int, what: str) -> str:
    """Return "1 bullet" or "2 bullets"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def tolerant_streams() -> None:
    """Let no character that a stream can't encode, or was not given as UTF-8, end the program."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
