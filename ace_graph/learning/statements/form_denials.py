"""Finds which kept statement a learner denies ("Ich wohne nicht mehr in Paris"), in languages with tables.

A clause without its words of denial is what is denied. Only a statement that says exactly that is meant: the
same words, or the same value of a name, an age, a home. English has its rules in denials.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ace_graph.languages.forms import any_of
from ace_graph.languages.tables import FIRST, SPACELESS, languages, phrases
from ace_graph.learning.statements.forget_requests import Own
from ace_graph.learning.statements.forms import slot_stated
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.search.tokenize import terms

__all__ = ["claim_denied", "denied_statement", "is_denied_at_edge", "patterns"]


def claim_denied(clause: str, language: str) -> str | None:
    """Return what a clause denies, as if it were said; None where it denies nothing."""
    words = clause.replace("’", "'")
    replaced = _replaced(language)
    claim = _denying(language).sub(lambda found: replaced[found[0].casefold()], words)
    return " ".join(claim.split()) if claim != words else None


def is_denied_at_edge(words: str, language: str) -> bool:
    """Whether words begin or end with a denial, so that a request with them asks for the contrary."""
    said = words.casefold().split()
    edges = () if language in SPACELESS else (*said[:1], *said[-1:])
    return not _replaced(language).keys().isdisjoint(edges)


def denied_statement(claim: str, language: str, own: Own) -> Bullet | None:
    """Return the learner's statement that says the claim, None for none."""
    stemmer = FIRST if language in SPACELESS else language
    said, slot = frozenset(terms(claim, stemmer)), slot_stated(claim, language)
    value = said - _form_terms(language, slot) if slot is not None else frozenset[str]()
    for bullet, _ in own.bullets():
        content = bullet.content.partition(": ")[2]
        if claim_denied(content, language) is not None or not said:
            continue
        known = frozenset(terms(content, stemmer))
        if slot is not None and slot == bullet.slot and value and value <= known:
            return bullet
        if said == known or (language in SPACELESS and said <= known):
            return bullet
    return None


def patterns() -> list[re.Pattern[str]]:
    """Return every pattern that is made of the tables."""
    return [_denying(language) for language in languages("statements") if language != FIRST]


@cache
def _replaced(language: str) -> Mapping[str, str]:
    """What is said in place of each phrase of denial, nothing for most."""
    pairs = (line.partition("=") for line in phrases(language, "statements", "denials"))
    return MappingProxyType({phrase.casefold(): said for phrase, _, said in pairs})


@cache
def _denying(language: str) -> re.Pattern[str]:
    listed = any_of(_replaced(language))
    edge = "" if language in SPACELESS else r"\b"
    return re.compile(f"{edge}(?:{listed}){edge}", re.IGNORECASE)


@cache
def _form_terms(language: str, slot: str) -> frozenset[str]:
    """The words by which a value is stated, which say nothing of the value itself."""
    stemmer = FIRST if language in SPACELESS else language
    return frozenset(terms(" ".join(phrases(language, "statements", slot)), stemmer))
