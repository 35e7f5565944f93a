"""A playbook as strategies in three categories (document 004, 2.3): a projection that is computed on read.

    Bullet               StrategyEntry
    polarity             category: strategy = helpful, anti_pattern = harmful, observation = neutral
    content, context     pattern, context
    votes and turns      confidence (memory.views.confidence)
    examples             examples, and evidence_count with those that are no longer named

`add_of` is the way back: the operation that stores an entry, after which all of its fields read as given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ace_graph.memory.bullet import MAX_CONTEXT_CHARS, Bullet, Count, Moment, Polarity, Share, Stated, Text
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.turn import TurnRecord
from ace_graph.memory.views.confidence import EvidenceIndex

__all__ = ["CATEGORIES", "Category", "PlaybookContent", "StrategyEntry", "add_of", "content_of", "entry_of"]

Category = Literal["helpful", "harmful", "neutral"]

CATEGORIES: Mapping[Polarity, Category] = {
    "strategy": "helpful",
    "anti_pattern": "harmful",
    "observation": "neutral",
}
_POLARITIES: Mapping[Category, Polarity] = {category: polarity for polarity, category in CATEGORIES.items()}


class StrategyEntry(BaseModel):
    """One strategy. `id` is that of its bullet, None before it is stored.

    `confidence` None: it follows from the evidence alone. `examples` are ids of trajectories.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Text | None = None
    category: Category = "helpful"
    pattern: Text
    context: Annotated[Text, Field(max_length=MAX_CONTEXT_CHARS)] | None = None
    confidence: Share | None = None
    evidence_count: Count = 0
    examples: tuple[Text, ...] = ()
    created_at: Moment | None = None
    updated_at: Moment | None = None


class PlaybookContent(BaseModel):
    """The active bullets of a playbook as strategies, in order; each is in one of three categories."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    strategies: tuple[StrategyEntry, ...] = ()

    @property
    def helpful(self) -> tuple[StrategyEntry, ...]:
        """What to do."""
        return self._of("helpful")

    @property
    def harmful(self) -> tuple[StrategyEntry, ...]:
        """What to avoid."""
        return self._of("harmful")

    @property
    def neutral(self) -> tuple[StrategyEntry, ...]:
        """What was seen."""
        return self._of("neutral")

    def _of(self, category: Category) -> tuple[StrategyEntry, ...]:
        return tuple(entry for entry in self.strategies if entry.category == category)


def entry_of(bullet: Bullet, evidence: EvidenceIndex, now: datetime) -> StrategyEntry:
    """Return a bullet as a strategy; `evidence` is that of its snapshot."""
    return StrategyEntry(
        id=bullet.id,
        category=CATEGORIES[bullet.polarity],
        pattern=bullet.content,
        context=bullet.context,
        confidence=evidence.confidence(bullet, now),
        evidence_count=bullet.evidence_count,
        examples=bullet.examples,
        created_at=bullet.created_at,
        updated_at=bullet.updated_at,
    )


def content_of(snapshot: Snapshot, turns: Iterable[TurnRecord], now: datetime) -> PlaybookContent:
    """Return the active bullets of the snapshot as strategies. `turns` are those behind them."""
    evidence = EvidenceIndex(snapshot, turns)
    active = (bullet for bullet in snapshot.playbook.bullets() if bullet.status == "active")
    return PlaybookContent(strategies=tuple(entry_of(bullet, evidence, now) for bullet in active))


def add_of(entry: StrategyEntry, now: datetime) -> Add:
    """Return the operation that stores the entry; its `id` is requested, and its confidence stated at `now`.

    A count of evidence below the number of examples becomes that number.
    """
    count = max(entry.evidence_count, len(set(entry.examples)))
    stated = None
    if entry.confidence is not None:
        stated = Stated(confidence=entry.confidence, count=count, at=now)
    return Add(
        id=entry.id,
        content=entry.pattern,
        section="strategies",
        memory_type="procedural",
        polarity=_POLARITIES[entry.category],
        context=entry.context,
        examples=entry.examples,
        evidence_count=count,
        stated=stated,
        created_at=entry.created_at,
        updated_at=entry.updated_at,
    )
