"""Old steps go: those of trajectories that were reflected on, after so many days.

The outcome, the evidence and the reflections stay, so nothing that was counted changes. What was not
reflected on is kept and reported.

Does not: delete a trajectory, or run by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ace_graph.memory.pending import Amend
from ace_graph.memory.stores.base import PendingStore
from ace_graph.memory.trajectory import TrajectoryFilter, without_steps
from ace_graph.memory.turn import TurnRecord

__all__ = ["RETENTION_DAYS", "Trimmed", "trim_trajectories"]

RETENTION_DAYS = 30.0
_PAGE = 200


@dataclass(frozen=True)
class Trimmed:
    """The ids whose steps went, and those that were old enough but not reflected on."""

    trimmed: tuple[str, ...]
    unreflected: tuple[str, ...]


async def trim_trajectories(
    store: PendingStore, learner_id: str, now: datetime, days: float = RETENTION_DAYS
) -> Trimmed:
    """Drop the steps of what was completed more than `days` ago and reflected on. Safe to repeat."""
    old = TrajectoryFilter(until=now - timedelta(days=days))
    gone, kept = list[str](), list[str]()
    skip = 0
    while page := await store.find_turns(learner_id, old, limit=_PAGE, skip=skip):
        skip += len(page)
        for turn in page:
            if not turn.steps:
                continue
            if not turn.reflections:
                kept.append(turn.turn_id)
                continue
            await store.amend(learner_id, Amend(turn.turn_id, _trimmed))
            gone.append(turn.turn_id)
    return Trimmed(tuple(gone), tuple(kept))


def _trimmed(turn: TurnRecord) -> TurnRecord:
    return without_steps(turn, "retention") if turn.steps and turn.reflections else turn
