"""Reads what a learner denies of themselves ("I don't have dyslexia"), and which kept statement says it.

A denial is turned into what it denies ("I have dyslexia"). A kept statement that says exactly that is
forgotten; one that says something like it stays, and the answer says so.
"""

from __future__ import annotations

import re

from ace_graph.learning.statements.forget_requests import Own
from ace_graph.learning.statements.rules import rule_of
from ace_graph.learning.statements.slots import says_more
from ace_graph.learning.statements.statement import ATTRIBUTION
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.search.tokenize import terms

_COVERAGE = 0.6
"""Share of a denial's words that a statement must hold to be like what is denied."""

_DENIALS = tuple(
    (re.compile(pattern, re.IGNORECASE), affirmed)
    for pattern, affirmed in (
        (r"i(?:'?m| am) (?:not|no longer) (?=\w)|i ain'?t (?=\w)", "I am "),
        (
            r"i (?:haven'?t|have not|have no|don'?t have|do not have|haven'?t got|have not got) (?:any )?",
            "I have ",
        ),
        (
            r"i (?:don'?t|do not|no longer) "
            r"(?=(?:live|like|love|speak|play|study|prefer|need|want|use|go to|wear)\b)",
            "I ",
        ),
        (r"my name(?: is not| isn'?t|'?s not| is no longer) (?=\w)", "my name is "),
        (r"(?:do not|don'?t) call me (?=\w)", "call me "),
        (r"(?:it'?s|it is|that'?s|that is) (?:not true|wrong|false) that (?=\w)", ""),
    )
)
_ANY_MORE = re.compile(r" (?:any ?more|any longer|at all|now)$", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|never|\w{2,6}n['’]?t)\b", re.IGNORECASE)
_BY_ITSELF = frozenset(
    (
        "call",
        "name",
        "live",
        "like",
        "love",
        "speak",
        "play",
        "studi",
        "prefer",
        "need",
        "want",
        "use",
        "wear",
    )
) | {"year", "old"}
"""Terms that say nothing of who or what: "I don't like this"."""
_NEW_NAME = re.compile(r"(?:[Ii](?:'?m| am)|[Ii]t(?:'?s| is)) (?:now )?([^\W\d_a-z][\w'’-]{0,40})(?: now)?")


def denied(words: str) -> str | None:
    """Return what a clause denies, as if it were said; None where it denies nothing."""
    said = _ANY_MORE.sub("", words)
    found = ((pattern.match(said), affirmed) for pattern, affirmed in _DENIALS)
    return next((affirmed + said[match.end() :] for match, affirmed in found if match is not None), None)


def contradicted(claim: str, own: Own) -> tuple[Bullet, bool] | None:
    """Return the learner's statement that says `claim`, and whether it says exactly that; None for none."""
    said, rule = set(terms(claim)), rule_of(claim)
    slot, telling = rule[0].slot if rule is not None else None, said - _BY_ITSELF
    near: Bullet | None = None
    for bullet, known in own.bullets():
        if not telling or _NEGATION.search(bullet.content):
            continue
        if known == said:
            return bullet, True
        if slot is not None and slot == bullet.slot and telling & known:
            return bullet, not says_more(bullet.content.removeprefix(ATTRIBUTION))
        if len(said & known) / len(said) >= _COVERAGE and telling & known:
            near = near or bullet
    return (near, False) if near is not None else None


def new_name(words: str) -> str | None:
    """Return the name in a clause that follows the denial of another one ("..., I'm Max"), None for none."""
    found = _NEW_NAME.fullmatch(words)
    return found[1] if found is not None else None
