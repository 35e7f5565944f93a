"""The gate and the cutoff: the gate decides whether anything is shown, rank how much.

What a bullet must cover by words is weighed in `relevance`.

Where no bullet that a prompt may hold passes the gate of the question, or of one of its sentences, nothing is
shown. Otherwise the best lines are: those that score at least a share of the best one's score, of the whole
or of a sentence that is open. The share is high where the best bullet covers most of what the playbook knows
of the question, and low where every bullet shares only a little of it, for then the right one is often not
the first. It is lower for facts, but where the best one covers so little that the question may be about
something else. A bullet that covers a part of the question that no kept bullet covers is shown, too: a
question about two things gets the lessons on both. Bullets that are relevant by their topic alone are
compared with the best on that topic. Advice that failed last time is cut where a bullet on its subject was
learned or confirmed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.retrieval.query import Query
from ace_graph.memory.retrieval.relevance import Hit

# The gate and the cutoff by meaning, where there are similarities of bullets to the question.
#
# Words and meaning are evidence of one thing: a bullet that shares a few words and is rather near has to do
# with the question, as one does that shares many or is very near. So the gate is open where the sum of both
# reaches a limit, and where one bullet is clearly nearer than all others. Barely open, it lets few lines
# through; the wider open, the more, until one bullet covers so much of the question that it is enough.
# Limits were tuned on the halves for tuning of benchmarks/quality (conversations, retrieval).


OPENS = 0.37
"""What a bullet must reach: its similarity and the share of the question that it covers, summed."""
_CLEAR, _TIMES = 0.25, 2.0
"""The similarity of a bullet that opens the gate where no other is half as near."""
_MOST, _LEAST, _RANGE = 0.6, 0.12, 0.3
"""The share of the best score that a line must reach: of a gate that is barely open, and of one that is wide
open, so much above what opens it."""
_COVERED = 0.4
"""That share is never below this one of what the best bullet covers by its words."""


def uses_meaning(hits: Iterable[Hit]) -> bool:
    """Whether any bullet is near to the question; else words alone count."""
    return any(hit.near for hit in hits)


def is_open(hits: Sequence[Hit]) -> bool:
    """Whether any of the bullets has to do with the question."""
    return _strength(hits) >= OPENS or _has_clear_winner(hits)


def least_score(hits: Sequence[Hit]) -> float:
    """Return the score that a line must reach."""
    wide = min(1.0, max(0.0, _strength(hits) - OPENS) / _RANGE)
    covered = max(hit.covered for hit in hits)
    share = max(_MOST - (_MOST - _LEAST) * wide, min(_MOST, _COVERED * covered))
    return share * max(hit.score for hit in hits)


def _strength(hits: Sequence[Hit]) -> float:
    return max((hit.evidence for hit in hits), default=0.0)


def _has_clear_winner(hits: Sequence[Hit]) -> bool:
    first, second = sorted((0.0, 0.0, *(hit.near for hit in hits)), reverse=True)[:2]
    return first >= _CLEAR and first >= _TIMES * second


_SLOPE, _LEAST_SHARE, _MOST_SHARE = 0.7, 0.15, 0.6
"""The share of the best score that a line must reach: the slope times what the best covers, within limits."""
_OF_FACTS, _OF_FEW, _SURE, _ALL = 0.29, 0.36, 0.55, 0.99
"""That share where the best line is a fact, which is neither advice nor judged, and so misleads nobody.

The first where the best line covers so much that the question is surely about it, though not all: its
neighbours are shown, too. The second where it covers less.
"""
MOST_LINES = 10
"""Lines that are filled up by rank."""
_ON_TOPIC = 0.4
"""The share of the best bullet's coverage that another one of the question's topic must reach."""
_NEW_TERMS, _NEW_SHARE = 2, 0.25
"""Terms of the question that no kept bullet covers, and their share of its weight, that justify a line."""
_SUBJECT_TERMS, _SUBJECT_SHARE = 3, 0.4
"""Terms that two bullets on one subject share, of the question and of the shorter text."""
TermsOf = Callable[[Hit], frozenset[str]]


class Retrievable(NamedTuple):
    """A bullet that may be injected, how it met the question, and whether it is tried once more.

    `earlier` are the bullets whose values its line tells too, the newest first (`current_values`).
    """

    hit: Hit
    bullet: Bullet
    second_try: bool = False
    earlier: tuple[Bullet, ...] = ()


class Reach(NamedTuple):
    """The score that a bullet has in one part of the question, and the least that a line must have there."""

    score: float
    least: float


class _Bar(NamedTuple):
    """What a line must reach: a score in any part, or a share of the whole with the topic as a term.

    Where there are similarities by meaning, the only part is the question by words and meaning together.
    """

    least: Sequence[float]
    topic: float = inf
    by_meaning: bool = False

    def reached_by(self, hit: Hit) -> bool:
        if hit.on_topic and hit.on_topic >= self.topic:
            return True
        if self.by_meaning:
            return hit.score >= self.least[0]
        return any(met.score and met.score >= least for met, least in zip(hit.met, self.least, strict=True))

    def reaches(self, hit: Hit) -> Iterator[Reach]:
        scores = (hit.score,) if self.by_meaning else (met.score for met in hit.met)
        return map(Reach, scores, self.least)


class Cutoff(NamedTuple):
    """What the cutoff decided: the bullets that are kept, in no order, and what the others were cut by.

    `superseded` maps advice that failed last time to the bullet that it is cut for. `adding` are the kept
    ones that are there only because they cover what no other one covers. `bar` is None where no bullet passes
    the gate, `by_meaning` says whether similarities took part.
    """

    kept: Sequence[Retrievable]
    superseded: Mapping[str, str]
    adding: frozenset[str] = frozenset()
    bar: _Bar | None = None
    by_meaning: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the gate of the question, or of one of its sentences, is open."""
        return self.bar is not None

    def too_low(self, hit: Hit) -> Reach | None:
        """Return how far a bullet is below the least score, where it comes nearest; None if it is not."""
        if self.bar is None or self.bar.reached_by(hit):
            return None
        return max(self.bar.reaches(hit), key=lambda reach: reach.score - reach.least)

    def is_on_topic(self, hit: Hit) -> bool:
        """Whether the bullet is kept, or may be, because it is about the question's topic."""
        return self.bar is not None and bool(hit.on_topic) and hit.on_topic >= self.bar.topic


