"""Near-duplicates: do two bullets say the same?

Similarity alone can't decide: texts that differ only in a number or a "not" are more alike than most
paraphrases. So a pair that is similar enough is then checked by the guards, and any doubt keeps it apart: a
missed merge costs a line of the prompt, a wrong one loses knowledge. The index nominates the pairs
(`Index.nominate`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rapidfuzz import fuzz

from ace_graph.memory.bullet import PROFILE_SECTIONS, Bullet
from ace_graph.memory.similarity.claim import Claim, parse_claim
from ace_graph.memory.similarity.guards import Verdict, check_claims
from ace_graph.memory.similarity.typos import correct_typos

__all__ = ["ClaimComparison", "are_distinct", "compare", "mergeable_scope"]

_MIN_LETTER_SIMILARITY = 0.6
_MIN_WORD_SIMILARITY = 0.5
"""Below both, two texts are different without further checks."""

_SENTENCE_WORDS = 5


@dataclass(frozen=True)
class ClaimComparison:
    """`score` is the similarity of what the texts claim, 0-1 (0 for unlike texts).

    `guard` names what differs: number, unit, negation, antonym, words, subject, direction, symbol, order.
    """

    outcome: Literal["same", "rival", "different"]
    score: float
    guard: str | None = None


def compare(a: Bullet, b: Bullet, threshold: float) -> ClaimComparison:
    """Compare the texts of two bullets: `same`, `rival` (same subject, another claim) or `different`.

    `threshold` (0-1) is the similarity that `same` needs when no guard fires. Two values of one profile
    slot are rivals whatever their words.
    """
    slotted = a.slot is not None and a.slot == b.slot
    if not slotted and _hardly_overlap(a.content, b.content):
        return ClaimComparison("different", 0.0)
    first, second = parse_claim(a.content), parse_claim(b.content)
    score = _similarity(first, second)
    if not score:
        return ClaimComparison("rival", score, "slot") if slotted else ClaimComparison("different", score)
    verdict = check_claims(first, second)
    if verdict.guard is not None and score >= _MIN_LETTER_SIMILARITY:
        verdict = _check_without_typos(a.content, b.content) or verdict
    if verdict.guard is None and verdict.typos:
        score = max(score, 1 - verdict.typos / min(len(first.key), len(second.key)))
    if verdict.guard is None and score >= threshold:
        return ClaimComparison("same", score)
    rival = slotted or (verdict.guard is not None and verdict.rival and _compatible_topics(a, b))
    return ClaimComparison("rival" if rival else "different", score, verdict.guard)


def are_distinct(a: Bullet, b: Bullet) -> bool:
    """Whether somebody said that the two, or bullets that they came from, say different things."""
    return not (
        {a.id, *a.consolidated_from}.isdisjoint(b.distinct_from)
        and {b.id, *b.consolidated_from}.isdisjoint(a.distinct_from)
    )


def mergeable_scope(a: Bullet, b: Bullet) -> bool:
    """Whether two bullets may merge if they say the same.

    They must have one memory type, polarity, status and slot, and compatible topics (equal, or one has
    none); a part of the profile merges only within its own section.
    """
    profile = a.section in PROFILE_SECTIONS or b.section in PROFILE_SECTIONS
    return (
        a.memory_type == b.memory_type
        and a.polarity == b.polarity
        and a.status == b.status
        and a.slot == b.slot
        and (not profile or a.section == b.section)
        and _compatible_topics(a, b)
    )


def _hardly_overlap(a: str, b: str) -> bool:
    """Whether two sentences share under a fifth of their words; a cheap check before they are parsed."""
    first, second = set(a.casefold().split()), set(b.casefold().split())
    fewer = min(len(first), len(second))
    return fewer >= _SENTENCE_WORDS and len(first & second) * 5 < fewer


def _check_without_typos(a: str, b: str) -> Verdict | None:
    """Return the verdict on two texts with corrected steering words, None where there is no typo in them."""
    languages = {"english", parse_claim(a).language, parse_claim(b).language}
    first, in_first = correct_typos(a, b, languages)
    second, in_second = correct_typos(b, a, languages)
    if not in_first + in_second:
        return None
    verdict = check_claims(parse_claim(first), parse_claim(second))
    return verdict._replace(typos=verdict.typos + in_first + in_second)


def _similarity(a: Claim, b: Claim) -> float:
    """Return how similar two claims are, by letters or by words, whichever is more; 0 for unlike ones."""
    words = 2 * len(a.bag & b.bag) / (len(a.bag) + len(b.bag))
    letters = fuzz.ratio(a.key, b.key, score_cutoff=100 * _MIN_LETTER_SIMILARITY) / 100
    return max(letters, words) if letters or words >= _MIN_WORD_SIMILARITY else 0.0


def _compatible_topics(a: Bullet, b: Bullet) -> bool:
    return a.topic is None or b.topic is None or a.topic.casefold() == b.topic.casefold()
