"""How long turns, keys and old deltas are kept: what may go, decided from times, limits and references.

A turn's record goes in two steps. Its steps go first (`Fate` "loses steps"), once somebody has reflected on
it; the rest of it, which is also the key under which its commit is known, goes later. Work that waits to be
learned from keeps its turn whole. What a bullet, a vote, a later turn or another trajectory names keeps its
record.

Does not: delete anything. The stores do, a bounded batch at a time.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.turn import TurnRecord

__all__ = [
    "FAILED",
    "START",
    "Cleaned",
    "Cutoffs",
    "Fate",
    "Place",
    "References",
    "Retention",
    "fate",
    "last_moment",
    "named_turns",
]

FAILED = frozenset({"failure", "partial"})
"""The outcomes of a turn that count as a failure, as they do where steps are sampled."""

Fate = Literal["stays", "unreflected", "loses steps", "goes"]
Part = Literal["steps", "turns", "deltas"]


@dataclass(frozen=True)
class Retention:
    """Days that things are kept; None: for ever.

    `trace_days`: the steps of a turn that was reflected on. `record_days`: records of turns, keys of commits,
    deltas older than the history. With `keep_failures` the record of a turn that failed stays whole.
    """

    trace_days: float | None = 30.0
    record_days: float | None = 90.0
    keep_failures: bool = True

    def cutoffs(self, now: datetime) -> Cutoffs:
        """Return the moments before which things may go."""
        steps, records = (
            None if days is None else now - timedelta(days=days)
            for days in (self.trace_days, self.record_days)
        )
        return Cutoffs(steps, records, self.keep_failures)


@dataclass(frozen=True)
class Cutoffs:
    """Steps of turns from before `steps`, and records, keys and old deltas from before `records`, may go."""

    steps: datetime | None
    records: datetime | None
    keep_failures: bool = True


@dataclass(frozen=True)
class References:
    """The ids of the turns that something refers to.

    `waiting`: pending work is about them, dead letters included. `named`: a bullet has them among its
    sources, a vote stands that a later one may replace, they are among the recent turns, or a trajectory is
    a part of them.
    """

    waiting: AbstractSet[str] = frozenset()
    named: AbstractSet[str] = frozenset()


@dataclass(frozen=True)
class Place:
    """Where a cleaning goes on: behind the row `seq` of the moment `at`, in this part of it."""

    part: Part = "steps"
    at: datetime | None = None
    seq: int = 0


START = Place()


@dataclass(frozen=True)
class Cleaned:
    """What one batch, or several, took away; `next` is where the next batch begins, None: all is done.

    `steps` counts the turns that lost their steps, `unreflected` those that keep them although they are old,
    because nobody has reflected on them.
    """

    steps: int = 0
    turns: int = 0
    deltas: int = 0
    unreflected: int = 0
    next: Place | None = None

    def __add__(self, later: Cleaned) -> Cleaned:
        return replace(
            later,
            steps=self.steps + later.steps,
            turns=self.turns + later.turns,
            deltas=self.deltas + later.deltas,
            unreflected=self.unreflected + later.unreflected,
        )


def named_turns(snapshot: Snapshot) -> frozenset[str]:
    """Return the turns that a learner's memory names: sources of bullets, standing votes, recent turns."""
    playbook, access = snapshot.playbook, snapshot.access
    sources = {source for bullet in playbook.entries.values() for source in bullet.sources}
    recent = {turn.turn_id for turn in access.recent_turns}
    return frozenset(sources | playbook.votes.keys() | recent)


def last_moment(turn: TurnRecord) -> datetime:
    """Return when something was last said about the turn."""
    said = [turn.started_at, turn.completed_at or turn.started_at]
    said += [each.at for each in turn.feedback]
    said += [each.at for each in turn.reflections]
    return max([*said, *(step.at for step in turn.steps if step.at is not None)])


def fate(turn: TurnRecord, references: References, cutoffs: Cutoffs) -> Fate:
    """Return what becomes of a turn's record.

    A trajectory that was never completed goes as a whole when nothing has been logged for so long.
    """
    if turn.turn_id in references.waiting or (
        cutoffs.keep_failures and turn.status in FAILED and not turn.deleted
    ):
        return "stays"
    named = turn.turn_id in references.named
    if cutoffs.records is not None and last_moment(turn) < cutoffs.records and not named:
        return "goes"
    old = turn.completed_at is not None and cutoffs.steps is not None and turn.completed_at < cutoffs.steps
    if not old or not turn.steps:
        return "stays"
    return "loses steps" if turn.reflections else "unreflected"
