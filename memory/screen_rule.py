"""A rule of the screening tables: a pattern, and the cheap test that spares most texts the pattern.

Does not: hold rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Rule", "first", "rule"]


@dataclass(frozen=True)
class Rule:
    """What kind of danger it is, what a text must hold one of, and the pattern."""

    kind: str
    needs: tuple[str, ...]
    pattern: re.Pattern[str]


def rule(kind: str, needs: str, pattern: str) -> Rule:
    """Return a rule; `needs` are words apart from each other by spaces, of which a text must hold one."""
    return Rule(kind, tuple(needs.split()), re.compile(pattern))


def first(rules: Sequence[Rule], text: str) -> str | None:
    """Return the kind of the first rule that `text` meets, None where it meets none."""
    for each in rules:
        if any(need in text for need in each.needs) and each.pattern.search(text):
            return each.kind
    return None
