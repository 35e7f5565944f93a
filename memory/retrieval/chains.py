"""Chains: a question that takes several facts asks again with what the best line named.

"The country of the spouse of the author of Our Mutual Friend": the words find the line that names the author,
and the author's name finds the next one. No relation is listed anywhere. A line leads to those that share the
longest run of words with it that the question did not ask for. The best of them cover words of the question
that are open on the way to them, and say what was named in another place: what one line ends with, the next
one begins with.

Where the best line covers little of the question, it leads on by a name of several words alone: a question
of somebody else shares a word with some line, and that line a word with others.

The lines of a chain stand behind those of the question's own words. They take the room of those alone that
have no word of the question which a better one has not. A line that the question found by itself may be a
link, too: it stays, and leads on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.retrieval.current_values import age, is_fact, same_relation, stated_by
from ace_graph.memory.retrieval.query import Query
from ace_graph.memory.search.index import Index
from ace_graph.memory.search.tokenize import language_of, terms

ROUNDS = 3
"""Facts beyond the first that a question may take."""
MOST_LINES, MOST_TOKENS = 14, 400
"""A prompt with a chain has at most so many retrieved lines, which take at most so many tokens."""
LEADS_ON = 0.2
"""What the best line must cover of the question: one that covers less is about something else."""
BY_A_WORD = 0.35
"""What it must cover to lead on by a single word."""
_OPEN = 0.1
"""The share of the question's weight that must be uncovered."""
_RARE, _RARE_SHARE = 10, 0.1
"""A word leads on where at most so many bullets have it, or this share of all."""
_STARTS, _TIE = 3, 0.95
"""A chain begins at so many of the best lines, where they cover nearly as much as the best."""
_LINKS, _ASKED_ON = 3, 2
"""So many lines of a round are taken, and so many of them lead on."""
_NAME_WORDS = 2
"""A run of so many words is a name for sure."""
_NEWEST = 48
"""So many bullets of a word are compared, the newest in the index, and as many that cover open words."""
_MOST_WORDS = 64
"""So many words of a text are compared: facts are short."""
_CACHED_TEXTS = 8_192
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s\Z")


class Link(NamedTuple):
    """A line of a chain: the bullet, and the id of the line that named what it is about.

    A link is `sure` that covers an open word, or that says more of a name: lines that add nothing make room.
    """

    bullet: Bullet
    named_by: str
    sure: bool


@dataclass(frozen=True)
class _Text:
    """The first words of a text, and at which places each of them stands."""

    text: str
    words: tuple[str, ...]
    places: Mapping[str, Sequence[int]]

    @cached_property
    def terms(self) -> tuple[tuple[str, ...], ...]:
        """The terms of each word; a stop word has none."""
        language = language_of(self.text)
        return tuple(terms(word, language) for word in self.words)

    @cached_property
    def first(self) -> int:
        """The place of the first word that is no stop word."""
        return next((place for place, own in enumerate(self.terms) if own), 0)


class _Run(NamedTuple):
    """The words that two lines share: how many of them say something, and whether they moved.

    They moved where they stand at the beginning or at the end of one of the lines alone.
    """

    length: int
    moved: bool


class _Rank(NamedTuple):
    """What is better in a link; of equals the newer one is."""

    open_weight: float
    moved: bool
    length: int
    rarity: int


class _Lead(NamedTuple):
    """A bullet that shares a run with a line, by a word that so many bullets have."""

    bullet: Bullet
    run: _Run
    holders: int


