"""A rule of the screening tables, and how a table is matched: with what excuses a match.

A rule is four texts: what it is about, words of which a text must hold one, the pattern, and what excuses a
match. All of them are folded as the readings of a text are (screen_reading.folded), so that a table may be
written with accents. No pattern repeats anything without a bound, so the work is linear in the text.

Does not: hold rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ace_graph.memory.screening.disguise import folded

__all__ = ["Rule", "first", "rule"]

_CONTEXT = 60


@dataclass(frozen=True)
class Rule:
    """What kind of danger it is, what a text must hold one of, the pattern, and what excuses a match.

    `unless_before` is looked for at the end of what stands before a match, `unless_after` at the start of
    what follows it.
    """

    kind: str
    needs: tuple[str, ...]
    pattern: re.Pattern[str]
    unless_before: re.Pattern[str] | None = None
    unless_after: re.Pattern[str] | None = None

    def matches(self, text: str) -> bool:
        """Whether a short text meets the rule somewhere without an excuse."""
        if not any(need in text for need in self.needs):
            return False
        return any(not self._excused(match) for match in self.pattern.finditer(text))

    def _excused(self, match: re.Match[str]) -> bool:
        before = match.string[max(0, match.start() - _CONTEXT) : match.start()]
        after = match.string[match.end() : match.end() + _CONTEXT]
        return bool(
            (self.unless_before and self.unless_before.search(before))
            or (self.unless_after and self.unless_after.match(after))
        )


def rule(kind: str, needs: str, pattern: str, *, unless_before: str = "", unless_after: str = "") -> Rule:
    """Return a rule; `needs` are words apart from each other by spaces, of which a text must hold one."""
    return Rule(
        kind,
        tuple(folded(needs).split()),
        re.compile(folded(pattern)),
        re.compile(rf"(?:{folded(unless_before)})$") if unless_before else None,
        re.compile(folded(unless_after)) if unless_after else None,
    )


def first(rules: Sequence[Rule], text: str) -> str | None:
    """Return the kind of the first rule that `text` meets, None where it meets none."""
    return next((each.kind for each in rules if each.matches(text)), None)
