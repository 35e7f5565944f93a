"""The gate and the cutoff by meaning, where there are similarities of bullets to the question.

Words and meaning are evidence of one thing: a bullet that shares a few words and is rather near has to do
with the question, as one does that shares many or is very near. So the gate is open where the sum of both
reaches a limit, and where one bullet is clearly nearer than all others. Barely open, it lets few lines
through; the wider open, the more, until one bullet covers so much of the question that it is enough. Limits
were tuned on the halves for tuning of benchmarks/quality (conversations, retrieval).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ace_graph.memory.retrieval.relevance import Hit

__all__ = ["OPENS", "is_open", "least_score", "uses_meaning"]

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
