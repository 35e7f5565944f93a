"""Standard output that holds one line and nothing else, whatever libraries print.

The protection is at the file descriptor: what a C library or a child process writes to stdout goes to
stderr too.

Does not: know what the line says.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Emit", "one_line_stdout"]


class Emit(Protocol):
    """Writes the line."""

    def __call__(self, value: Mapping[str, object], /) -> None: ...


@contextmanager
def one_line_stdout() -> Generator[Emit]:
    """Yield the only way to stdout; everything else that is written there until the end goes to stderr."""
    sys.stdout.flush()
    real = os.dup(1)
    os.dup2(2, 1)

    def emit(value: Mapping[str, object], /) -> None:
        line = json.dumps(value, ensure_ascii=True) + "\n"
        left = memoryview(line.encode("ascii"))
        while left:
            left = left[os.write(real, left) :]

    try:
        yield emit
    finally:
        sys.stdout.flush()
        os.dup2(real, 1)
        os.close(real)
