"""Retrieval: which bullets a question gets, under a hard token budget.

The core (pinned bullets and the profile) comes first, in a stable order. Then come the bullets that are
relevant to this question. Relevance is an absolute gate: a bullet must cover a share of the question's
content terms, weighted by how rare they are, so that a greeting or a question about something else gets
nothing. What passes is ranked by BM25; strength, topic and memory type change that rank a little. Bullets far
below the best are cut, even if the budget has room for them (`gate`). What is never shown at all, such as
quarantined and weak bullets, is decided by `EligibleBullets`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from operator import itemgetter
from typing import Literal, NamedTuple

from ace_graph.memory.bullet import GIVEN, PROFILE_SLOTS, Barred, Bullet, MemoryType
from ace_graph.memory.decay import decay_score
from ace_graph.memory.playbook import Playbook, id_number
from ace_graph.memory.policy import Policy
from ace_graph.memory.retrieval.chains import BY_A_WORD, LEADS_ON, MOST_TOKENS, Chain, Link
from ace_graph.memory.retrieval.chains import MOST_LINES as MOST_CHAINED
from ace_graph.memory.retrieval.current_values import (
    Earlier,
    about_others,
    age,
    contradicting_wishes,
    current_first,
    earlier_values,
    fold,
    of_one_relation,
    stated_by,
    when_true,
    with_earlier,
)
from ace_graph.memory.retrieval.gate import Cutoff, Retrievable, apply_cutoff
from ace_graph.memory.retrieval.query import Query, parse_question
from ace_graph.memory.retrieval.relevance import Hit, Relevance, relevant
from ace_graph.memory.retrieval.standing import waiting
from ace_graph.memory.search.index import Index, PrefixFilter, own_terms
from ace_graph.memory.search.tokenize import estimate_tokens, terms
from ace_graph.memory.similarity.compare import compare
from ace_graph.memory.snapshot import Access
from ace_graph.memory.trust import proven

# Filling the token budget with ranked bullets, at most one of any group of rivals.


_NUMBERING_TOKENS = 5
"""For the number of a line, the point after it and the line break."""
_ESCAPE_TOKENS = 3
"""For each character that a data block may have to escape."""
Shortage = Literal["budget", "lines"]
"""What was used up: the room in tokens, or the number of lines."""
_MAX_MISSES = 20
"""How many candidates may not fit before the search ends."""


class Scored(NamedTuple):
    """A bullet as it is injected.

    `relevance` (0-1) is the share of the question's terms, by weight, that it covers (1 for the core),
    `strength` its decay score, `score` what it was ranked by. `earlier` are values of other facts of its
    subject and relation, the newest first, `later` those that are still to come. `when` says in words when it
    is true, as far as that is known.
    """

    bullet: Bullet
    score: float
    relevance: float
    strength: float
    earlier: Earlier = Earlier()
    when: str = ""
    later: tuple[str, ...] = ()


LAST_IN_CORE = 3
"""The rank of what is neither pinned, nor a value of the profile, nor a wish."""


class Candidate(NamedTuple):
    """A scored bullet, the terms of its text as `in_order`, and whether the learner does not own it.

    `rank_in_core` is the place of its kind in the core, 0 for what is pinned or stands for what is.
    """

    scored: Scored
    terms: tuple[str, ...]
    base: bool = False
    rank_in_core: int = LAST_IN_CORE

    @property
    def rank(self) -> tuple[bool, int, tuple[datetime, int]]:
        """The higher of two rivals is kept: the pinned, then the one with better evidence, then the newer."""
        bullet = self.scored.bullet
        return (self.rank_in_core == 0, bullet.helpful - bullet.harmful, age(bullet))


def prompt_line(scored: Scored) -> str:
    """Return a bullet as a model is shown it: `[id] [+helpful/-harmful] (slot) AVOID: content`.

    A value of the profile is named, since its words may be in another language than the question. Values that
    were said earlier stand behind the newest.
    """
    bullet = scored.bullet
    slot = f"({bullet.slot}) " if bullet.slot in PROFILE_SLOTS else ""
    text = with_earlier(bullet.advice, scored.earlier, scored.when, scored.later)
    return f"[{bullet.id}] [+{bullet.helpful}/-{bullet.harmful}] {slot}{text}"


def line_tokens(scored: Scored, count_tokens: Callable[[str], int]) -> int:
    """Return what a bullet costs as a numbered `prompt_line` of a data block."""
    line = prompt_line(scored)
    return count_tokens(line) + _NUMBERING_TOKENS + _ESCAPE_TOKENS * line.count("<")


class Selection:
    """The bullets of one prompt while they are chosen: within a token budget, and without rivals.

    `rivals` maps those that were left out for a rival to that one's id, `missed` those without room to what
    was used up.
    """

    def __init__(
        self, room: int, similarity: float, count_tokens: Callable[[str], int], common: Container[str] = ()
    ) -> None:
        """Start with `room` tokens; `common` are terms that most candidates share, those of the question."""
        self.room = room
        self._similarity = similarity
        self._count_tokens = count_tokens
        self.rivals: dict[str, str] = {}
        self.missed: dict[str, Shortage] = {}
        self._settled: dict[str, Candidate] = {}
        self._costs: dict[int, tuple[Scored, int]] = {}
        self._index = PrefixFilter(common)

    def fill(self, ranked: Iterable[Candidate], *, room: int, limit: int | None = None) -> list[Candidate]:
        """Return the candidates that fit into `room` tokens and `limit` lines, in the order they came.

        A candidate that is too long for the room left is skipped. Of two rivals the higher by `rank` is kept,
        whichever came first; what an earlier `fill` chose stays. The search ends after _MAX_MISSES
        candidates that did not fit.
        """
        room = min(room, self.room)
        chosen: dict[str, tuple[Candidate, int]] = {}
        misses = 0
        for candidate in ranked:
            bullet = candidate.scored.bullet
            signature = self._index.signature(candidate.terms, bullet.slot)
            similar = self._index.candidates(candidate.terms, signature)
            stronger, weaker = self._rivals(candidate, similar, chosen) if similar else (None, ())
            if stronger is not None:
                self.rivals[bullet.id] = stronger
                continue
            for key in weaker:
                self.rivals[key] = bullet.id
                room += chosen.pop(key)[1]
            tokens = self.tokens(candidate.scored)
            lines_left = limit is None or len(chosen) < limit
            if tokens <= room and lines_left:
                chosen[bullet.id] = (candidate, tokens)
                self._index.add(bullet.id, candidate.terms, signature)
                room -= tokens
            else:
                self.missed[bullet.id] = "budget" if lines_left else "lines"
                if (misses := misses + 1) >= _MAX_MISSES:
                    break
        self.room -= sum(tokens for _, tokens in chosen.values())
        taken = [candidate for candidate, _ in chosen.values()]
        self._settled.update((candidate.scored.bullet.id, candidate) for candidate in taken)
        return taken

    def drop(self, scored: Scored) -> int:
        """Take a line back, and return the tokens that it took."""
        tokens = self.tokens(scored)
        del self._settled[scored.bullet.id]
        self.room += tokens
        return tokens

    def tokens(self, scored: Scored) -> int:
        """Return what a line costs, counted once."""
        known = self._costs.get(id(scored))
        if known is None:
            known = self._costs[id(scored)] = (scored, line_tokens(scored, self._count_tokens))
        return known[1]

    def _rivals(
        self, candidate: Candidate, similar: Iterable[str], chosen: Mapping[str, tuple[Candidate, int]]
    ) -> tuple[str | None, Sequence[str]]:
        """Return the rival that the candidate is left out for, else the chosen ones that it replaces."""
        for key in similar:
            if key in self._settled and self._relation(candidate, self._settled[key]):
                return key, ()
        weaker: list[str] = []
        for key in similar:
            other = chosen[key][0] if key in chosen else None
            relation = None if other is None else self._relation(candidate, other)
            if other is None or relation is None:
                continue
            if candidate.base if relation == "same" else candidate.rank <= other.rank:
                return key, ()
            weaker.append(key)
        return None, weaker

    def _relation(self, a: Candidate, b: Candidate) -> Literal["same", "rival"] | None:
        """How two bullets exclude each other, None if not; two of one playbook that say the same don't."""
        first, second, apart = a.scored.bullet, b.scored.bullet, a.base != b.base
        others = about_others(first, second)
        if others and not apart:
            return None
        outcome = compare(first, second, self._similarity).outcome
        return outcome if (outcome == "rival" and not others) or (outcome == "same" and apart) else None


