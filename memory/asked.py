"""The terms of a learner's questions: which of them are chat, because they are asked more often than held.

What is asked in many questions and stands in few bullets says little about what a question is about: "hello",
"stuck", "for my boss". The terms are counted by lossy counting (Manku and Motwani, VLDB 2002): after every 50
questions each count loses one, so what is asked in fewer than one of 50 is forgotten, and the table stays
small. After 1,000 questions all counts are halved, so what somebody asked long ago fades.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ace_graph.memory.delta.copies import CopyOnWrite
from ace_graph.memory.search.tokenize import terms

__all__ = ["Asked", "after_questions", "asked_terms"]

_READ_CHARS = 2_000
_TERMS, _TERM_CHARS = 64, 40
"""Of one question."""

_BUCKET = 50
_FADING = 1_000
"""Both are part of the format of the rows that are folded by `after_questions`."""

_ENOUGH = 20
"""Questions from which on the counts say something."""

_SHARE = 0.02
_RATIO = 2.0


@dataclass(frozen=True)
class Asked:
    """How many questions were counted, and in how many of them each term was."""

    questions: int = 0
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def specificity(self, term: str, held: float) -> float:
        """Return how much a term says of what a question is about (0-1).

        `held` is the share of bullets with it. It is 1 for a term of less than every 50th question, and for
        one that bullets hold half as often as questions do.
        """
        if self.questions < _ENOUGH:
            return 1.0
        share = self.counts.get(term, 0) / self.questions
        return 1.0 if share < _SHARE else min(1.0, _RATIO * held / share)


def asked_terms(question: str) -> tuple[str, ...]:
    """Return the terms of a question that are counted, each once: of its beginning, without numbers."""
    found = dict.fromkeys(terms(question[:_READ_CHARS]))
    return tuple(term for term in found if not term[0].isdigit() and len(term) <= _TERM_CHARS)[:_TERMS]


def after_questions(held: Asked, questions: Iterable[Iterable[str]]) -> Asked:
    """Return the counts after these questions, each given as its terms; one without terms is not counted."""
    number, counts = held.questions, CopyOnWrite(held.counts)
    for asked in questions:
        if not asked:
            continue
        number, table = number + 1, counts.writable()
        for term in asked:
            table[term] = table.get(term, 0) + 1
        if number % _BUCKET == 0:
            counts.replace({term: count - 1 for term, count in table.items() if count > 1})
        if number >= _FADING:
            number //= 2
            counts.replace({term: count // 2 for term, count in counts.now.items() if count > 1})
    return Asked(number, counts.frozen())
