"""Why a question gets a bullet, or does not: read from what each step of `retrieve` decided.

No rule is written here a second time. A retrieval keeps the decisions of its steps (`Decisions`), and the
functions that decided say by what.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import TypedDict, Unpack

from ace_graph.memory.bullet import Bullet, MemoryType
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.retrieval.by_meaning import OPENS
from ace_graph.memory.retrieval.cutoff import MOST_LINES, Retrievable
from ace_graph.memory.retrieval.reasons import (
    BelowCutoff,
    BeyondLines,
    GateShut,
    InCore,
    NoRoom,
    NoSharedWord,
    NotEligible,
    Outranked,
    Reason,
    Retrieved,
    RivalKept,
    Superseded,
    Words,
)
from ace_graph.memory.retrieval.relevance import Hit, Matched
from ace_graph.memory.retrieval.retrieve import Decisions, Retrieval, retrieve
from ace_graph.memory.search.tokenize import is_spaceless
from ace_graph.memory.snapshot import Access

__all__ = ["RetrieveOptions", "explain", "reasons_of", "why_shown"]

_WORDS, _WORD_CHARS = 12, 40
"""Of the words of a question that a bullet has, so many are named, and so much of each."""


class RetrieveOptions(TypedDict, total=False):
    """The optional arguments of `retrieve`."""

    budget_tokens: int
    max_bullets: int | None
    topic: str | None
    memory_types: Collection[MemoryType] | None
    count_tokens: Callable[[str], int]
    base: Playbook | None
    semantic: Mapping[str, float] | None
    proven_only: bool


def explain(
    question: str,
    playbook: Playbook,
    access: Access,
    policy: Policy,
    *,
    now: datetime,
    bullet_id: str | None = None,
    **options: Unpack[RetrieveOptions],
) -> dict[str, Reason]:
    """Return why `retrieve`, called with the same arguments, shows or does not show each bullet, by its id.

    The bullets that are shown come first, in the order of the prompt. With `bullet_id` only that one is in
    the result, and nothing is if there is no such bullet. Takes longer than `retrieve`, in proportion to the
    number of bullets.
    """
    found = retrieve(question, playbook, access, policy, now=now, **options)
    return reasons_of(found, None if bullet_id is None else {bullet_id})


def reasons_of(found: Retrieval, wanted: Collection[str] | None = None) -> dict[str, Reason]:
    """Return why the bullets of these ids, by default all, were shown by a retrieval or not, by id."""
    shown = why_shown(found)
    if found.decisions is None:
        return {}
    why = _Why(found.decisions)
    reasons: dict[str, Reason] = {key: why for key, why in shown.items() if wanted is None or key in wanted}
    for key, of_base in _ids(found.decisions):
        if key not in shown and (wanted is None or key in wanted):
            reasons[key] = why.left_out(key, of_base=of_base)
    return reasons


def why_shown(found: Retrieval) -> dict[str, InCore | Retrieved]:
    """Return why each bullet of a prompt is in it, by id, in the order of the prompt."""
    if found.decisions is None:
        return {}
    why = _Why(found.decisions)
    reasons: dict[str, InCore | Retrieved] = {
        scored.bullet.id: InCore("pinned" if scored.bullet.pinned else "profile") for scored in found.core
    }
    for scored in found.retrieved:
        reasons[scored.bullet.id] = why.retrieved(scored.bullet.id)
    return reasons


def _ids(decisions: Decisions) -> Iterator[tuple[str, bool]]:
    scope = decisions.scope
    yield from ((key, False) for key in scope.playbook.entries)
    if scope.base is not None:
        yield from ((key, True) for key in scope.base.entries if key not in scope.playbook.entries)


class _Why:
    """The reasons for the bullets of one retrieval."""

    def __init__(self, decisions: Decisions) -> None:
        self._made = decisions

    @cached_property
    def _hits(self) -> Mapping[str, Hit]:
        return {hit.key: hit for hit in self._made.relevance.hits}

    @cached_property
    def _retrievable(self) -> Mapping[str, Retrievable]:
        return {item.hit.key: item for item in self._made.retrievable}

    def retrieved(self, key: str) -> Retrieved:
        """Return why a bullet was retrieved."""
        item, cutoff = self._retrievable[key], self._made.cutoff
        hit = item.hit
        matched = self._matched(of_base=hit.of_base)
        return Retrieved(
            words=self._words(key, matched),
            neighbour=matched.lifted[key].neighbour if key in matched.lifted else "",
            similarity=hit.near,
            topic=cutoff.is_on_topic(hit),
            adds=key in cutoff.adding,
            second_try=item.second_try,
        )

    def left_out(self, key: str, *, of_base: bool) -> Reason:
        """Return why a bullet that is not in the prompt is not."""
        made = self._made
        bullet = made.scope.voted(key, of_base=of_base)
        item = self._retrievable.get(key)
        if bullet is not None and item is None and (barred := self._barred(bullet)):
            return barred
        if key in made.selection.rivals:
            return RivalKept(made.selection.rivals[key])
        if key in made.selection.missed:
            return NoRoom(made.selection.missed[key])
        if key in made.cutoff.superseded:
            return Superseded(made.cutoff.superseded[key])
        return self._irrelevant(key, item, self._matched(of_base=of_base))

    def _barred(self, bullet: Bullet) -> NotEligible | None:
        scope = self._made.scope
        why = scope.barred(bullet)
        if why is not None:
            return NotEligible(why)
        return NotEligible("weak") if scope.is_weak(bullet) else None

    def _irrelevant(self, key: str, item: Retrievable | None, matched: Matched) -> Reason:
        cutoff = self._made.cutoff
        words = self._words(key, matched)
        if item is None and not words and not matched.shared(key):
            return NoSharedWord()
        if not cutoff.is_open:
            return self._shut(key, words, matched)
        if item is None:
            return Outranked(words)
        reach = cutoff.too_low(item.hit)
        if reach is not None:
            return BelowCutoff(reach.score, reach.least, words, item.hit.near)
        if all(key != kept.hit.key for kept in cutoff.kept):
            return BeyondLines(MOST_LINES)
        # The search ends where many did not fit.
        return NoRoom(next(reversed(self._made.selection.missed.values())))

    def _shut(self, key: str, words: Words, matched: Matched) -> GateShut:
        query, hit = self._made.query, self._hits.get(key)
        part, covered, needed = matched.coverage(key)
        if hit is not None and self._made.cutoff.by_meaning:
            part, covered, needed = 0, hit.evidence, OPENS
        held = [term for term in matched.shared(key) if term in query.parts[part].weights]
        return GateShut(
            covered,
            needed,
            words,
            everyday=self._said(term for term in held if term in query.everyday - query.often_asked),
            often_asked=self._said(term for term in held if term in query.often_asked),
            similarity=hit.near if hit is not None else 0.0,
            sentence=part,
        )

    def _matched(self, *, of_base: bool) -> Matched:
        return self._made.relevance.matched[of_base]

    @cached_property
    def _named(self) -> Mapping[str, str]:
        """The question's terms with the word of each, the weightiest first."""
        query = self._made.query
        named = dict[str, str]()
        for term in sorted(query.weights, key=query.weights.__getitem__, reverse=True):
            if term != query.topic:
                named[term] = (term if is_spaceless(term) else query.words.get(term, term))[:_WORD_CHARS]
        return named

    def _words(self, key: str, matched: Matched) -> Words:
        held, source, compounds = dict[str, None](), dict[str, None](), dict[str, str]()
        for term, word in self._named.items():
            if not matched.holds(key, term):
                continue
            if matched.holds_itself(key, term):
                held[word] = None
                continue
            if key in matched.index.source.get(term, ()):
                source[word] = None
            if wholes := matched.compounds(key, term):
                compounds[word] = wholes[0]
        return Words(_first(held), dict(islice(compounds.items(), _WORDS)), _first(source))

    def _said(self, terms: Iterable[str]) -> tuple[str, ...]:
        """Return the words of these terms as the question has them."""
        return _first(dict.fromkeys(self._named[term] for term in terms if term in self._named))


def _first(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(islice(words, _WORDS))
