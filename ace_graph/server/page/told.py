"""What the program says in English, in the language of the page: reasons, refusals, records of runs.

The memory stores such texts, and programs read them, so they stay English there. The table `told.toml` has
what the page says instead. What somebody wrote is in no table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, cast

from ace_graph.base.tables import read_toml

MAX_CHARS = 1_000
"""What is longer, no program says in a sentence."""


class _Pattern(NamedTuple):
    """A text with parts that vary: what stands around them, and what the page says."""

    around: tuple[str, ...]
    said: str

    def parts_of(self, text: str) -> Sequence[str] | None:
        """Return the parts that vary in a text of this form, None for another text; each is the shortest."""
        first, *inner, last = self.around
        if not text.startswith(first) or not text.endswith(last):
            return None
        left, parts = text[len(first) : len(text) - len(last)], list[str]()
        for each in inner:
            part, found, left = left.partition(each)
            if not found:
                return None
            parts.append(part)
        parts.append(left)
        return parts if all(parts) else None


def told(language: str, text: str, *, refusal: bool = False) -> str | None:
    """Return what the page says for a text of the program; None where it is another one's.

    It is a reason or a record, and with `refusal` also why something is not done, perhaps behind an id.
    """
    exact, patterns = _table(language, refusal)
    if text in exact or len(text) > MAX_CHARS:
        return exact.get(text)
    for pattern in patterns:
        if (parts := pattern.parts_of(text)) is not None:
            return pattern.said.format(*(told(language, part, refusal=refusal) or part for part in parts))
    name, _, rest = text.partition(": ") if refusal else ("", "", "")
    return told(language, rest, refusal=True) if rest and " " not in name else None


@cache
def _table(language: str, refusal: bool) -> tuple[Mapping[str, str], Sequence[_Pattern]]:
    """Return the texts of a language, and those with parts that vary, what says most of itself first."""
    tables = cast("Mapping[str, Mapping[str, str]]", read_toml("ace_graph.server", "told.toml")[language])
    rows = {**tables["reason"], **(tables["refusal"] if refusal else {})}
    patterns = [_Pattern(tuple(text.split("{}")), said) for text, said in rows.items() if "{}" in text]
    known = sorted(patterns, key=lambda pattern: -sum(map(len, pattern.around)))
    return {text: said for text, said in rows.items() if "{}" not in text}, known
