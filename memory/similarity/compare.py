"""Near-duplicates: do two bullets say the same?

Similarity alone can't decide: texts that differ only in a number or a "not" are more alike than most
paraphrases. So a pair that is similar enough is then checked by the guards, and any doubt keeps it apart: a
missed merge costs a line of the prompt, a wrong one loses knowledge. The index nominates the pairs
(`Index.nominate`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rapidfuzz import fuzz

from ace_graph.memory.bullet import PROFILE_SECTIONS, Bullet
from ace_graph.memory.classify import has_stated_type
from ace_graph.memory.similarity.claim import Claim, parse_claim
from ace_graph.memory.similarity.guards import Verdict, check_claims
from ace_graph.memory.similarity.paraphrase import say_the_same
from ace_graph.memory.similarity.typos import correct_typos, languages_of

_MIN_LETTER_SIMILARITY = 0.6
_MIN_WORD_SIMILARITY = 0.5
"""Below both, two texts are different without further checks."""
_SENTENCE_WORDS = 5
_MIN_WORDS_REWORDED = 0.3
"""Below, sentences are not parsed: few rewordings have other words only."""
_REWORDED = 0.95
"""The similarity of two sentences that say the same in other words."""
_MOST_TYPOS = 8
"""More words than this are not mistyped in one text."""
_NEVER_REWORDED = frozenset({"owner", "number", "unit"})


@dataclass(frozen=True)
class ClaimComparison:
    """`score` is the similarity of what the texts claim, 0-1 (0 for unlike texts).

    `guard` names what differs: number, unit, negation, antonym, words, subject, direction, symbol, order.
    `reworded` says that two texts are the same though their words or their order are not: "Wash the cups" and
    "the cups should be washed".
    """

    outcome: Literal["same", "rival", "different"]
    score: float
    guard: str | None = None
    reworded: bool = False


def compare(a: Bullet, b: Bullet, threshold: float) -> ClaimComparison:
    """Compare the texts of two bullets: `same`, `rival` (same subject, another claim) or `different`.

    `threshold` (0-1) is the similarity that `same` needs when no guard fires. Two values of one profile
    slot are rivals whatever their words.
    """
    slotted = a.slot is not None and a.slot == b.slot
    topics = _compatible_topics(a, b)
    return _compare_texts(a.content, b.content, threshold, slotted=slotted, compatible_topics=topics)


@lru_cache(maxsize=8_192)  # the lines of a prompt meet again in the next one
def _compare_texts(
    a: str, b: str, threshold: float, *, slotted: bool, compatible_topics: bool
) -> ClaimComparison:
    if not slotted and _hardly_overlap(a, b):
        return ClaimComparison("different", 0.0)
    first, second = parse_claim(a), parse_claim(b)
    # How similar two claims are, by letters or by words, whichever is more; 0 for unlike ones
    words = _words_in_common(first, second)
    letters = fuzz.ratio(first.key, second.key, score_cutoff=100 * _MIN_LETTER_SIMILARITY) / 100
    score = max(letters, words) if letters or words >= _MIN_WORD_SIMILARITY else 0.0
    verdict = _check(a, b, score) if score else Verdict("slot" if slotted else None)
    if score and verdict.guard is None and verdict.typos:
        score = max(score, 1 - verdict.typos / min(len(first.key), len(second.key)))
    if score and verdict.guard is None and score >= threshold:
        return ClaimComparison("same", score)
    if threshold <= _REWORDED and _is_rewording(a, b, verdict.guard):
        return ClaimComparison("same", _REWORDED, reworded=True)
    rival = slotted or (verdict.guard is not None and verdict.rival and compatible_topics)
    return ClaimComparison("rival" if rival else "different", score, verdict.guard)


def are_distinct(a: Bullet, b: Bullet) -> bool:
    """Whether somebody said that the two, or bullets that they came from, say different things."""
    return not (
        {a.id, *a.consolidated_from}.isdisjoint(b.distinct_from)
        and {b.id, *b.consolidated_from}.isdisjoint(a.distinct_from)
    )


def mergeable_scope(a: Bullet, b: Bullet) -> bool:
    """Whether two bullets may merge if they say the same.

    They must have one polarity, status and slot, and compatible topics (equal, or one has none). Memory
    types that somebody stated must be equal; one that the rules inferred keeps nothing apart. A part of the
    profile merges only within its own section.
    """
    profile = a.section in PROFILE_SECTIONS or b.section in PROFILE_SECTIONS
    return (
        a.polarity == b.polarity
        and a.status == b.status
        and a.slot == b.slot
        and (not profile or a.section == b.section)
        and _compatible_topics(a, b)
        and (a.memory_type == b.memory_type or not (has_stated_type(a) and has_stated_type(b)))
    )


def _hardly_overlap(a: str, b: str) -> bool:
    """Whether two sentences share under a fifth of their words; a cheap check before they are parsed."""
    first, second = set(a.casefold().split()), set(b.casefold().split())
    fewer = min(len(first), len(second))
    return fewer >= _SENTENCE_WORDS and len(first & second) * 5 < fewer


def _check(a: str, b: str, score: float) -> Verdict:
    first, second = parse_claim(a), parse_claim(b)
    verdict = check_claims(first, second)
    few = len(first.bag ^ second.bag) <= 2 * _MOST_TYPOS
    if verdict.guard is not None and score >= _MIN_WORD_SIMILARITY and few:
        return _check_without_typos(a, b) or verdict
    return verdict


def _is_rewording(a: str, b: str, guard: str | None) -> bool:
    """Whether two English sentences have one statement: what a guard found is then another wording."""
    first, second = parse_claim(a), parse_claim(b)
    if guard in _NEVER_REWORDED or _words_in_common(first, second) < _MIN_WORDS_REWORDED:
        return False
    return first.language == second.language == "english" and say_the_same(a, b)


def _check_without_typos(a: str, b: str) -> Verdict | None:
    """Return the verdict on two texts with corrected steering words, None where there is no typo in them."""
    one, other = parse_claim(a), parse_claim(b)
    guessed = (one.language, other.language)
    languages = languages_of(one.surfaces.values(), other.surfaces.values(), guessed)
    first, in_first = correct_typos(a, b, languages)
    second, in_second = correct_typos(b, a, languages)
    if not in_first + in_second:
        return None
    verdict = check_claims(parse_claim(first), parse_claim(second))
    return verdict._replace(typos=verdict.typos + in_first + in_second)


def _words_in_common(a: Claim, b: Claim) -> float:
    return 2 * len(a.bag & b.bag) / (len(a.bag) + len(b.bag))


def _compatible_topics(a: Bullet, b: Bullet) -> bool:
    return a.topic is None or b.topic is None or a.topic.casefold() == b.topic.casefold()
