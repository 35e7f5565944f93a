"""Recorded trajectories with how learning from each one stands: a list of them, and a single one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ace_graph.memory.pending import PendingItem, PendingState
from ace_graph.memory.stores.base import PendingStore
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord
from ace_graph.trajectories.recording import get_trajectory

__all__ = ["ListedTrajectory", "Standing", "list_trajectories", "listed_trajectory"]

Standing = PendingState | Literal["learned"]


@dataclass(frozen=True)
class ListedTrajectory:
    """A record, and the work of learning from it that is left, if any: a dead letter before others."""

    turn: TurnRecord
    item: PendingItem | None = None

    @property
    def standing(self) -> Standing | None:
        """Whether it was learned from, or how the work of it stands; None where there is none."""
        if self.item is not None:
            return self.item.state
        return "learned" if self.turn.reflections else None


async def list_trajectories(
    store: PendingStore,
    learner_id: str,
    wanted: TrajectoryFilter,
    *,
    failed: bool = False,
    learning: PendingState | None = None,
    limit: int = 50,
    skip: int = 0,
) -> list[ListedTrajectory]:
    """Return the trajectories that are wanted, the newest first.

    With `failed` only those that failed, and those that could not be learned from; with `learning` only those
    whose learning waits, or has failed too often, the newest work first. Raises what the store raises.
    """
    items = await _items(store, learner_id)
    if learning is not None:
        work = sorted(items.values(), key=lambda item: item.created_at, reverse=True)
        names = [item.turn_id for item in work if item.state == learning]
        waiting = await _turns(store, learner_id, wanted, names[skip : skip + limit])
        return [ListedTrajectory(turn, items[turn.turn_id]) for turn in waiting]
    if not failed:
        turns = await store.find_turns(learner_id, wanted, limit=limit, skip=skip)
        return [ListedTrajectory(turn, items.get(turn.turn_id)) for turn in turns]
    most = limit + skip
    failures = await store.find_turns(learner_id, replace(wanted, status="failure"), limit=most)
    rows = {turn.turn_id: turn for turn in failures}
    dead = [turn_id for turn_id, item in items.items() if item.state == "dead"]
    rows |= {turn.turn_id: turn for turn in await _turns(store, learner_id, wanted, dead)}
    newest = sorted(rows.values(), key=lambda turn: turn.started_at, reverse=True)
    return [ListedTrajectory(turn, items.get(turn.turn_id)) for turn in newest[skip:most]]


async def listed_trajectory(store: PendingStore, learner_id: str, trajectory_id: str) -> ListedTrajectory:
    """Return one trajectory. Raises TrajectoryNotFound."""
    turn = await get_trajectory(store, learner_id, trajectory_id)
    return ListedTrajectory(turn, (await _items(store, learner_id)).get(turn.turn_id))


async def _turns(
    store: PendingStore, learner_id: str, wanted: TrajectoryFilter, names: Iterable[str]
) -> list[TurnRecord]:
    """Return the turns of these ids that are wanted."""
    found = [await store.find_turns(learner_id, replace(wanted, turn_id=name), limit=1) for name in names]
    return [turn for turns in found for turn in turns]


async def _items(store: PendingStore, learner_id: str) -> dict[str, PendingItem]:
    """What is pending by turn, a dead letter before one that waits."""
    items = await store.list_pending(learner_id, limit=10_000)
    return {item.turn_id: item for item in sorted(items, key=lambda item: item.state == "dead")}
