"""BM25 as the textbooks have it, with a stop list of one's choice: what the memory is compared with.

Words are stemmed; there is no gate, no cutoff, no counter and no rule for rivals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from math import log
from pathlib import Path
from typing import Protocol, cast

__all__ = ["ordinary_stop_words", "rank", "stems"]

_K1, _B = 1.2, 0.75
_WORD = re.compile(r"\w+")


class _Stemmer(Protocol):
    def stemWord(self, word: str, /) -> str: ...


@cache
def ordinary_stop_words() -> frozenset[str]:
    """Return the function words of English that common search libraries leave out."""
    lines = (Path(__file__).parent / "ordinary_stop_words.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


@cache
def _stem(word: str) -> str:
    # PyStemmer ships no types; this is the one method that is used.
    return cast(_Stemmer, import_module("Stemmer").Stemmer("english")).stemWord(word)


@cache
def stems(text: str) -> tuple[str, ...]:
    """Return the stems of all words of an English text, in their order."""
    return tuple(_stem(word) for word in _WORD.findall(text.casefold()))


def rank(question: str, texts: Mapping[str, str], stop: Collection[str] = ()) -> Sequence[str]:
    """Return the keys of the texts that share a stem with the question, best first; `stop` holds words."""
    ignored = {_stem(word) for word in stop}
    counted = {
        key: Counter(stem for stem in stems(text) if stem not in ignored) for key, text in texts.items()
    }
    lengths = {key: count.total() for key, count in counted.items()}
    mean = sum(lengths.values()) / len(lengths) if lengths else 0.0
    scores = dict.fromkeys(texts, 0.0)
    for stem in set(stems(question)) - ignored:
        having = [key for key, count in counted.items() if stem in count]
        weight = log(1 + (len(texts) - len(having) + 0.5) / (len(having) + 0.5))
        for key in having:
            frequency = counted[key][stem]
            length = 1 - _B + _B * lengths[key] / mean
            scores[key] += weight * frequency * (_K1 + 1) / (frequency + _K1 * length)
    return sorted((key for key in texts if scores[key] > 0), key=lambda key: -scores[key])
