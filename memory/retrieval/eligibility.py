"""Eligibility: which bullets a prompt may hold at all, whatever the question, and why others may not.

Left out is a bullet that is expired, quarantined, archived, or more harmful than helpful
(`Bullet.injectable`); that failed more often since its last success than the policy allows; that has not
earned its place where only proven ones are shown (`memory.trust`); that is of a memory type which was not
asked for; or that is weak (`Policy.prune_threshold`). Where nothing else is left, advice that is one failure
behind is tried once more, because right advice may fail by chance. Relevance, the cutoff and the budget
decide about the others (`relevance.py`, `cutoff.py`, `selection.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ace_graph.memory.bullet import Barred, Bullet, MemoryType
from ace_graph.memory.decay import decay_score
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.retrieval.cutoff import Retrievable
from ace_graph.memory.retrieval.query import Query
from ace_graph.memory.retrieval.relevance import Hit
from ace_graph.memory.retrieval.selection import Candidate, Scored
from ace_graph.memory.search.index import Index
from ace_graph.memory.snapshot import Access
from ace_graph.memory.trust import proven

__all__ = ["EligibleBullets", "Ineligible", "rank_in_core"]

Ineligible = Barred | Literal["type", "unproven", "failing"]
"""Why a prompt may not hold a bullet, whatever the question; failing: too often since it did well."""


@dataclass(frozen=True)
class EligibleBullets:
    """The bullets of a playbook and its base that a prompt may hold; `proven_only` as in `retrieve`."""

    playbook: Playbook
    base: Playbook | None
    access: Access
    policy: Policy
    now: datetime
    memory_types: Collection[MemoryType] | None
    proven_only: bool

    def indexes(self) -> list[tuple[Index, bool]]:
        base = [(self.base.index, True)] if self.base is not None else []
        return [(self.playbook.index, False), *base]

    def index(self, *, of_base: bool) -> Index:
        return self.base.index if of_base and self.base is not None else self.playbook.index

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
        if bullet.setbacks > self.policy.setbacks_allowed and not bullet.pinned:
            return bullet.barred(self.now) or "failing"
        return bullet.barred(self.now)

    def is_weak(self, bullet: Bullet) -> bool:
        """Whether the policy's threshold keeps the bullet out, which holds for none of the core."""
        threshold = self.policy.prune_threshold
        return bool(threshold) and not bullet.core and self.strength(bullet) < threshold

    def voted(self, key: str, *, of_base: bool) -> Bullet | None:
        """Return the bullet, with the learner's votes where it is one of the base; None if there is none."""
        source = self.base if of_base and self.base is not None else self.playbook
        bullet = source.entries.get(key)
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
        return frozenset(self.index(of_base=hit.of_base).documents[hit.key].content)

    def asked(self, hit: Hit, query: Query) -> frozenset[str]:
        """Return the terms of the question that the bullet has, in its text or its labels."""
        postings = self.index(of_base=hit.of_base).postings
        return frozenset(
            term for term in query.weights if term != query.topic and hit.key in postings.get(term, ())
        )

    def strength(self, bullet: Bullet) -> float:
        return decay_score(bullet, self.access, self.policy.decay)

    def core(self) -> list[Candidate]:
        """Return the core in the order in which it is chosen: the newest facts first, where room is short."""
        found: list[Candidate] = []
        for index, of_base in self.indexes():
            for key in index.core:
                bullet = self.bullet(key, of_base=of_base)
                if bullet is not None and (bullet.pinned or not of_base):
                    strength = self.strength(bullet)
                    scored = Scored(bullet, strength, 1.0, strength)
                    found.append(Candidate(scored, index.documents[key].content, of_base))
        found.sort(key=lambda candidate: candidate.scored.bullet.id)
        found.sort(key=lambda candidate: candidate.scored.bullet.created_at, reverse=True)
        found.sort(key=lambda candidate: rank_in_core(candidate.scored.bullet))
        return found


def rank_in_core(bullet: Bullet) -> int:
    """Return the place of a bullet's kind in the core: pinned ones first."""
    if bullet.pinned:
        return 0
    if bullet.slot is not None:
        return 1
    return 2 if bullet.section in ("preferences", "misconceptions") else 3
