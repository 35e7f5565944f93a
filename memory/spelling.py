"""Slips of the pen: whether one word may be another, mistyped.

In the words that carry a claim, a slip is found by comparing what only one of two texts has. A slip in a
word that steers how a text is read (before, instead, minutes ...) would change the reading itself, so such
words are put right before the reading, as the other text spells them: only those that no other word is near.

Does not: correct a text by itself. What one text alone holds stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from rapidfuzz.distance import OSA

from ace_graph.memory.lexicon import DIRECTIONS, FILLERS, NEGATIONS, number_of, unit_of
from ace_graph.memory.text import spaceless, tokens

__all__ = ["respelt", "slips_between"]

_SHORTEST = 5
_LONG_WORD = 9
_STEERING = """
before between instead because against behind within without until toward towards outside avoid
always please carefully properly important importantly usually generally basically especially therefore
"""


def slips_between(x: str, y: str) -> int:
    """Return how many slips of the pen make one case-folded word of the other, 0 where they can't be.

    One slip is a letter too many, too few, wrong, or two in the wrong order; two are taken for a slip in long
    words only. Real words often differ in the first letter (weight, height), mistyped ones seldom.
    """
    shortest = min(len(x), len(y))
    if shortest < _SHORTEST or not (x.isalpha() and y.isalpha()) or spaceless(x + y):
        return 0
    allowed = 2 if shortest >= _LONG_WORD else 1
    distance = OSA.distance(x, y, score_cutoff=allowed)
    return distance if distance <= allowed and _same_start(x, y) else 0


def respelt(text: str, other: str) -> tuple[str, int]:
    """Return `text` with its slips in steering words and units as `other` spells them, and their number."""
    mine = _spelt(text)
    wanted = [word for word in _spelt(other) if _steers(word) and word not in mine]
    slips = 0
    for word, token in mine.items() if wanted else ():
        if not _known(word):
            near = next((w for w in sorted(wanted) if w[0] == word[0] and slips_between(word, w)), None)
            if near is not None:
                text = text.replace(token, near)
                slips += slips_between(word, near)
    return text, slips


@lru_cache(maxsize=4_096)
def _spelt(text: str) -> Mapping[str, str]:
    """Return the words of a text as they stand, by their case-folded form."""
    return MappingProxyType({token.casefold(): token for token in tokens(text)})


def _same_start(x: str, y: str) -> bool:
    return x[0] == y[0] or x[:2] == y[1::-1] or (x[1:] == y or y[1:] == x)


@lru_cache(maxsize=32_768)
def _steers(word: str) -> bool:
    return len(word) >= _SHORTEST and (word in _steering() or unit_of(word) is not None)


def _known(word: str) -> bool:
    known = word in DIRECTIONS or word in FILLERS or word in NEGATIONS or word in _steering()
    return known or number_of(word) is not None or unit_of(word) is not None


@lru_cache(maxsize=1)
def _steering() -> frozenset[str]:
    return frozenset(_STEERING.split())
