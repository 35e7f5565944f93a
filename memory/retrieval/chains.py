"""Chains: a question that takes several facts asks again with what the best line named.

"The country of the spouse of the author of Our Mutual Friend": the words find the line that names the author,
and the author's name finds the next one. No relation is listed anywhere. A line leads to those that share the
longest run of words with it that the question did not ask for. The best of them cover words of the question
that are open, and say what was named in another place: what one line ends with, the next one begins with.

The lines of a chain stand behind those of the question's own words, and take none of their room.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.retrieval.current_values import age, is_fact, same_relation
from ace_graph.memory.retrieval.query import Query
from ace_graph.memory.search.index import Index
from ace_graph.memory.search.tokenize import language_of, terms

ROUNDS = 3
"""Facts beyond the first that a question may take."""
MOST_LINES, MOST_TOKENS = 14, 400
"""A prompt with a chain has at most so many retrieved lines, which take at most so many tokens."""
LEADS_ON = 0.3
"""What the best line must cover of the question: one that covers less is often about something else."""
_OPEN = 0.1
"""The share of the question's weight that must be uncovered."""
_RARE, _RARE_SHARE = 10, 0.1
"""A word leads on where at most so many bullets have it, or this share of all."""
_LINKS, _ASKED_ON = 3, 2
"""So many lines of a round are taken, and so many of them lead on."""
_MOVED = 0.25
"""A run stands in another place where it begins so much of the line's length earlier or later."""
_MOST_HOLDERS = 500
"""So many bullets of a word are compared, the newest in the index."""
_MOST_WORDS = 64
"""So many words of a text are compared: facts are short."""
_CACHED_TEXTS = 4_096
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class Link(NamedTuple):
    """A line of a chain: the bullet, and the id of the line that named what it is about."""

    bullet: Bullet
    named_by: str


class _Word(NamedTuple):
    text: str
    terms: tuple[str, ...]


class _Run(NamedTuple):
    """The words that two lines share: how many of them were not asked for, and whether they moved."""

    length: int
    moved: bool


class _Rank(NamedTuple):
    """What is better in a link; of equals the newer one is."""

    open_weight: float
    moved: bool
    rarity: int


