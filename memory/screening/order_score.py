"""Two learned scores: how much a sentence in English reads like a standing order to the assistant.

Rules know the words that they were made of. A score weighs all words and pairs of neighbours of a sentence,
and so reaches orders that nobody foresaw. One score is of orders that nobody may give, the other of wishes
about the form of all answers, which learners may have and others may not. Each is a logistic regression over
normalized tf-idf, learned from orders, wishes, rules of trades and lessons of agents: dev/order_examples has
them, and dev/train_order_score.py makes the weights, data/order_weights.txt. docs/decisions/screening.md has
figures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from ace_graph.base.tables import read_lines

_TOKEN = re.compile(
    r"""(?P<address>(?:https?:|www\.)\S{1,200}|\b[a-z0-9-]{1,60}\.(?:com|net|org|io|biz|shop|info|example|test)\b)
    |(?P<name>[a-z0-9]{1,60}(?:_[a-z0-9]{1,60}){1,20}|[a-z]{1,60}\(\))
    |(?P<number>[0-9]{1,60})
    |(?P<word>[a-z]{1,60}(?:['’][a-z]{1,10})?)
    |(?P<quote>["“”])""",
    re.VERBOSE,
)
SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
BIAS = "="
"""What the bias stands under; no feature is called so."""
_FEWEST = 10
"""Features of a sentence of five words; shorter ones say too little to be judged."""
_FREQUENT = 4_096
"""Features whose numbers are kept once they are read."""
_ENDINGS = ("ing", "ed", "es", "s", "ly")


class OrderScore(NamedTuple):
    """Log odds: that a text gives an order that nobody may give, and that it wishes a form of all answers."""

    order: float
    wish: float


def order_score(text: str) -> OrderScore:
    """Return the scores of a folded text in lower case: each is its likeliest sentence's."""
    return _scorer()(text)


def scorer(table: Iterable[str]) -> Callable[[str], OrderScore]:
    """Return the score of a table: features, two weights and an inverse document frequency, with tabs.

    The bias stands with the frequency of what the table doesn't have.
    """
    rows = dict(line.split("\t", 1) for line in table)
    *biases, rarest = _numbers(rows[BIAS])
    bias, numbers = OrderScore(*biases), lru_cache(maxsize=_FREQUENT)(_numbers)

    def score(sentence: str) -> OrderScore:
        found = set(features(sentence))
        if len(found) < _FEWEST:
            return bias
        known = [numbers(rows[each]) for each in found if each in rows]
        length = math.sqrt(sum(idf * idf for _, _, idf in known) + (len(found) - len(known)) * rarest**2)
        order = sum(weight * idf for weight, _, idf in known)
        wish = sum(weight * idf for _, weight, idf in known)
        return OrderScore(bias.order + order / length, bias.wish + wish / length)

    def of_text(text: str) -> OrderScore:
        orders, wishes = zip(*map(score, SENTENCE_END.split(text)), strict=True)
        return OrderScore(max(orders), max(wishes))

    return of_text


def _numbers(row: str) -> tuple[float, float, float]:
    order, wish, idf = row.split("\t")
    return float(order), float(wish), float(idf)


def features(sentence: str) -> Iterator[str]:
    """Yield the words of a sentence without their endings, and the pairs of neighbours.

    Addresses, names of code, numbers and quotation marks stand for their kind; ^ and $ are the ends.
    """
    tokens = ["^", *map(_token, _TOKEN.finditer(sentence)), "$"]
    yield from tokens[1:-1]
    yield from map(" ".join, pairwise(tokens))


def _token(match: re.Match[str]) -> str:
    return _stem(match[0]) if match.lastgroup == "word" else f"<{match.lastgroup}>"


@lru_cache(maxsize=16_384)
def _stem(written: str) -> str:
    word = written.replace("’", "'")
    cut = (word[: -len(end)] for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= 3)
    return next(cut, word)


@cache
def _scorer() -> Callable[[str], OrderScore]:
    return scorer(read_lines("ace_graph.memory.screening", "order_weights.txt"))
