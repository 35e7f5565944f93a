"""Breaks text that comes in pieces into lines at words, as wide as the terminal.

Existing line breaks and spaces stay, and a word wider than a line is not broken.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from rich.cells import cell_len

__all__ = ["WordWrap"]


class WordWrap:
    """Hands text on to `write`, each word once it is whole; `end` hands on the last one."""

    def __init__(self, write: Callable[[str], None], width: int) -> None:
        self._write = write
        self._width = width
        self._column = 0
        self._spaces = ""
        self._word = ""

    def show(self, text: str) -> None:
        """Take the next piece."""
        for piece in text.splitlines(keepends=True):
            line = piece.rstrip("\n")
            for part in _parts(line):
                if part.isspace():
                    self._finish_word()
                    self._spaces += part
                else:
                    self._word += part
            if piece.endswith("\n"):
                self.end()
                self._write("\n")
                self._column = 0

    def end(self) -> None:
        """Hand on what is held back."""
        self._finish_word()
        self._put(self._spaces)
        self._spaces = ""

    def _finish_word(self) -> None:
        if not self._word:
            return
        needed = cell_len(self._spaces) + cell_len(self._word)
        if self._column and self._column + needed > self._width:
            self._write("\n")
            self._column, self._spaces = 0, ""
        self._put(self._spaces + self._word)
        self._spaces = self._word = ""

    def _put(self, text: str) -> None:
        if text:
            self._write(text)
            self._column += cell_len(text)


def _parts(line: str) -> list[str]:
    """A line as runs of spaces and words, in order."""
    return ["".join(run) for _, run in groupby(line, key=str.isspace)]
