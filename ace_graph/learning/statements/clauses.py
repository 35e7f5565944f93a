"""Splits a sentence into clauses that each say one thing: "call me Mia and I have dyslexia" has two.

A sentence is split at "and", "but" or a comma where the rest begins a statement of its own, and always behind
a name. What goes on without "I" ("I'm 12 and live in Rome") is completed with it. "Remember that my sister
and I share a room" stays whole, because "my sister" alone says nothing. What a clause asks for is decided in
explicit.py.

A question that is joined to a statement or a request ("forget my name and what is 2+2?") is a part of its
own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ace_graph.learning.statements.denials import denied, new_name
from ace_graph.learning.statements.forget_requests import FORGET
from ace_graph.learning.statements.rules import (
    FACT,
    FILLER,
    LEAD,
    NEGATED,
    PLAIN_FACTS,
    STYLE,
    Found,
    rule_of,
)
from ace_graph.learning.statements.sentences import Sentence, skip

__all__ = ["EDGES", "Clause", "clauses", "question_apart"]

_JOINT = re.compile(r",? (?:and|but|then|also) |, | [-–—] ", re.IGNORECASE)
_QUESTION = re.compile(
    r"(?:(?:and|then|also|so|now|please)\b,? ){0,3}"
    r"(?:(?:what|who|whom|whose|when|where|which|why|how)(?:'?s|'?re)?"
    r"|is|are|was|were|do|does|did|can|could|will|would|should|shall|may) \S+ \S",
    re.IGNORECASE,
)
"""How a question of three words or more begins; a shorter one ("am I?") belongs to what is before it."""
_POLITE = re.compile(r"(?:\w+,? )?(?:can|could|would) you ", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:i|we|you|they)\b", re.IGNORECASE)
_VERB = re.compile(
    r" (?:am|are|can|can't|had|has|have|is|likes?|lives?|needs?|plays?|prefers?|starts?|wants?|was|were) ",
    re.IGNORECASE,
)
_DONT_FORGET = re.compile(r"don'?t forget|do not forget", re.IGNORECASE)
_SHORTENED = re.compile(r"(?:now )?(?:am|live) \S", re.IGNORECASE)
"""How a plain fact goes on that does not name the learner again: "I'm 12 and live in Rome"."""
_SHORTENED_CHARS = 80
_GOES_ON = frozenset({"name", "age", "grade", "home"})
_COURTESY = frozenset({"please", "thanks", "thank you", "ok", "okay", "bye"})
_NOT_NAMED = "not "
"""How a clause begins that says only which name is wrong: "I'm called Max, not Mia"."""
EDGES = ".!;,:。！ "
"""What is taken off the end of a clause."""


class Clause(NamedTuple):
    """A clause without the fillers before it; `masked` as in a sentence.

    `cut`: its end was not read. `rest`: it stands behind a name. `unsure`: a request in it may be none, since
    it stands in a question, or its verb belongs to somebody ("I get nervous and forget my name").
    """

    text: str
    masked: str
    cut: bool = False
    rest: bool = False
    unsure: bool = False

    @property
    def words(self) -> str:
        """The clause without the marks at its end."""
        return self.text.strip().rstrip(EDGES)

    @property
    def plain(self) -> str:
        """Its words as rules read them: with quotations masked and plain apostrophes."""
        return self.masked.strip().rstrip(EDGES)

    @property
    def negated(self) -> bool:
        """Whether it asks not to remember, keep or call."""
        return NEGATED.search(self.masked) is not None and _DONT_FORGET.search(self.masked) is None


def question_apart(sentence: Sentence) -> list[Sentence]:
    """Return a statement or request and the question joined to it as two sentences, others as they are.

    A request to forget in the form of a polite question ("can you forget my name?") does not ask.
    """
    text, masked, _, cut = sentence
    requests = FORGET.match(masked, skip(FILLER, masked)) is not None
    polite = requests and _POLITE.match(masked) is not None
    whole = sentence._replace(asks=False) if sentence.asks and polite else sentence
    if not (sentence.asks or requests) or (_QUESTION.match(masked) and not polite):
        return [whole]
    joints = (joint for joint in _JOINT.finditer(masked) if _QUESTION.match(masked, joint.end()))
    joint = next(joints, None)
    if joint is None:
        return [whole]
    behind = Sentence(text[joint.end() :], masked[joint.end() :], sentence.asks, cut)
    return [Sentence(text[: joint.start()], masked[: joint.start()]), behind]


def clauses(sentence: Sentence) -> Iterator[Clause]:
    """Yield the clauses of `sentence` that may be statements or requests, in order."""
    text, masked = sentence.text, sentence.masked
    begin, rest, unsure, subject = skip(FILLER, masked), False, sentence.asks, ""
    found, found_at = None, -1
    for joint in _JOINT.finditer(masked, begin):
        if found_at != begin:
            found, found_at = rule_of(masked, begin), begin
        behind = skip(FILLER, masked, joint.end())
        named = found is not None and found[0].slot == "name"
        goes_on = (subject or _states_slot(found)) and _goes_on(masked, behind)
        if named or goes_on or _begins(masked, begin, found, joint.start(), behind):
            said, shown = text[begin : joint.start()], masked[begin : joint.start()]
            yield from _said(Clause(subject + said, subject + shown, False, rest, unsure))
            unsure = unsure or _SUBJECT.match(masked, begin) is not None
            begin, rest, subject = behind, named, "I " if goes_on else ""
    yield from _said(Clause(subject + text[begin:], subject + masked[begin:], sentence.cut, rest, unsure))


def _said(clause: Clause) -> Iterator[Clause]:
    plain = clause.text.strip(EDGES).casefold()
    beside_name = clause.rest and plain and plain not in _COURTESY and not plain.startswith(_NOT_NAMED)
    if LEAD.match(clause.masked) or beside_name:
        yield clause


def _states_slot(found: Found | None) -> bool:
    return found is not None and found[0].slot in _GOES_ON


def _goes_on(masked: str, behind: int) -> bool:
    """Whether a plain fact stands at `behind` that leaves out "I"."""
    if _SHORTENED.match(masked, behind) is None:
        return False
    found = rule_of("I " + masked[behind : behind + _SHORTENED_CHARS])
    return found is not None and found[0] in PLAIN_FACTS


def _begins(masked: str, begin: int, found: Found | None, end: int, behind: int) -> bool:
    """Whether a clause of its own begins at `behind`, and the one before it is complete at `end`."""
    if LEAD.match(masked, behind) is None or (found is not None and not _complete(masked, found, end)):
        return False
    if rule_of(masked, behind) is not None or FORGET.match(masked, behind) is not None:
        return True
    if denied(masked[begin:end]) is not None and new_name(masked[behind:].rstrip(EDGES)) is not None:
        return True  # "I'm not called Mimi any more, I'm Max"
    states = (
        found is not None
        or denied(masked[begin:end]) is not None
        or FACT.pattern.match(masked, begin) is not None
    )
    return states and any(rule.pattern.match(masked, behind) for rule in (FACT, STYLE))


def _complete(masked: str, found: Found, end: int) -> bool:
    rule, match = found
    if match.end() > end:
        return False
    if not rule.fact:
        return True
    fact = masked[match.end() : end]
    return any(say(fact) is not None for say in (FACT.pattern.match, rule_of, _VERB.search))
