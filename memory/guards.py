"""The guards that keep two similar texts apart: same words, another claim.

Each guard names what differs between two readings. A guard that fires says whether the two are rivals
(the same subject, another claim: one of them is wrong here) or simply different.

Does not: measure similarity, or know bullets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from rapidfuzz.distance import OSA

from ace_graph.memory.claims import Claim, Quantity
from ace_graph.memory.lexicon import SEQUENCE, unit_of
from ace_graph.memory.opposites import contradict, exclude
from ace_graph.memory.text import spaceless

__all__ = ["Verdict", "judge"]

_SHORTEST_TYPO = 5
_LONG_WORD = 9
_WORDS_PER_TYPO = 3
_KEPT_ORDER = 0.34


class Verdict(NamedTuple):
    """The guard that fired, None when the claims are the same, and whether they contradict each other."""

    guard: str | None
    rival: bool


@dataclass(frozen=True)
class _Difference:
    """The words of each side that the other lacks, typos and compounds settled, and the typos found."""

    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    typos: Mapping[str, str]


def judge(a: Claim, b: Claim) -> Verdict:
    """Compare two readings and name the first guard that fires."""
    difference = _difference(a, b)
    numbers = _numbers_differ(a, b)
    negations = _renamed(b.negated, difference.typos) != a.negated
    words = bool(difference.only_a or difference.only_b)
    if numbers is not None:
        return Verdict(numbers, not negations and not words and _about_the_same(a, b))
    if negations:
        return Verdict("negation", not words)
    if words:
        return _judge_words(a, b, difference)
    if _sequence_differs(a, b):
        return Verdict("order", rival=False)
    return _judge_order(a, b, difference)


def _judge_words(a: Claim, b: Claim, difference: _Difference) -> Verdict:
    only_a, only_b = difference.only_a, difference.only_b
    single = len(only_a) == len(only_b) == 1
    in_claim = single and _in_claim(a, only_a[0]) and _in_claim(b, only_b[0])
    if any(exclude(x, y) for x in only_a for y in only_b):
        return Verdict("antonym", in_claim and contradict(only_a[0], only_b[0]))
    if any(map(unit_of, only_a)) and any(map(unit_of, only_b)):
        return Verdict("unit", in_claim)
    if single and a.copular and b.copular:
        named = only_a[0] in a.exact and only_b[0] in b.exact
        return Verdict("words", named) if in_claim and _same_subject(a, b) else Verdict("subject", False)
    return Verdict("words", rival=False)


def _judge_order(a: Claim, b: Claim, difference: _Difference) -> Verdict:
    mine, yours = Counter(a.bound), Counter((d, difference.typos.get(t, t)) for d, t in b.bound)
    if mine != yours:
        changed = {direction for direction, _ in [*(mine - yours), *(yours - mine)]}
        balanced = Counter(d for d, _ in a.bound) == Counter(d for d, _ in b.bound)
        reversed_ = balanced and bool(changed & SEQUENCE)
        swapped = changed <= {"before", "after", "until", "above", "below", "over", "under"}
        return Verdict("direction", reversed_ or swapped)
    if a.symbols != b.symbols:
        return Verdict("symbol", rival=False)
    if not (a.clauses and b.clauses) and not _order_kept(a.words, _renamed_words(b.words, difference.typos)):
        return Verdict("order", rival=True)
    return Verdict(None, rival=False)


def _numbers_differ(a: Claim, b: Claim) -> str | None:
    if sorted(q.value for q in a.numbers) != sorted(q.value for q in b.numbers):
        return "number"
    if sorted((q.value, q.unit) for q in a.numbers) != sorted((q.value, q.unit) for q in b.numbers):
        return "unit"
    return None


def _sequence_differs(a: Claim, b: Claim) -> bool:
    """Whether numbers or one-letter names changed places: [0, 1] and [1, 0], from y to z and from z to y."""
    if [q.value for q in a.numbers] != [q.value for q in b.numbers]:
        return sorted((q.value, q.after) for q in a.numbers) != sorted((q.value, q.after) for q in b.numbers)
    return [word for word in a.words if len(word) == 1] != [word for word in b.words if len(word) == 1]


def _about_the_same(a: Claim, b: Claim) -> bool:
    """Whether one number differs, and it is an amount: no name, no condition and no part of the subject."""
    if len(a.numbers) != len(b.numbers) or (a.copular, a.subject) != (b.copular, b.subject):
        return False
    pairs = list(enumerate(zip(a.numbers, b.numbers, strict=True)))
    changed = [(place, x, y) for place, (x, y) in pairs if (x.value, x.unit) != (y.value, y.unit)]
    if len(changed) != 1:
        return False
    place, x, y = changed[0]
    return place >= a.subject_numbers if a.copular else not (_names(x) or _names(y))


def _names(number: Quantity) -> bool:
    return bool(number.label) and not number.unit


def _in_claim(claim: Claim, word: str) -> bool:
    """Whether the word is no part of the subject."""
    return word not in claim.words[: claim.subject]


def _same_subject(a: Claim, b: Claim) -> bool:
    return a.words[: a.subject] == b.words[: b.subject]


def _difference(a: Claim, b: Claim) -> _Difference:
    """Match words that only one side has: typos to typos, a compound to its parts."""
    mine, yours = Counter(a.words), Counter(b.words)
    if mine == yours:
        return _Difference((), (), {})
    left_a, left_b = [*(mine - yours).elements()], [*(yours - mine).elements()]
    if "".join(left_a) == "".join(left_b):
        return _Difference((), (), {})
    typos: dict[str, str] = {}
    allowed = max(1, min(len(a.words), len(b.words)) // _WORDS_PER_TYPO)
    for word in list(left_a):
        twin = next((other for other in left_b if _is_typo(a, word, b, other)), None)
        if twin is not None and len(typos) < allowed:
            typos[twin] = word
            left_a.remove(word)
            left_b.remove(twin)
    return _Difference(tuple(left_a), tuple(left_b), typos)


def _is_typo(a: Claim, x: str, b: Claim, y: str) -> bool:
    """Whether one word may be the other with a slip of the pen: near, long enough, no name, no opposite."""
    if x in a.exact or y in b.exact or exclude(x, y) or unit_of(x) or unit_of(y):
        return False
    first, second = a.surfaces.get(x, x), b.surfaces.get(y, y)
    shortest = min(len(first), len(second))
    if shortest < _SHORTEST_TYPO or not (first.isalpha() and second.isalpha()) or spaceless(first + second):
        return False
    allowed = 2 if shortest >= _LONG_WORD else 1
    return _same_start(first, second) and OSA.distance(first, second, score_cutoff=allowed) <= allowed


def _same_start(x: str, y: str) -> bool:
    """A slip seldom replaces the first letter, while real words often differ in it (weight, height)."""
    return x[0] == y[0] or x[:2] == y[1::-1] or (x[1:] == y or y[1:] == x)


def _order_kept(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether enough neighbours are the same; "the cat sees the dog" and its reverse share none."""
    if len(a) < 2 or a == b:
        return True
    mine, yours = Counter(pairwise(a)), Counter(pairwise(b))
    return (mine & yours).total() / mine.total() >= _KEPT_ORDER


def _renamed(targets: Sequence[str], typos: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(_renamed_words(targets, typos)))


def _renamed_words(words: Sequence[str], typos: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(typos.get(word, word) for word in words)
