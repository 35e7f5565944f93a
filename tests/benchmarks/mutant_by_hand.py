"""Runs tests with one change of the code: `python mutant_by_hand.py FILE OLD NEW TEST...`.

The change is made where Python compiles the module, so no file is written. The exit code is pytest's, and 9
where the file does not hold OLD once.

Does not: hold a test.
"""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest

NOT_THERE = 9
_get_code = SourceFileLoader.get_code


def mutate(file: str, old: str, new: str) -> None:
    """Let the module in this file be compiled with another text. Exits where the text is not there once."""
    source = Path(file).read_text(encoding="utf-8")
    if source.count(old) != 1:
        sys.exit(NOT_THERE)
    place = Path(file).resolve()

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        if Path(self.path).resolve() == place:
            return compile(source.replace(old, new), self.path, "exec", dont_inherit=True)
        return _get_code(self, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate(*sys.argv[1:4])
    sys.exit(pytest.main(["-q", "-x", "-n0", "-p", "no:cacheprovider", "--no-header", *sys.argv[4:]]))
