"""Neighbours: bullets of the same turn as a good one, and of the turns before and after it, lift each other.

What was said together belongs together: a question about one fact of a turn is often about another, whose
words it does not share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ace_graph.memory.search.index import Index

__all__ = ["Lift", "lifts"]

_DONORS = 3
"""So many of the best bullets lift their neighbours."""

_LIFT = 0.3
"""The share of its score that a bullet gives to each neighbour."""


class Lift(NamedTuple):
    """What is added to a bullet's score, and the id of the neighbour that it comes from."""

    score: float
    neighbour: str


def lifts(scores: Mapping[str, float], index: Index) -> dict[str, Lift]:
    """Return what is added to the scores of the best bullets' neighbours: the greatest lift of each counts.

    Neighbours need no score of their own.
    """
    if not index.conversations:
        return {}
    found: dict[str, Lift] = {}
    for donor in _best(scores):
        for key in _neighbours(donor, index):
            lift = _LIFT * scores[donor]
            if lift > (found[key].score if key in found else 0.0):
                found[key] = Lift(lift, donor)
    return found


def _best(scores: Mapping[str, float]) -> Iterable[str]:
    return sorted(scores, key=lambda key: (-scores[key], key))[:_DONORS]


def _neighbours(key: str, index: Index) -> Iterator[str]:
    origin = index.documents[key].origin
    if origin is None or origin.turn is None:
        return
    turns = index.conversations.get(origin.conversation or "", (origin.turn,))
    at = turns.index(origin.turn)
    for turn in turns[max(0, at - 1) : at + 2]:
        yield from (other for other in index.turns.bullets(origin.conversation, turn) if other != key)