# Eligibility: which bullets a prompt may hold at all, whatever the question, and why others may not.
#
# Left out is a bullet that is expired, quarantined, archived, or more harmful than helpful
# (`Bullet.injectable`); that failed more often since its last success than the policy allows; that has not
# earned its place where only proven ones are shown (`memory.trust`); that is of a memory type which was not
# asked for; or that is weak (`Policy.prune_threshold`). Where nothing else is left, advice that is one
# failure behind is tried once more, because right advice may fail by chance. Relevance, the cutoff and the
# budget decide about the others (`relevance.py`, `gate.py`).


Ineligible = Barred | Literal["type", "unproven", "failing", "unknown", "untrue"]
"""Why a prompt may not hold a bullet, whatever the question.

failing: too often since it did well; unknown: learned later than asked for; untrue: not true on the day that
is asked for.
"""


_NEWEST_STATING = 64
"""So many bullets of one subject and relation are looked at: the value of today is among the last ones."""


@dataclass(frozen=True)
class EligibleBullets:
    """The bullets of a playbook and its base that a prompt may hold.

    `proven_only`, `as_of` and `valid_on` as in `retrieve`.
    """

    playbook: Playbook
    base: Playbook | None
    access: Access
    policy: Policy
    now: datetime
    memory_types: Collection[MemoryType] | None
    proven_only: bool
    as_of: datetime | None = None
    valid_on: date | None = None

    @property
    def on(self) -> date:
        """The day for which it is said what is true."""
        return self.valid_on or self.now.date()

    def scored(
        self, bullet: Bullet, score: float, relevance: float, strength: float, others: Sequence[Bullet] = ()
    ) -> Scored:
        """Return a bullet as it is injected; `others` are those of its subject and relation."""
        others = (*others, *bullet.other_values)
        when = when_true(bullet, others, self.on)
        if not others:
            return Scored(bullet, score, relevance, strength, when=when)
        one_value = self.policy.one_value
        to_come = [each for each in others if each.valid_from is not None and each.valid_from > self.on]
        said = [each for each in others if (each.valid_from or each.created_at.date()) <= self.on]
        earlier = earlier_values(bullet, said, one_value=one_value)
        later = tuple(
            f"from {each.valid_from} on: {value}"
            for each in to_come
            for value in earlier_values(bullet, [each], one_value=one_value).values
        )
        return Scored(bullet, score, relevance, strength, earlier, when, later)

    def indexes(self) -> list[tuple[Index, bool]]:
        base = [(self.base.index, True)] if self.base is not None else []
        return [(self.playbook.index, False), *base]

    def _source(self, *, of_base: bool) -> Playbook:
        return self.base if of_base and self.base is not None else self.playbook

    def index(self, *, of_base: bool) -> Index:
        return self._source(of_base=of_base).index

    def bullet(self, key: str, *, of_base: bool) -> Bullet | None:
        """Return the bullet if a prompt may hold it; the learner's votes count on one of the base."""
        bullet = self.voted(key, of_base=of_base)
        return None if bullet is None or self.barred(bullet) else bullet

    def barred(self, bullet: Bullet) -> Ineligible | None:
        """Why a prompt may not hold the bullet, whatever the question; None where it may."""
        if self.memory_types is not None and bullet.memory_type not in self.memory_types:
            return "type"
        if self.proven_only and not proven(bullet):
            return "unproven"
        if self.as_of is not None and bullet.created_at > self.as_of:
            return "unknown"
        if self.valid_on is not None and not bullet.true_on(self.valid_on):
            return "untrue"
        if bullet.setbacks > self.policy.setbacks_allowed and not bullet.pinned:
            return bullet.barred(self.now) or "failing"
        return bullet.barred(self.now)

    def is_weak(self, bullet: Bullet) -> bool:
        """Whether the policy's threshold keeps the bullet out, which holds for none of the core."""
        threshold = self.policy.prune_threshold
        return bool(threshold) and not bullet.core and self.strength(bullet) < threshold

    def voted(self, key: str, *, of_base: bool) -> Bullet | None:
        """Return the bullet, with the learner's votes where it is one of the base; None if there is none."""
        bullet = self._source(of_base=of_base).entries.get(key)
        if bullet is not None and bullet.before:
            bullet = bullet.on(self.on)
        votes = self.playbook.base_votes.get(key) if of_base else None
        if bullet is not None and votes is not None:
            bullet = bullet.model_copy(
                update={
                    "helpful": bullet.helpful + votes.helpful,
                    "harmful": bullet.harmful + votes.harmful,
                    "neutral": bullet.neutral + votes.neutral,
                    "setbacks": votes.setbacks,
                }
            )
        return bullet

    def retrievable(self, hits: Sequence[Hit], taken: Collection[str]) -> list[Retrievable]:
        """Return the hits that a prompt may hold and does not hold yet, without the weak ones.

        Where there is none, those that get a second try.
        """
        found: list[Retrievable] = []
        for hit in hits:
            bullet = None if hit.key in taken else self.bullet(hit.key, of_base=hit.of_base)
            if bullet and not self.is_weak(bullet):
                found.append(Retrievable(hit, bullet))
        return found or [
            Retrievable(hit, bullet, second_try=True)
            for hit in hits
            if (bullet := self._second_try(hit, taken))
        ]

    def of_their_relations(self, usable: Sequence[Retrievable]) -> list[Retrievable]:
        """Return newer bullets, in whatever words, that state a relation of one value that these state."""
        newest: dict[tuple[bool, str], Retrievable] = {}
        for item in usable:
            relation = stated_by(item.bullet)
            if relation is not None:
                key = (item.hit.of_base, relation.key)
                newest[key] = max(newest.get(key, item), item, key=lambda each: age(each.bullet))
        found: list[Retrievable] = []
        for item in newest.values():
            for name in self._stating(item.bullet, of_base=item.hit.of_base):
                bullet = self.bullet(name, of_base=item.hit.of_base)
                if bullet is None or bullet is item.bullet or self.is_weak(bullet):
                    continue
                if current_first((item.bullet, bullet), self.on)[0] is bullet:
                    found.append(Retrievable(item.hit._replace(key=name), bullet))
        return found

    def _stating(self, bullet: Bullet, *, of_base: bool) -> Sequence[str]:
        """Return the ids of the newest bullets that state its relation, where it holds one value."""
        relation = stated_by(bullet)
        if relation is None or not (relation.holds_one or self.policy.one_value):
            return ()
        return self.newest_stating(relation.key, of_base=of_base)

    def newest_stating(self, relation: str, *, of_base: bool) -> Sequence[str]:
        """Return the ids of the newest bullets that state a relation, by its key: those that came last."""
        return self._source(of_base=of_base).stating.get(relation, ())[-_NEWEST_STATING:]

    def _second_try(self, hit: Hit, taken: Collection[str]) -> Bullet | None:
        """Return advice of the learner's own that is one failure behind, and failed once since it did well.

        One more failure hides it for good.
        """
        bullet = None if hit.of_base or hit.key in taken else self.voted(hit.key, of_base=False)
        if bullet is None or self.barred(bullet) != "harmful":
            return None
        behind = bullet.harmful - bullet.helpful == 1 and bullet.setbacks == 1
        return bullet if behind and self.policy.setbacks_allowed else None

    def terms(self, hit: Hit) -> frozenset[str]:
        """Return the terms of the bullet's text."""
        return frozenset(self.own_terms(hit.key, of_base=hit.of_base))

    def own_terms(self, key: str, *, of_base: bool) -> tuple[str, ...]:
        """Return the terms of the bullet's text, as `in_order`."""
        return own_terms(self._source(of_base=of_base).entries[key].content)

    def asked(self, hit: Hit, query: Query) -> frozenset[str]:
        """Return the terms of the question that the bullet has, in its text or its labels."""
        postings = self.index(of_base=hit.of_base).postings
        return frozenset(
            term for term in query.weights if term != query.topic and hit.key in postings.of(term)
        )

    def strength(self, bullet: Bullet) -> float:
        return decay_score(bullet, self.access, self.policy.decay)

    def core(
        self, asked: Collection[str], semantic: Mapping[str, float]
    ) -> tuple[list[Candidate], dict[str, str]]:
        """Return the core in the order in which it is chosen: the newest facts first, where room is short.

        What is past competes with the rest by relevance, unless it is pinned, and so do standing instructions
        whose condition does not hold for a question with the terms `asked`: these come second, as `waiting`
        returns them.
        """
        every = [
            (bullet, of_base)
            for index, of_base in self.indexes()
            for key in index.core
            if (bullet := self.bullet(key, of_base=of_base)) is not None
        ]
        waits = waiting((bullet for bullet, _ in every), asked, semantic, self.policy.max_instructions)
        found = [
            self._candidate(bullet, rank_in_core(bullet), of_base=of_base)
            for bullet, of_base in every
            if bullet.pinned or not (of_base or bullet.id in waits or bullet.past(self.on))
        ]
        found.sort(key=lambda candidate: candidate.scored.bullet.id)
        found.sort(key=lambda candidate: candidate.scored.bullet.created_at, reverse=True)
        found.sort(key=lambda candidate: candidate.rank_in_core)
        return found, waits

    def beside(self, core: Sequence[Candidate]) -> list[Candidate]:
        """Return the bullets outside the core that state a relation of one value that a line of it states."""
        known = {candidate.scored.bullet.id for candidate in core}
        found: list[Candidate] = []
        for candidate in core:
            for key in self._stating(candidate.scored.bullet, of_base=candidate.base):
                bullet = None if key in known else self.bullet(key, of_base=candidate.base)
                if bullet is not None and not self.is_weak(bullet):
                    known.add(key)
                    found.append(self._candidate(bullet, LAST_IN_CORE, of_base=candidate.base))
        return found

    def _candidate(self, bullet: Bullet, rank: int, *, of_base: bool) -> Candidate:
        strength = self.strength(bullet)
        scored = self.scored(bullet, strength, 1.0, strength)
        return Candidate(scored, self.own_terms(bullet.id, of_base=of_base), of_base, rank)


