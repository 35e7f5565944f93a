"""Contest: a lesson takes the place of advice that has just failed, where both are about one subject.

The contested bullets are named by the writer, which knows whose advice the failed answer followed. Which
of them the lesson really corrects is decided here, against the state at hand: a rival by the guards, or a
text that shares enough of the subject's words. The same advice in other words goes with it. What loses is
archived with a link, so it can be restored, and the lesson learns its words, so it is found by them too.

Does not: touch the core, which only the learner or the host may change, or judge who failed.
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
"""And so many terms at least: one word in common is no subject."""

_REPEATED = 0.5
"""The share of its own words, and of what the lesson denies of it, in which failed advice is repeated."""

_SAME_SUBJECT = 0.75
"""The share of the words that failed advice and lesson have in common: only what has them, too, repeats it.

Without it the same claim about another subject went along: 22 bullets in a simulated life of 600 turns.
"""


def contests(lesson: Bullet, failed: Bullet, similarity: float) -> bool:
    """Whether `lesson` takes the place of `failed`, whose advice has just failed on evidence.

    A lesson in quarantine contests nothing, and no lesson contests the core. `similarity` is the
    policy's: what says the same as the failed advice is no correction of it.
    """
    if not _contestable(lesson, failed):
        return False
    outcome = compare(lesson, failed, similarity).outcome
    return outcome == "rival" or (outcome == "different" and shared_subject(lesson, failed) >= _SHARED)


def repeats(failed: Bullet, lesson: Bullet, others: Iterable[Bullet], similarity: float) -> list[Bullet]:
    """Return those of `others` that give the failed advice in other words.

    What `failed` says and `lesson` does not is the claim that failed, what both say is the subject. A bullet
    that has half of the claim and three quarters of the subject, and shares half of its terms with the failed
    one, repeats it. One that says what the lesson says does not, and neither does the same claim about
    something else.
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
            told_again = compare(lesson, other, similarity).outcome == "same"
            if _contestable(lesson, other) and other.id != failed.id and not told_again:
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