class Chain:
    """The search for links in one index.

    `held` returns the bullet of an id, None where there is none, `stating` the ids of those that state a
    relation; `allowed` says whether a prompt may hold a bullet. With `by_names` lines lead on by names of
    several words alone. `one_value` as in `current_values.of_one_relation`.
    """

    def __init__(
        self,
        query: Query,
        index: Index,
        held: Callable[[str], Bullet | None],
        stating: Callable[[str], Sequence[str]],
        allowed: Callable[[Bullet], bool],
        *,
        by_names: bool = False,
        one_value: bool = False,
    ) -> None:
        self._query = query
        self._index = index
        self._held = held
        self._stating = stating
        self._allowed = allowed
        self._least_run = _NAME_WORDS if by_names else 1
        self._one_value = one_value
        self._asked = {term for term in query.weights if term != query.topic}
        self._most = max(_RARE, int(_RARE_SHARE * len(index)))
        self._facts: dict[str, Bullet | None] = {}

    def links(self, lines: Sequence[Bullet], take: Callable[[Link], bool]) -> list[Link]:
        """Return the links from the best of `lines` on, each after the line that named it.

        `take` puts a line into the prompt, and says whether it could; one of `lines` it keeps there, and it
        is not returned. There is no link where the question's words are covered.
        """
        starts = lines[:_STARTS]
        open_ = {line.id: self._asked - self._terms_asked(line.id) for line in starts}
        best = self._weight(open_[lines[0].id])
        if best < _OPEN * self._query.total:
            return []
        nearly = best + (1 - _TIE) * (self._weight(self._asked) - best)
        asked_on = [line for line in starts if self._weight(open_[line.id]) <= nearly]
        told, led = {line.id: line for line in lines}, {line.id for line in asked_on}
        found = list[Link]()
        for _ in range(ROUNDS):
            new = [link for link in self._next(asked_on, led, told.values(), open_) if take(link)]
            found += [link for link in new if link.bullet.id not in told]
            told |= {link.bullet.id: link.bullet for link in new}
            led |= {link.bullet.id for link in new}
            for bullet, named_by, _sure in new:
                open_[bullet.id] = open_[named_by] - self._terms_asked(bullet.id)
            asked_on = [link.bullet for link in new[:_ASKED_ON]]
        return found

    def _weight(self, terms: Iterable[str]) -> float:
        return sum(map(self._query.weights.__getitem__, terms))

    def _terms_asked(self, key: str) -> set[str]:
        return {term for term in self._asked if key in self._index.postings.of(term)}

    def _next(
        self, lines: Iterable[Bullet], led: set[str], told: Iterable[Bullet], open_: Mapping[str, set[str]]
    ) -> list[Link]:
        """Return where these lines lead to, the best first; of one subject and relation the newest alone.

        `led` are the lines that led on so far, `told` all lines.
        """
        best: dict[str, tuple[_Rank, Link]] = {}
        for line in lines:
            for bullet, run, holders in self._leads(line, led, open_[line.id]):
                weight = self._weight(self._terms_asked(bullet.id) & open_[line.id])
                named = run.length >= _NAME_WORDS
                if run.length < self._least_run or not (run.moved or (weight and named)):
                    continue
                rank = _Rank(weight, run.moved, run.length, -holders)
                if bullet.id not in best or rank > best[bullet.id][0]:
                    best[bullet.id] = (rank, Link(bullet, line.id, sure=bool(weight) or named))
        ranked = sorted(best.values(), key=lambda one: (one[0], age(one[1].bullet)), reverse=True)
        kept: list[Link] = []
        for _, link in ranked:
            if len(kept) == _LINKS:
                break
            others = (*told, *(one.bullet for one in kept))
            if any(other.id != link.bullet.id and self._is_rival(link.bullet, other) for other in others):
                continue
            rivals = [rival.bullet for _, rival in ranked if self._is_rival(rival.bullet, link.bullet)]
            newest = max((link.bullet, *rivals, *self._stated(link.bullet)), key=age)
            if all(newest.id != one.bullet.id for one in kept):
                kept.append(link._replace(bullet=newest))
        return kept

    def _is_rival(self, a: Bullet, b: Bullet) -> bool:
        return same_relation(a, b, one_value=self._one_value)

    def _stated(self, bullet: Bullet) -> list[Bullet]:
        """Return the newest bullet that states the same relation of one value, if another one does."""
        relation = stated_by(bullet)
        keys = self._stating(relation.key) if relation is not None else ()
        bullets = filter(None, map(self._held, keys))
        stated = filter(self._allowed, bullets)
        newest = max(stated, key=age, default=bullet)
        return [newest] if self._is_rival(newest, bullet) else []

    def _fact(self, key: str) -> Bullet | None:
        """Return the bullet if a prompt may hold it and it is a fact."""
        if key not in self._facts:
            bullet = self._held(key)
            fact = bullet is not None and is_fact(bullet) and self._allowed(bullet)
            self._facts[key] = bullet if fact else None
        return self._facts[key]

    def _leads(self, line: Bullet, known: set[str], open_: Iterable[str]) -> Iterator[_Lead]:
        """Yield the facts that share the longest runs with a line.

        The longest run is looked for among those that moved and among those that did not.
        """
        if not is_fact(line):
            return
        text = _read(line.content)
        strange = [bool(own) and self._asked.isdisjoint(own) for own in text.terms]
        begins = {word for place, word in enumerate(text.words) if strange[place]}
        covering: set[str] | None = None
        runs: dict[str, tuple[Bullet, _Run] | None] = {}
        for term in {
            term for own, unasked in zip(text.terms, strange, strict=True) if unasked for term in own
        }:
            holders = self._index.postings.of(term)
            if not 2 <= len(holders) <= self._most:
                continue
            longest: dict[bool, int] = {}
            keys = list(holders)[-_NEWEST:]
            if len(keys) < len(holders):
                if covering is None:
                    covering = set[str]().union(*(self._index.postings.of(term) for term in open_))
                keys += [key for key in holders if key in covering][-_NEWEST:]
            for key in keys:
                if key not in runs:
                    bullet, run = None if key in known else self._fact(key), None
                    if bullet is not None:
                        run = _shared_run(text, strange, begins, _read(bullet.content))
                    runs[key] = None if bullet is None or run is None else (bullet, run)
                if lead := runs[key]:
                    longest[lead[1].moved] = max(lead[1].length, longest.get(lead[1].moved, 0))
            for key in keys:
                lead = runs[key]
                if lead and lead[1].length == longest[lead[1].moved]:
                    yield _Lead(*lead, len(holders))


