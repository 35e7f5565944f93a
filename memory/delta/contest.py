"""Contest: a lesson supersedes advice that has just failed, where both are about the same subject.

The writer names the contested bullets, because it knows whose advice the failed answer followed. This module
decides which of them the lesson corrects: a rival by the guards, or a text that shares enough words of the
subject. Bullets that repeat the failed advice in other words are superseded too. Superseded bullets can be
restored, and the lesson takes over their words as keywords. The core is never contested.
"""

from __future__ import annotations

from collections.abc import Iterable

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.search.tokenize import terms
from ace_graph.memory.similarity.compare import compare

__all__ = ["contests", "repeats", "shared_subject"]

_SHARED = 0.4
"""The share of the shorter text's content terms that two texts about one subject have in common."""

_SHARED_TERMS = 2
"""The least number of such terms: one common word is not a subject."""

_REPEATED = 0.5
"""The share of its terms, and of those that the lesson lacks, that a repeat has of the failed advice."""

_SAME_SUBJECT = 0.75
"""The share of the common terms of failed advice and lesson (the subject) that a repeat must have.

Without this condition the same claim about other subjects was superseded too: 22 bullets in a simulation of
600 turns.
"""


def contests(lesson: Bullet, failed: Bullet, similarity: float) -> bool:
    """Whether `lesson` supersedes `failed`, whose advice has just failed on evidence.

    A lesson in quarantine contests nothing, and no lesson contests the core. `similarity` is the
    policy's; a lesson that says the same as the failed advice does not correct it.
    """
    if not _contestable(lesson, failed):
        return False
    outcome = compare(lesson, failed, similarity).outcome
    return outcome == "rival" or (outcome == "different" and shared_subject(lesson, failed) >= _SHARED)


def repeats(failed: Bullet, lesson: Bullet, others: Iterable[Bullet], similarity: float) -> list[Bullet]:
    """Return those of `others` that repeat the failed advice in other words.

    The terms of `failed` that `lesson` lacks are the failed claim, the common terms are the subject. A bullet
    repeats the advice if it has half of the claim and three quarters of the subject, and shares half of its
    terms with `failed`. A bullet that says the same as the lesson is no repeat.
    """
    mine, corrected = _terms(failed), _terms(lesson)
    denied, subject = mine - corrected, mine & corrected
    found: list[Bullet] = []
    for other in others:
        theirs = _terms(other)
        shared = len(mine & theirs)
        near = shared >= _SHARED_TERMS and shared >= _REPEATED * min(len(mine), len(theirs))
        known = theirs | frozenset(terms(" ".join(other.keywords)))
        near = near and len(subject & known) >= _SAME_SUBJECT * len(subject)
        if near and denied and len(denied & theirs) >= _REPEATED * len(denied):
            confirmed = compare(lesson, other, similarity).outcome == "same"
            if _contestable(lesson, other) and other.id != failed.id and not confirmed:
                found.append(other)
    return found


def shared_subject(a: Bullet, b: Bullet) -> float:
    """Return the share (0-1) of the shorter text's content terms that the other has too.

    0 where fewer than two terms are shared.
    """
    first, second = _terms(a), _terms(b)
    shared = len(first & second)
    return shared / min(len(first), len(second)) if shared >= _SHARED_TERMS else 0.0


def _contestable(lesson: Bullet, failed: Bullet) -> bool:
    quarantined = "quarantined" in (lesson.status, failed.status)
    return lesson.id != failed.id and not failed.core and not quarantined


def _terms(bullet: Bullet) -> frozenset[str]:
    return frozenset(terms(bullet.content))
