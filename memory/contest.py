"""Contest: a lesson takes the place of advice that has just failed, where both are about one subject.

The contested bullets are named by the writer, which knows whose advice the failed answer followed. Which
of them the lesson really corrects is decided here, against the state at hand: a rival by the guards, or a
text that shares enough of the subject's words. What loses is archived with a link, so it can be restored.

Does not: touch the core, which only the learner or the host may change, or judge who failed.
"""

from __future__ import annotations

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.similarity import compare
from ace_graph.memory.text import terms

__all__ = ["contests", "shared_subject"]

_SHARED = 0.4
"""The share of the shorter text's content terms that two texts about one subject have in common."""

_SHARED_TERMS = 2
"""And so many terms at least: one word in common is no subject."""


def contests(lesson: Bullet, failed: Bullet, similarity: float) -> bool:
    """Whether `lesson` takes the place of `failed`, whose advice has just failed on evidence.

    A lesson in quarantine contests nothing, and no lesson contests the core. `similarity` is the
    policy's: what says the same as the failed advice is no correction of it.
    """
    if lesson.id == failed.id or failed.core or "quarantined" in (lesson.status, failed.status):
        return False
    outcome = compare(lesson, failed, similarity).outcome
    return outcome == "rival" or (outcome == "different" and shared_subject(lesson, failed) >= _SHARED)


def shared_subject(a: Bullet, b: Bullet) -> float:
    """Return the share (0-1) of the shorter text's content terms that the other has too.

    0 where fewer than two terms are shared.
    """
    first, second = set(terms(a.content)), set(terms(b.content))
    shared = len(first & second)
    return shared / min(len(first), len(second)) if shared >= _SHARED_TERMS else 0.0