def _shared_run(line: _Text, strange: Sequence[bool], begins: Set[str], other: _Text) -> _Run | None:
    """Return the longest run of words of two lines that begins and ends with words that nobody asked for.

    None where it only stands inside both: what a line is about stands at one of its ends. `begins` are the
    words of the line that nobody asked for, `strange` says it of each place. Of equal runs that counts which
    ends first. Takes time in proportion to the product of both lengths.
    """
    words, others = line.words, other.words
    best: tuple[int, int, int] | None = None
    begin = 0
    ended: dict[int, int] = {}
    for at, place in sorted(
        (at, place)
        for text in begins & other.places.keys()
        for at in other.places[text]
        for place in line.places[text]
        if strange[place]
    ):
        if at < ended.get(at - place, 0):
            continue  # inside a run that began before
        length = step = last = reached = 0
        while (
            place + step < len(words) and at + step < len(others) and words[place + step] == others[at + step]
        ):
            length += bool(line.terms[place + step])
            if strange[place + step]:
                last, reached = step, length
            step += 1
        ended[at - place] = at + step
        found = (reached, -(at + last), -(place + last))
        if best is None or found > best:
            best, begin = found, place
    if best is None:
        return None
    length, at, place = best[0], -best[1], -best[2]
    starts = begin <= line.first, at - (place - begin) <= other.first
    stops = place + 1 == len(words), at + 1 == len(others)
    return _Run(length, starts[0] != starts[1] or stops[0] != stops[1]) if any((*starts, *stops)) else None


@lru_cache(_CACHED_TEXTS)
def _read(text: str) -> _Text:
    found = (match.group() for match in islice(_WORD.finditer(text), _MOST_WORDS))
    words = tuple(_POSSESSIVE.sub("", word.casefold()) for word in found)
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        places.setdefault(word, []).append(place)
    return _Text(text, words, places)
