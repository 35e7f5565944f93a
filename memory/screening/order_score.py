"""A learned score: how much a sentence in English reads like a standing order to the assistant.

Rules know the words that they were made of. The score weighs all words and pairs of neighbours of a
sentence, and so reaches orders that nobody foresaw. It is a logistic regression over normalized tf-idf,
learned from orders, rules of trades and lessons of agents: dev/order_examples has them, and
dev/train_order_score.py makes the weights, data/order_weights.txt. docs/decisions/screening.md has figures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise

from ace_graph.base.tables import read_lines

_TOKEN = re.compile(
    r"""(?P<address>(?:https?:|www\.)\S{1,200}|\b[a-z0-9-]{1,60}\.(?:com|net|org|io|biz|shop|info|example|test)\b)
    |(?P<name>[a-z0-9]{1,60}(?:_[a-z0-9]{1,60}){1,20}|[a-z]{1,60}\(\))
    |(?P<number>[0-9]{1,60})
    |(?P<word>[a-z]{1,60}(?:['’][a-z]{1,10})?)
    |(?P<quote>["“”])""",
    re.VERBOSE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
BIAS = "="
"""What the bias stands under; no feature is called so."""
_FEWEST = 10
"""Features of a sentence of five words; shorter ones say too little to be judged."""
_ENDINGS = ("ing", "ed", "es", "s", "ly")


def order_score(text: str) -> float:
    """Return the log odds that a folded text in lower case gives an order: its likeliest sentence's."""
    return _score()(text)


def scorer(table: Iterable[str]) -> Callable[[str], float]:
    """Return the score of a table: features, their weights and inverse document frequencies, with tabs."""
    rows = dict(line.split("\t", 1) for line in table)
    bias = _numbers(rows[BIAS])[0]

    def score(sentence: str) -> float:
        found = set(features(sentence))
        if len(found) < _FEWEST:
            return bias
        known = [_numbers(rows[each]) for each in found if each in rows]
        length = math.sqrt(sum(idf * idf for _, idf in known)) or 1.0
        return bias + sum(weight * idf for weight, idf in known) / length

    return lambda text: max(map(score, _SENTENCE_END.split(text)))


def _numbers(row: str) -> tuple[float, float]:
    weight, _, idf = row.partition("\t")
    return float(weight), float(idf)


def features(sentence: str) -> Iterator[str]:
    """Yield the words of a sentence without their endings, and the pairs of neighbours.

    Addresses, names of code, numbers and quotation marks stand for their kind; ^ and $ are the ends.
    """
    tokens = ["^", *map(_token, _TOKEN.finditer(sentence)), "$"]
    yield from tokens[1:-1]
    yield from map(" ".join, pairwise(tokens))


def _token(match: re.Match[str]) -> str:
    if match.lastgroup != "word":
        return f"<{match.lastgroup}>"
    word = match[0].replace("’", "'")
    cut = (word[: -len(end)] for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= 3)
    return next(cut, word)


@cache
def _score() -> Callable[[str], float]:
    return scorer(read_lines("ace_graph.memory.screening", "order_weights.txt"))