def rank_in_core(bullet: Bullet) -> int:
    """Return the place of a bullet's kind in the core: pinned ones first."""
    if bullet.pinned:
        return 0
    if bullet.slot is not None:
        return 1
    return 2 if bullet.section in ("preferences", "misconceptions") else LAST_IN_CORE


FRAME_TOKENS = 30
"""What headings and delimiters around the lines may cost, taken from the budget."""
_SHORTLIST = 40
"""So many of the most relevant bullets are ranked: some are not eligible, and of rivals only one is shown."""
_STRENGTH_SHARE = 0.3
"""How much of its rank a bullet without any strength loses; strength s counts as s / (1 + s)."""
_TOPIC_BOOST = 1.25
_MUCH_LESS = 0.5
"""What adds nothing, and covers less than this share of what the best line does, makes room for any link."""
_TYPE_BONUS: Mapping[MemoryType, float] = {"procedural": 1.02, "episodic": 1.01, "semantic": 1.0}


@dataclass(frozen=True)
class Decisions:
    """What each step of a retrieval decided, from which `explain` reads why a bullet was or was not shown.

    `told_by` maps facts whose value is told by a newer one's line to that one's id. `chain` are the lines
    that others led to. `waiting` are standing instructions that are not in every prompt, with the condition
    that does not hold, "" for those beyond the number that the policy allows.
    """

    scope: EligibleBullets
    query: Query
    relevance: Relevance
    retrievable: Sequence[Retrievable]
    cutoff: Cutoff
    selection: Selection
    told_by: Mapping[str, str]
    chain: Sequence[Link] = ()
    waiting: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Retrieval:
    """What a prompt gets: the core, what was retrieved (best first), and the tokens they take at most.

    `decisions` led to it; they don't count when two are compared.
    """

    core: tuple[Scored, ...] = ()
    retrieved: tuple[Scored, ...] = ()
    tokens: int = 0
    decisions: Decisions | None = field(default=None, compare=False, repr=False)

    def without(self, ids: Collection[str]) -> Retrieval:
        """Return the same without these bullets; nothing takes their place."""
        if not ids:
            return self
        core, retrieved = (
            tuple(scored for scored in part if scored.bullet.id not in ids)
            for part in (self.core, self.retrieved)
        )
        return replace(self, core=core, retrieved=retrieved)