def apply_cutoff(usable: Sequence[Retrievable], query: Query, asked_of: TermsOf, terms_of: TermsOf) -> Cutoff:
    """Return the bullets that are not cut, and why the others are.

    `asked_of` tells which of the question's terms a bullet has, `terms_of` all terms of its text. Where there
    are similarities by meaning, gate and shares are those of `by_meaning`.
    """
    superseded: dict[str, str] = {}
    for item in usable:
        if item.bullet.setbacks and (rival := _superseding(item, usable, asked_of, terms_of)):
            superseded[item.hit.key] = rival
    remaining = [item for item in usable if item.hit.key not in superseded] if superseded else usable
    hits = [item.hit for item in remaining]
    by_meaning = uses_meaning(hits)
    bar = _bar_by_meaning(hits) if by_meaning else _bar(remaining, query)
    if bar is None:
        return Cutoff((), superseded, by_meaning=by_meaning)
    kept, cut = list[Retrievable](), list[Retrievable]()
    for item in sorted(remaining, key=lambda item: (-item.hit.score, item.hit.key)):
        near = len(kept) < MOST_LINES and bar.reached_by(item.hit)
        (kept if near else cut).append(item)
    adding = _covering_more(kept, cut, query, asked_of) if cut else []
    return Cutoff(kept + adding, superseded, frozenset(item.hit.key for item in adding), bar, by_meaning)


def _bar_by_meaning(hits: Sequence[Hit]) -> _Bar | None:
    """Return what a line must reach by words and meaning together, None where no bullet passes the gate."""
    return _Bar((least_score(hits),), by_meaning=True) if is_open(hits) else None


def _bar(usable: Sequence[Retrievable], query: Query) -> _Bar | None:
    """Return what a line must reach, None where no bullet passes the gate."""
    if not any(met.opens for item in usable for met in item.hit.met):
        return None
    least = [_least_score(part, usable) for part in range(len(query.parts))]
    return _Bar(least, _ON_TOPIC * max(item.hit.on_topic for item in usable))


def _least_score(part: int, usable: Sequence[Retrievable]) -> float:
    """Return the score that a line must have in a part of the question; infinite where its gate is shut."""
    met = [item.hit.met[part] for item in usable]
    if not any(one.opens for one in met):
        return inf
    best = max(range(len(met)), key=lambda place: met[place].score)
    bullet, covered = usable[best].bullet, max(one.share for one in met)
    if covered < _ALL and not (bullet.memory_type == "procedural" or bullet.helpful or bullet.harmful):
        return (_OF_FACTS if covered >= _SURE else _OF_FEW) * met[best].score
    return min(_MOST_SHARE, max(_LEAST_SHARE, _SLOPE * covered)) * met[best].score


def _covering_more(
    kept: Iterable[Retrievable], cut: Iterable[Retrievable], query: Query, asked_of: TermsOf
) -> list[Retrievable]:
    """Return the cut bullets, best first, that cover what no kept one covers."""
    uncovered = set(query.weights)
    for item in kept:
        uncovered -= asked_of(item.hit)
        if len(uncovered) < _NEW_TERMS:
            return []
    if sum(query.weights[term] for term in uncovered) < _NEW_SHARE * query.total:
        return []
    covered = query.weights.keys() - uncovered
    found: list[Retrievable] = []
    for item in sorted(cut, key=lambda item: (-item.hit.score, item.hit.key)):
        new = asked_of(item.hit) - covered
        if len(new) >= _NEW_TERMS and sum(query.weights[term] for term in new) >= _NEW_SHARE * query.total:
            covered |= new
            found.append(item)
    return found


def _superseding(
    item: Retrievable, usable: Sequence[Retrievable], asked_of: TermsOf, terms_of: TermsOf
) -> str | None:
    """Return a bullet on the subject of one that failed last time which was learned or confirmed since."""
    bullet = item.bullet
    if bullet.core:
        return None
    asked, own = asked_of(item.hit), terms_of(item.hit)
    for hit, rival, *_ in usable:
        if rival.setbacks or rival.updated_at < bullet.updated_at or asked_of(hit) != asked:
            continue
        other = terms_of(hit)
        shared = own & other
        if len(shared & asked) >= _SUBJECT_TERMS and len(shared) >= _SUBJECT_SHARE * min(
            len(own), len(other)
        ):
            return hit.key
    return None
