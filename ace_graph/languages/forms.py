"""Compiles forms: texts of the tables that say how a clause begins, in a few signs.

[x|y] may be left out, (x|y) is one of several, # is a number, * is any text, $ the end of the clause, and a
space one or two spaces or a comma. `signs` are further ones, each with the pattern that it stands for. A form
has no other signs of regular expressions, so a pattern of forms is matched in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

__all__ = ["any_of", "form_pattern"]

_SIGNS = {"[": "(?:", "]": ")?", "(": "(?:", ")": ")", "|": "|", " ": "[ ,]{1,2}", "$": r"[ .!。！]{0,5}$"}
_NOTHING = "(?!)"
"""Matches no text: what a table without a form is compiled to."""


def form_pattern(
    lines: Iterable[str], *, number: str = r"\d{1,2}", signs: Mapping[str, str] | None = None, after: str = ""
) -> re.Pattern[str]:
    """Return a pattern that matches where a form begins; `after` is the pattern of what has to follow."""
    known = _SIGNS | {"#": f"(?:{number})"} | dict(signs or {})
    forms = "|".join(_form(line, known) for line in lines)
    return re.compile(f"(?:{forms or _NOTHING}){after}", re.IGNORECASE)


def any_of(words: Iterable[str]) -> str:
    """Return the pattern of one of some words, the longest first."""
    return "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word)))) or _NOTHING


def _form(line: str, signs: Mapping[str, str]) -> str:
    parts = list[str]()
    for at, sign in enumerate(line):
        if sign == "*":
            parts.append(r"(?=\S)" if at == len(line) - 1 else r"\S.{0,80}?")
        else:
            parts.append(signs.get(sign, re.escape(sign)))
    return "".join(parts)