def retrieve(
    question: str,
    playbook: Playbook,
    access: Access,
    policy: Policy,
    *,
    now: datetime,
    budget_tokens: int = 2_000,
    max_bullets: int | None = None,
    topic: str | None = None,
    memory_types: Collection[MemoryType] | None = None,
    count_tokens: Callable[[str], int] = estimate_tokens,
    base: Playbook | None = None,
    semantic: Mapping[str, float] | None = None,
    proven_only: bool = False,
    as_of: datetime | None = None,
    valid_on: date | None = None,
) -> Retrieval:
    """Return the bullets of `playbook` and of the read-only `base` that this question gets.

    Never more than `budget_tokens` by `count_tokens`, headings and delimiters included; the core takes at
    most half, and what of it does not fit competes by relevance. `max_bullets` limits the retrieved part.
    `topic` boosts bullets of that topic. `memory_types` keeps all others out. `semantic` are cosine
    similarities (0-1) to the question by bullet id: they open the gate, too, and share in the rank.
    `proven_only` withholds what has not earned its place yet (memory.trust). `as_of` leaves out what was
    learned later (what was changed or removed since is in the playbook of that version), `valid_on` what was
    not true on that day; a fact that does not say when it is true counts as true.

    Never injected are bullets that are expired, quarantined or more harmful than helpful, those that failed
    more often since their last success than the policy allows, and more than one of a group of rivals. The
    same bullets in another order give the same result.
    """
    scope = EligibleBullets(
        playbook, base, access, policy, now, memory_types, proven_only, as_of=as_of, valid_on=valid_on
    )
    query = parse_question(question, topic, scope.indexes(), access.asked)
    room = max(0, budget_tokens - FRAME_TOKENS)
    selection = Selection(room, policy.similarity, count_tokens, common=query.weights)
    asked_about = {*query.weights, *terms((topic or "").replace("_", " "))}
    whole_core, waits = scope.core(asked_about, semantic or {})
    current, told_in_core = _current(scope, whole_core)
    core = selection.fill(current, room=selection.room // 2)
    taken = {candidate.scored.bullet.id for candidate in core}
    told_in_core = {key: newest for key, newest in told_in_core.items() if newest in taken}
    taken.update(told_in_core)
    near = {key: like for key, like in (semantic or {}).items() if not waits.get(key)}
    relevance = relevant(query, scope.indexes(), near, _SHORTLIST)
    usable = scope.retrievable(relevance.hits, taken)
    retrievable, told_by = fold(
        usable, scope.on, scope.of_their_relations(usable), one_value=policy.one_value
    )
    tells: dict[str, list[Hit]] = {}
    for item in usable if told_by else ():
        tells.setdefault(told_by.get(item.hit.key, item.hit.key), []).append(item.hit)

    def asked(hit: Hit) -> frozenset[str]:
        own = scope.asked(hit, query)
        return own.union(*(scope.asked(each, query) for each in tells[hit.key])) if hit.key in tells else own

    cutoff = apply_cutoff(retrievable, query, asked, scope.terms)
    retrieved = selection.fill(_ranked(cutoff.kept, topic, scope), room=selection.room, limit=max_bullets)
    chain = _chain(retrieved, scope, query, selection, max_bullets)
    decisions = Decisions(
        scope, query, relevance, retrievable, cutoff, selection, {**told_in_core, **told_by}, chain, waits
    )
    if not core and not retrieved:
        return Retrieval(decisions=decisions)
    return Retrieval(
        core=tuple(candidate.scored for candidate in sorted(core, key=_place_in_core)),
        retrieved=(
            *(candidate.scored for candidate in retrieved),
            *(scope.scored(link.bullet, 0.0, 0.0, scope.strength(link.bullet)) for link in chain),
        ),
        tokens=max(0, budget_tokens - selection.room),
        decisions=decisions,
    )


def _chain(
    retrieved: list[Candidate],
    scope: EligibleBullets,
    query: Query,
    selection: Selection,
    max_bullets: int | None,
) -> list[Link]:
    """Return the lines that the best one leads to, of its own index; they take the room that is left."""
    lines = [candidate.scored for candidate in retrieved]
    if not lines or lines[0].relevance < LEADS_ON:
        return []
    of_base = retrieved[0].base
    left = min(MOST_CHAINED, max_bullets or MOST_CHAINED) - len(lines)
    room = MOST_TOKENS - sum(selection.tokens(line) for line in lines)
    index = scope.index(of_base=of_base)
    best = lines[0].relevance
    little = _MUCH_LESS * best
    spare = {line.bullet.id: line for line in _adding_nothing(retrieved, index, query)}
    shown, lost = {line.bullet.id for line in lines}, set[str]()

    def take(link: Link) -> bool:
        nonlocal left, room
        bullet = link.bullet
        if bullet.id in shown:
            spare.pop(bullet.id, None)
            return bullet.id not in lost
        scored = scope.scored(bullet, 0.0, 0.0, scope.strength(bullet))
        candidate = Candidate(scored, scope.own_terms(bullet.id, of_base=of_base), of_base)
        while left < 1 or selection.tokens(scored) > room:
            key = next((k for k in reversed(spare) if link.sure or 0 < spare[k].relevance < little), None)
            if key is None:
                break
            lost.add(key)
            left, room = left + 1, room + selection.drop(spare.pop(key))
        if not selection.fill([candidate], room=room, limit=left):
            return False
        left, room = left - 1, room - selection.tokens(scored)
        return True

    def allowed(bullet: Bullet) -> bool:
        return not (bullet.core or scope.barred(bullet) or scope.is_weak(bullet))

    held = partial(scope.voted, of_base=of_base)
    by_names, one_value = best < BY_A_WORD, scope.policy.one_value
    stating = partial(scope.newest_stating, of_base=of_base)
    chain = Chain(query, index, held, stating, allowed, by_names=by_names, one_value=one_value)
    links = chain.links([line.bullet for line in lines], take)
    retrieved[:] = [candidate for candidate in retrieved if candidate.scored.bullet.id not in lost]
    return links


def _adding_nothing(lines: Sequence[Candidate], index: Index, query: Query) -> list[Scored]:
    """Return the lines of which all terms of the question stand in better ones, too."""
    known, found = set[str](), list[Scored]()
    for place, line in enumerate(lines):
        own = {t for t in query.weights if line.scored.bullet.id in index.postings.of(t)}
        if place and own <= known:
            found.append(line.scored)
        known |= own
    return found


def _current(scope: EligibleBullets, core: Sequence[Candidate]) -> tuple[list[Candidate], dict[str, str]]:
    """Return the core with one line for a subject and relation, and which id is told by which line.

    A newer fact outside the core that a person or the host said takes the place of the line in the core, with
    its rank; a lesson does not.
    """
    every = [*core, *scope.beside(core)]
    bullets = [(candidate.scored.bullet, candidate.base) for candidate in every]
    kept: dict[int, Candidate] = dict(enumerate(core))
    told_by: dict[str, str] = {}
    rows = of_one_relation(bullets, one_value=scope.policy.one_value)
    for row in rows + contradicting_wishes(bullets, scope.policy.similarity):
        if row[0] >= len(core) or not all(place in kept for place in row if place < len(core)):
            continue
        standing = {
            bullets[place][0].id: place
            for place in row
            if place < len(core) or not GIVEN.isdisjoint(bullets[place][0].sources)
        }
        bullet = current_first([bullets[place][0] for place in standing.values()], scope.on)[0]
        others = [
            other
            for other in (bullets[place][0] for place in row)
            if other is not bullet and (other.id in standing or age(other) < age(bullet))
        ]
        others.sort(key=age, reverse=True)
        newest = every[standing[bullet.id]].scored
        for place in row:
            kept.pop(place, None)
        kept[row[0]] = every[standing[bullet.id]]._replace(
            scored=scope.scored(bullet, newest.score, newest.relevance, newest.strength, others),
            rank_in_core=min(every[place].rank_in_core for place in row),
        )
        told_by.update((other.id, bullet.id) for other in others)
    return [kept[place] for place in sorted(kept)], told_by


def _place_in_core(candidate: Candidate) -> tuple[int, datetime, str]:
    """The order in the prompt: oldest first within a rank, so that a new fact changes only the end."""
    bullet = candidate.scored.bullet
    return (candidate.rank_in_core, bullet.created_at, bullet.id)


def _ranked(kept: Iterable[Retrievable], topic: str | None, scope: EligibleBullets) -> Iterator[Candidate]:
    """Yield the bullets, best first; of equals the newer, of one commit that with the higher number."""
    wanted = None if topic is None else topic.casefold()
    found: list[tuple[float, datetime, Retrievable, float]] = []
    for item in sorted(kept, key=_key, reverse=True):
        hit, bullet = item.hit, item.bullet
        strength = scope.strength(bullet)
        # The factor by which strength, memory type and the case-folded topic change the rank
        weight = 1 - _STRENGTH_SHARE + _STRENGTH_SHARE * strength / (1 + strength)
        own_topic = wanted is not None and bullet.topic is not None and bullet.topic.casefold() == wanted
        score = hit.score * (weight * _TYPE_BONUS[bullet.memory_type] * (_TOPIC_BOOST if own_topic else 1.0))
        found.append((score, bullet.updated_at, item, strength))
    found.sort(key=itemgetter(0, 1), reverse=True)
    for score, _, (hit, bullet, _, earlier), strength in found:
        scored = scope.scored(bullet, score, hit.covered, strength, earlier)
        yield Candidate(scored, scope.own_terms(hit.key, of_base=hit.of_base), hit.of_base)


def _key(item: Retrievable) -> tuple[int, str]:
    return id_number(item.hit.key), item.hit.key
