"""The parts of the access part that grow with a memory, and what one commit moves of them.

A commit stores only what it moved (`Touches`). `after_touches` is the one rule by which these rows are
folded, for the writer as for a reader; DAYS_KEPT acts in it, so it belongs to the format of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from hashlib import blake2b
from types import MappingProxyType
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from ace_graph.base.copy_on_write import CopyOnWrite
from ace_graph.base.frozen import Frozen
from ace_graph.memory.bullet import LEFT_OUT, Count
from ace_graph.memory.search.tokenize import terms

# The terms of a learner's questions: which of them are chat, because they are asked more often than held.
#
# What is asked in many questions and stands in few bullets says little about what a question is about:
# "hello", "stuck", "for my boss". The terms are counted by lossy counting (Manku and Motwani, VLDB 2002):
# after every 50 questions each count loses one, so what is asked in fewer than one of 50 is forgotten, and
# the table stays small. After 1,000 questions all counts are halved, so what somebody asked long ago fades.


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
class QuestionTerms:
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


def after_questions(held: QuestionTerms, questions: Iterable[Iterable[str]]) -> QuestionTerms:
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
    return QuestionTerms(number, counts.frozen())


# The stamps of use in an effect, with which those of a commit can be undone.

V = TypeVar("V", int, str)


class Uses(Frozen):
    """An access clock, and stamps by bullet id; 0 stands for a bullet without a stamp."""

    clock: Count = 0
    stamps: dict[str, Count] = Field(default_factory=dict)


def differences(before: Mapping[str, V], after: Mapping[str, V], none: V) -> dict[str, V]:
    """Return the values of `before` that are different in `after`; `none` for those that only `after` has."""
    return {key: before.get(key, none) for key in {**before, **after} if before.get(key) != after.get(key)}


def restore(values: dict[str, V], earlier: Mapping[str, V]) -> None:
    """Set stamps, or links, to their earlier values, in place; 0 or "" stand for none."""
    for key, value in earlier.items():
        if value:
            values[key] = value
        else:
            values.pop(key, None)


DAYS_KEPT = 1_000
"""Part of the format of `Touches`: another number needs a new format."""


@dataclass(frozen=True)
class Stamps:
    """The stamps, their earlier values, the days and the asked terms of an access part; see `Access`."""

    stamps: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    earlier: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    days: tuple[tuple[int, date], ...] = ()
    asked: QuestionTerms = QuestionTerms()


class Touches(Frozen):
    """What one commit moved: stamps by id (0: the bullet has none any more), and the day that it began.

    `clock` is the access clock after the commit, `asked` are the terms of its turn's question. Where the
    content changed, the earlier values start anew.
    """

    format: Literal[1] = 1
    clock: Count
    moved: dict[str, Count]
    content_changed: bool
    day: Annotated[date | None, LEFT_OUT] = None
    asked: Annotated[tuple[str, ...], LEFT_OUT] = ()


def moved_stamps(
    clock: int, stamps: Mapping[str, int], ids: Iterable[str], gone: Iterable[str], restamped: Uses | None
) -> tuple[int, dict[str, int]]:
    """Return the clock after a commit, and the stamps that it moves; 0 for those that go.

    `ids` are stamped with the new clock, which never goes back here; `restamped` are stamps of restored
    bullets, `gone` lose theirs.
    """
    now = max(clock, restamped.clock if restamped else 0) + 1
    after = dict.fromkeys(ids, now)
    if restamped:
        after.update(restamped.stamps)
    after.update(dict.fromkeys(gone, 0))
    return now, {key: stamp for key, stamp in after.items() if stamps.get(key, 0) != stamp}


def after_touches(held: Stamps, touches: Iterable[Touches]) -> Stamps:
    """Return the stamps after these commits, with one copy of what they move."""
    stamps, earlier, days = CopyOnWrite(held.stamps), CopyOnWrite(held.earlier), held.days
    touches = tuple(touches)
    for each in touches:
        if each.content_changed:
            earlier.replace({})
        elif each.moved:
            known = earlier.writable()
            for key in each.moved:
                known.setdefault(key, stamps.now.get(key, 0))
        if each.moved:
            restore(stamps.writable(), each.moved)
        if each.day is not None:
            days = (*days, (each.clock, each.day))[-DAYS_KEPT:]
    asked = after_questions(held.asked, (each.asked for each in touches))
    return Stamps(stamps.frozen(), earlier.frozen(), days, asked)


def mark_after(mark: str, op_id: str) -> str:
    """Return the mark of an access part: it names the commits that led to it, in their order."""
    return blake2b(f"{mark} {op_id}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
