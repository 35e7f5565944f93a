"""Which texts spell out a password or a key: a name for it, a sign that it follows, and a value made up.

What counts as a value depends on the name: a PIN is digits, a password is not a word, and neither is an
expression of a program, a measure ("64-bit") or a placeholder. A password that is an ordinary word is not
found. The names are in data/passwords.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ace_graph.memory.screening.rules import patterns_of, read_rules

__all__ = ["has_password", "patterns"]

_CODE = re.compile(r"[()\[\]{}<>]|^\w{1,200}(?:\.\w{1,200}){1,20}$|^[A-Za-z_]{1,200}$|^[$%]")
_MEASURE = re.compile(
    r"(?i:\d[\d.,]{0,12}[- ]?(?:bits?|bytes?|char\w{0,8}|digits?|stellig\w{0,2}|zeichen|minutes?"
    r"|hours?|days?|sec\w{0,5}"
    r"|min|ms|[smhdv%]|kb|mb|hz)?)"
)
_PLACEHOLDER = re.compile(r"(?i:(?:your|my|the|example|x{3}|\*{3}|\.{3}|#{3})[\w*.#-]{0,200})")
_STRONG = frozenset("!@#$%^&*?+=~§")


def has_password(text: str) -> bool:
    """Whether a folded text of at most a few thousand characters spells a password, a key or a PIN out."""
    return any(
        rule.kind == "pin" or _is_made_up(match["value"].strip("\"'`.!?«»„“”"))
        for rule in read_rules("passwords.toml")
        for match in rule.find(text)
    )


def patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the data."""
    return patterns_of(read_rules("passwords.toml"))


def _is_made_up(value: str) -> bool:
    """Whether a value is one that somebody made up: no word, no measure, no placeholder, no expression."""
    if len(value) < 4 or _CODE.search(value) or _MEASURE.fullmatch(value) or _PLACEHOLDER.fullmatch(value):
        return value.isdigit() and len(value) >= 6
    letters = any(map(str.isalpha, value))
    return letters and any(char.isdigit() or char in _STRONG for char in value)