class Chain:
    """The search for links in one index. `bullet` returns what a prompt may hold, None for any other id.

    `one_value` as in `current_values.of_one_relation`.
    """

    def __init__(
        self, query: Query, index: Index, bullet: Callable[[str], Bullet | None], *, one_value: bool = False
    ) -> None:
        self._query = query
        self._index = index
        self._bullet = bullet
        self._one_value = one_value
        self._asked = {term for term in query.weights if term != query.topic}
        self._most = max(_RARE, int(_RARE_SHARE * len(index)))

    def links(self, lines: Sequence[Bullet], take: Callable[[Bullet], bool]) -> list[Link]:
        """Return the links from the best of `lines` on, each after the line that named it.

        `take` puts a line into the prompt, and says whether it could. There is no link where the question's
        words are covered.
        """
        open_ = self._asked.difference(*(self._terms_asked(line.id) for line in lines))
        if sum(map(self._query.weights.__getitem__, open_)) < _OPEN * self._query.total:
            return []
        found: list[Link] = []
        told, asked_on = list(lines), list(lines[:1])
        for _ in range(ROUNDS):
            new = [link for link in self._next(asked_on, told, open_) if take(link.bullet)]
            told += [link.bullet for link in new]
            found += new
            open_ = open_.difference(*(self._terms_asked(link.bullet.id) for link in new))
            asked_on = [link.bullet for link in new[:_ASKED_ON]]
        return found

    def _terms_asked(self, key: str) -> set[str]:
        return {term for term in self._asked if key in self._index.postings.get(term, ())}

    def _next(self, lines: Iterable[Bullet], told: Sequence[Bullet], open_: set[str]) -> list[Link]:
        """Return where these lines lead to, the best first; of one subject and relation the newest alone."""
        known = {line.id for line in told}
        best: dict[str, tuple[_Rank, Link]] = {}
        for line in lines:
            for bullet, moved, rarity in self._leads(line, known):
                weight = sum(self._query.weights[term] for term in self._terms_asked(bullet.id) & open_)
                rank = _Rank(weight, moved, rarity)
                if (moved or weight) and (bullet.id not in best or rank > best[bullet.id][0]):
                    best[bullet.id] = (rank, Link(bullet, line.id))
        ranked = sorted(best.values(), key=lambda one: (one[0], age(one[1].bullet)), reverse=True)
        kept: list[Link] = []
        for _, link in ranked:
            if len(kept) == _LINKS:
                break
            if any(self._is_rival(link.bullet, other) for other in (*told, *(one.bullet for one in kept))):
                continue
            rivals = [rival.bullet for _, rival in ranked if self._is_rival(rival.bullet, link.bullet)]
            newest = max((link.bullet, *rivals, *self._stated(link.bullet)), key=age)
            if all(newest.id != one.bullet.id for one in kept):
                kept.append(Link(newest, link.named_by))
        return kept

    def _is_rival(self, a: Bullet, b: Bullet) -> bool:
        return same_relation(a, b, one_value=self._one_value)

    def _stated(self, bullet: Bullet) -> list[Bullet]:
        """Return the newest bullet that states the same relation of one value, if another one does."""
        key = self._index.documents[bullet.id].relation
        stated = filter(None, map(self._bullet, self._index.relations.get(key, ())))
        newest = max(stated, key=age, default=bullet)
        return [newest] if self._is_rival(newest, bullet) else []

    def _leads(self, line: Bullet, known: set[str]) -> Iterator[tuple[Bullet, bool, int]]:
        """Yield the facts that share the longest runs with a line, whether they moved, and how rare they are.

        The longest run is looked for among those that moved and among those that did not.
        """
        if not is_fact(line):
            return
        words = _ordered(line.content)
        strange = [bool(word.terms) and self._asked.isdisjoint(word.terms) for word in words]
        places: dict[str, list[int]] = {}
        for place, word in enumerate(words):
            places.setdefault(word.text, []).append(place)
        runs: dict[str, tuple[Bullet, _Run] | None] = {}
        for term in {term for place, word in enumerate(words) if strange[place] for term in word.terms}:
            holders = self._index.postings.get(term, {})
            if not 2 <= len(holders) <= self._most:
                continue
            longest: dict[bool, int] = {}
            keys = list(holders)[-_MOST_HOLDERS:]
            for key in keys:
                if key not in runs:
                    bullet = None if key in known else self._bullet(key)
                    run = None
                    if bullet is not None and is_fact(bullet):
                        run = _shared_run(words, strange, places, _ordered(bullet.content))
                    runs[key] = None if bullet is None or run is None else (bullet, run)
                if lead := runs[key]:
                    longest[lead[1].moved] = max(lead[1].length, longest.get(lead[1].moved, 0))
            for key in keys:
                lead = runs[key]
                if lead and lead[1].length == longest[lead[1].moved]:
                    yield lead[0], lead[1].moved, -len(holders)


def _shared_run(
    line: Sequence[_Word],
    strange: Sequence[bool],
    places: Mapping[str, Sequence[int]],
    other: Sequence[_Word],
) -> _Run | None:
    """Return the longest run of words of two lines that begins and ends with words that nobody asked for.

    None where it only stands inside both: what a line is about stands at one of its ends. `places` says where
    in the line each word stands. Takes time in proportion to the product of both lengths.
    """
    best, ends = _Run(0, moved=False), False
    before: dict[int, tuple[int, int]] = {}
    for at, word in enumerate(other):
        here: dict[int, tuple[int, int]] = {}
        for place in places.get(word.text, ()):
            begin, length = before.get(place - 1, (-1, 0))
            if begin < 0 and not strange[place]:
                continue
            begin, length = (place if begin < 0 else begin), length + bool(line[place].terms)
            here[place] = (begin, length)
            if strange[place] and length > best.length:
                other_begin = at - (place - begin)
                moved = abs(begin / len(line) - other_begin / len(other)) > _MOVED
                best = _Run(length, moved)
                ends = begin == 0 or other_begin == 0 or place + 1 == len(line)
        before = here
    return best if ends else None


@lru_cache(_CACHED_TEXTS)
def _ordered(text: str) -> tuple[_Word, ...]:
    """Return the first words of a text, each with its terms; a stop word has none."""
    language = language_of(text)
    found = (match.group() for match in islice(_WORD.finditer(text), _MOST_WORDS))
    return tuple(_Word(word.casefold(), terms(word, language)) for word in found)
