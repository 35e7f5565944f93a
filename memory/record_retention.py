"""How long turns, keys and old deltas are kept, decided from times, limits and references.

A turn's record is deleted in two stages. Its steps are deleted first (`Fate` "loses steps"), after a
reflection on it; the record, which is also the key of its commit, later. A turn with pending work is kept as
a whole. A record that a bullet, a vote, a later turn or another trajectory names is kept. The stores delete
in bounded batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from ace_graph.base.retention import Cutoffs
    from ace_graph.memory.snapshot import Snapshot
    from ace_graph.memory.turn import TurnRecord

FAILED = frozenset({"failure", "partial"})
"""The outcomes of a turn that count as a failure, here and where steps are sampled."""
Fate = Literal["stays", "unreflected", "loses steps", "goes"]
Part = Literal["steps", "turns", "deltas"]


@dataclass(frozen=True)
class References:
    """The ids of the turns that something refers to.

    `waiting`: they have pending work, dead letters included. `named`: they support a bullet, they have a vote
    that a later one may replace, they are among the recent turns, or they are parents of a trajectory.
    """

    waiting: AbstractSet[str] = frozenset()
    named: AbstractSet[str] = frozenset()


@dataclass(frozen=True)
class CleaningPlace:
    """Where a cleaning continues: in this part of it, after the row `seq` with the time `at`."""

    part: Part = "steps"
    at: datetime | None = None
    seq: int = 0


START = CleaningPlace()


@dataclass(frozen=True)
class Cleaned:
    """What one or several batches deleted; `next` is where the next batch begins, None after the last.

    `steps` counts the turns that lost their steps, `unreflected` the old turns that keep them, because there
    was no reflection on them.
    """

    steps: int = 0
    turns: int = 0
    deltas: int = 0
    unreflected: int = 0
    next: CleaningPlace | None = None

    def __add__(self, later: Cleaned) -> Cleaned:
        numbers = ("steps", "turns", "deltas", "unreflected")
        return replace(later, **{name: getattr(self, name) + getattr(later, name) for name in numbers})


def named_turns(snapshot: Snapshot) -> frozenset[str]:
    """Return the turns that a learner's memory names: those behind bullets, standing votes, recent turns."""
    playbook, access = snapshot.playbook, snapshot.access
    behind = {name for bullet in playbook.entries.values() for name in (*bullet.examples, *bullet.sources)}
    recent = {turn.turn_id for turn in access.recent_turns}
    return frozenset(behind | playbook.votes.keys() | recent)


def last_moment(turn: TurnRecord) -> datetime:
    """Return the time of the last entry of a turn: its end, feedback, a reflection or a step."""
    times = [turn.started_at, turn.completed_at or turn.started_at]
    times += [each.at for each in turn.feedback]
    times += [each.at for each in turn.reflections]
    return max([*times, *(step.at for step in turn.steps if step.at is not None)])


def fate(turn: TurnRecord, references: References, cutoffs: Cutoffs) -> Fate:
    """Return what happens to a turn's record.

    A trajectory that was never completed is deleted when its last entry is old enough.
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
