"""Compiles forms: texts of the tables that say how a clause begins, in a few signs.

[x|y] may be left out, (x|y) is one of several, # is a number, * is any text, $ the end of the clause, and a
space one or two spaces or a comma. `signs` are further ones, each with the pattern that it stands for. A form
has no other signs of regular expressions, so a pattern of forms is matched in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from ace_graph.memory.languages.tables import SPACELESS, languages, phrases

_SIGNS = {"[": "(?:", "]": ")?", "(": "(?:", ")": ")", "|": "|", " ": "[ ,]{1,2}", "$": r"[ .!。！]{0,5}$"}
_WISH_CHARS = 100
_JOINT = "[ ,.!–-]{0,3}"
_TAIL = r"(?:[ ,.!–-]{1,3}\w{1,20}){0,4}[ .!?]{0,9}$"
"""What may follow a form: "in decimals please", not "in fraction addition, give a result above one ..."."""
_NOTHING = "(?!)"
"""Matches no text: what a table without a form is compiled to."""


def form_pattern(
    lines: Iterable[str], *, number: str = r"\d{1,2}", signs: Mapping[str, str] | None = None, after: str = ""
) -> re.Pattern[str]:
    """Return a pattern that matches where a form begins; `after` is the pattern of what has to follow."""
    return re.compile(f"(?:{_alternatives(lines, number, signs)}){after}", re.IGNORECASE)


def form_value(pattern: re.Pattern[str], clause: str) -> str | None:
    """Return the text that stands for the * of the form that a clause has; None for a clause without one."""
    match = pattern.match(clause)
    if match is None:
        return None
    return match[match.lastindex] if match.lastindex else clause[match.end() :]


def form_wished(sentence: str) -> str | None:
    """Return the form of an answer that a sentence in any language asks for: "no, it should be in decimals".

    It is decimal, percent, mixed, fraction or other; None for a sentence that asks for none, or has a number.
    """
    said = sentence.strip().replace("’", "'")
    if len(said) > _WISH_CHARS or any(map(str.isdigit, said)):
        return None
    found = (_wishes(language).match(said) for language in languages("feedback"))
    return next((match.lastgroup for match in found if match), None)


def patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern of a wish for a form."""
    yield from map(_wishes, languages("feedback"))


@cache
def _wishes(language: str) -> re.Pattern[str]:
    """Return the pattern of a wish, whose last group is named as the form is that is wished for."""
    forms = dict[str, list[str]]()
    for line in phrases(language, "feedback", "wished"):
        form, _, said = line.partition(": ")
        forms.setdefault(form, []).append(said)
    before = _alternatives(phrases(language, "feedback", "wish"))
    wished = "|".join(f"(?P<{form}>{_alternatives(lines)})" for form, lines in forms.items())
    after = "" if language in SPACELESS else rf"(?!\w){_TAIL}"
    return re.compile(f"(?:(?:{before}){_JOINT})?(?:{wished or _NOTHING}){after}", re.IGNORECASE)


def any_of(words: Iterable[str]) -> str:
    """Return the pattern of one of some words, the longest first."""
    return "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word)))) or _NOTHING


def _alternatives(
    lines: Iterable[str], number: str = r"\d{1,2}", signs: Mapping[str, str] | None = None
) -> str:
    known = _SIGNS | {"#": f"(?:{number})"} | dict(signs or {})
    return "|".join(_form(line, known) for line in lines) or _NOTHING


def _form(line: str, signs: Mapping[str, str]) -> str:
    parts = list[str]()
    for at, sign in enumerate(line):
        if sign == "*":
            parts.append(r"(?=\S)" if at == len(line) - 1 else r"(\S.{0,80}?)")
        else:
            parts.append(signs.get(sign, re.escape(sign)))
    return "".join(parts)
