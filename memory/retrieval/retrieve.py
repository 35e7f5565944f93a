"""Retrieval: which bullets a question gets, under a hard token budget.

The core (pinned bullets and the profile) comes first, in a stable order. Then come the bullets that are
relevant to this question. Relevance is an absolute gate: a bullet must cover a share of the question's
content terms, weighted by how rare they are, so that a greeting or a question about something else gets
nothing. What passes is ranked by BM25; strength, topic and memory type change that rank a little. Bullets far
below the best are cut, even if the budget has room for them (`cutoff`). What is never shown at all, such as
quarantined and weak bullets, is decided by `eligibility`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import itemgetter

from ace_graph.memory.bullet import Bullet, MemoryType
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.retrieval.cutoff import Cutoff, Retrievable, apply_cutoff
from ace_graph.memory.retrieval.eligibility import EligibleBullets, rank_in_core
from ace_graph.memory.retrieval.query import Query, parse_question
from ace_graph.memory.retrieval.relevance import Relevance, relevant
from ace_graph.memory.retrieval.selection import Candidate, Scored, Selection
from ace_graph.memory.search.token_count import estimate_tokens
from ace_graph.memory.snapshot import Access

__all__ = ["Decisions", "Retrieval", "Scored", "estimate_tokens", "retrieve"]

FRAME_TOKENS = 30
"""What headings and delimiters around the lines may cost, taken from the budget."""

_SHORTLIST = 40
"""So many of the most relevant bullets are ranked: some are not eligible, and of rivals only one is shown."""

_STRENGTH_SHARE = 0.3
"""How much of its rank a bullet without any strength loses; strength s counts as s / (1 + s)."""

_TOPIC_BOOST = 1.25
_TYPE_BONUS: Mapping[MemoryType, float] = {"procedural": 1.02, "episodic": 1.01, "semantic": 1.0}


@dataclass(frozen=True)
class Decisions:
    """What each step of a retrieval decided, from which `explain` reads why a bullet was or was not shown."""

    scope: EligibleBullets
    query: Query
    relevance: Relevance
    retrievable: Sequence[Retrievable]
    cutoff: Cutoff
    selection: Selection


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
) -> Retrieval:
    """Return the bullets of `playbook` and of the read-only `base` that this question gets.

    Never more than `budget_tokens` by `count_tokens`, headings and delimiters included; the core takes at
    most half, and what of it does not fit competes by relevance. `max_bullets` limits the retrieved part.
    `topic` boosts bullets of that topic. `memory_types` keeps all others out. `semantic` are cosine
    similarities (0-1) to the question by bullet id: they open the gate, too, and share in the rank.
    `proven_only` withholds what has not earned its place yet (memory.trust).

    Never injected are bullets that are expired, quarantined or more harmful than helpful, those that failed
    more often since their last success than the policy allows, and more than one of a group of rivals. The
    same bullets in another order give the same result.
    """
    scope = EligibleBullets(playbook, base, access, policy, now, memory_types, proven_only)
    query = parse_question(question, topic, scope.indexes(), access.asked)
    room = max(0, budget_tokens - FRAME_TOKENS)
    selection = Selection(room, policy.similarity, count_tokens, common=query.weights)
    core = selection.fill(scope.core(), room=selection.room // 2)
    taken = {candidate.scored.bullet.id for candidate in core}
    relevance = relevant(query, scope.indexes(), semantic or {}, _SHORTLIST)
    retrievable = scope.retrievable(relevance.hits, taken)
    cutoff = apply_cutoff(retrievable, query, lambda hit: scope.asked(hit, query), scope.terms)
    retrieved = selection.fill(_ranked(cutoff.kept, topic, scope), room=selection.room, limit=max_bullets)
    decisions = Decisions(scope, query, relevance, retrievable, cutoff, selection)
    if not core and not retrieved:
        return Retrieval(decisions=decisions)
    return Retrieval(
        core=tuple(candidate.scored for candidate in sorted(core, key=_place_in_core)),
        retrieved=tuple(candidate.scored for candidate in retrieved),
        tokens=max(0, budget_tokens - selection.room),
        decisions=decisions,
    )


def _place_in_core(candidate: Candidate) -> tuple[int, datetime, str]:
    """The order in the prompt: oldest first within a rank, so that a new fact changes only the end."""
    bullet = candidate.scored.bullet
    return (rank_in_core(bullet), bullet.created_at, bullet.id)


def _ranked(kept: Iterable[Retrievable], topic: str | None, scope: EligibleBullets) -> Iterator[Candidate]:
    """Yield the bullets, best first; of equals the newer, then the smaller id."""
    wanted = None if topic is None else topic.casefold()
    found: list[tuple[float, datetime, Retrievable, float]] = []
    for item in sorted(kept, key=_key):
        hit, bullet, _ = item
        strength = scope.strength(bullet)
        score = hit.score * _worth_factor(bullet, strength, wanted)
        found.append((score, bullet.updated_at, item, strength))
    found.sort(key=itemgetter(0, 1), reverse=True)
    for score, _, (hit, bullet, _), strength in found:
        terms = scope.index(of_base=hit.of_base).documents[hit.key].content
        yield Candidate(Scored(bullet, score, hit.covered, strength), terms, hit.of_base)


def _key(item: Retrievable) -> str:
    return item.hit.key


def _worth_factor(bullet: Bullet, strength: float, topic: str | None) -> float:
    """Return the factor by which strength, memory type and the case-folded topic change the rank."""
    weight = 1 - _STRENGTH_SHARE + _STRENGTH_SHARE * strength / (1 + strength)
    own_topic = topic is not None and bullet.topic is not None and bullet.topic.casefold() == topic
    return weight * _TYPE_BONUS[bullet.memory_type] * (_TOPIC_BOOST if own_topic else 1.0)
