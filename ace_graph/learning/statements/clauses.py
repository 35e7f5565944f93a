"""Splits a sentence into clauses that each say one thing: "call me Mia and I have dyslexia" has two.

A sentence is split at "and", "but" or a comma where the rest begins a statement of its own, and always behind
a name. "Remember that my sister and I share a room" stays whole, because "my sister" alone says nothing. What
a clause asks for is decided in explicit.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ace_graph.learning.statements.forget_requests import FORGET
from ace_graph.learning.statements.rules import FACT, FILLER, LEAD, NEGATED, STYLE, Found, rule_of
from ace_graph.learning.statements.sentences import Sentence, skip

__all__ = ["EDGES", "Clause", "clauses"]

_JOINT = re.compile(r",? (?:and|but) |, ", re.IGNORECASE)
_VERB = re.compile(
    r" (?:am|are|can|can't|had|has|have|is|likes?|lives?|needs?|plays?|prefers?|starts?|wants?|was|were) ",
    re.IGNORECASE,
)
_DONT_FORGET = re.compile(r"don'?t forget|do not forget", re.IGNORECASE)
_POLITE = frozenset({"please", "thanks", "thank you", "ok", "okay", "bye"})
EDGES = ".!;,:。！ "
"""What is taken off the end of a clause."""


class Clause(NamedTuple):
    """A clause without the fillers before it; `masked` as in a sentence.

    `cut`: its end was not read. `rest`: it stands behind a name.
    """

    text: str
    masked: str
    cut: bool = False
    rest: bool = False

    @property
    def words(self) -> str:
        """The clause without the marks at its end."""
        return self.text.strip().rstrip(EDGES)

    @property
    def negated(self) -> bool:
        """Whether it asks not to remember, keep or call."""
        return NEGATED.search(self.masked) is not None and _DONT_FORGET.search(self.masked) is None


def clauses(sentence: Sentence) -> Iterator[Clause]:
    """Yield the clauses of `sentence` that may be statements or requests, in order."""
    text, masked = sentence.text, sentence.masked
    begin, rest = skip(FILLER, masked), False
    found = rule_of(masked, begin)
    for joint in _JOINT.finditer(masked, begin):
        behind = skip(FILLER, masked, joint.end())
        named = found is not None and found[0].slot == "name"
        if named or _begins(masked, begin, found, joint.start(), behind):
            yield from _clause(text[begin : joint.start()], masked[begin : joint.start()], rest=rest)
            begin, rest = behind, named
            found = rule_of(masked, begin)
    yield from _clause(text[begin:], masked[begin:], rest=rest, cut=sentence.cut)


def _clause(text: str, masked: str, *, rest: bool, cut: bool = False) -> Iterator[Clause]:
    known = LEAD.match(masked) is not None
    plain = text.strip(EDGES).casefold()
    if known or (rest and plain and plain not in _POLITE):
        yield Clause(text, masked, cut, rest)


def _begins(masked: str, begin: int, found: Found | None, end: int, behind: int) -> bool:
    """Whether a clause of its own begins at `behind`, and the one before it is complete at `end`."""
    if LEAD.match(masked, behind) is None or (found is not None and not _complete(masked, found, end)):
        return False
    if rule_of(masked, behind) is not None or FORGET.match(masked, behind) is not None:
        return True
    states = found is not None or FACT.pattern.match(masked, begin) is not None
    return states and any(rule.pattern.match(masked, behind) for rule in (FACT, STYLE))


def _complete(masked: str, found: Found, end: int) -> bool:
    rule, match = found
    if match.end() > end:
        return False
    if not rule.fact:
        return True
    fact = masked[match.end() : end]
    return any(say(fact) is not None for say in (FACT.pattern.match, rule_of, _VERB.search))
