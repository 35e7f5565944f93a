"""Over a store: one change at somebody's request, the evidence on bullets, and turns that are saved later."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from pydantic import ValidationError

from ace_graph.base.errors import AceError, UsageError
from ace_graph.base.frozen import Frozen
from ace_graph.base.off_loop import in_slices
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.commit import Commit, Pending, references
from ace_graph.memory.confidence import turns_behind
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.delta.resolve import resolving
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.store import ContentStore, KeyedStore, Store
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord

# One change of a playbook at somebody's request: committed as a whole, or refused.


async def commit_checked(
    store: ContentStore,
    learner_id: str,
    delta: Delta,
    base: Snapshot,
    refused: Callable[[Rejection], AceError],
    runs: tuple[Store, str] | None = None,
) -> Commit:
    """Commit `delta`. Where an operation can't be applied, nothing is written, not even the access clock.

    The delta is resolved first without writing. `runs` says where the trajectories are that it may name;
    those behind a named playbook are its owner's. Raises the error that `refused` returns for the first
    rejection; where a concurrent commit is the reason, the other operations are committed nevertheless.
    """
    unknown = await _unknown(*(runs or (store, learner_id)), references(delta, base, None))
    probe = await in_slices(resolving(base, delta, store.policy, unknown), learner_id)
    for rejection in probe.report.rejected:
        raise refused(rejection)
    commit = await store.commit(learner_id, delta, base)
    for rejection in commit.report.rejected:
        raise refused(rejection)
    return commit


async def _unknown(store: ContentStore, learner_id: str, named: frozenset[str]) -> frozenset[str]:
    """Return those of the trajectories that the store does not show, where it can say."""
    if not named or not hasattr(store, "find_turns"):
        return frozenset()
    found = await cast("KeyedStore", store).find_turns(
        learner_id, TrajectoryFilter(turn_ids=named), limit=len(named)
    )
    return named - {turn.turn_id for turn in found}


MAX_READ = 300
"""The most records of turns that one list reads, the newest. Votes of older ones count by their number."""


async def trajectories_behind(
    store: Store, learner_id: str, snapshot: Snapshot, bullets: Iterable[Bullet]
) -> tuple[TurnRecord, ...]:
    """Return the records of the trajectories behind these bullets in one read: at most 300, the newest.

    They are the examples of the bullets, and turns with a vote on one of them. Deleted ones are left out.
    """
    wanted = turns_behind(bullets, snapshot.playbook)
    if not wanted:
        return ()
    return await store.find_turns(learner_id, TrajectoryFilter(turn_ids=wanted), limit=MAX_READ)


# Commits later what a turn could not save: the JSON text in `learning.unsaved` of its output.
#
# The host keeps the text until then.


class Unsaved(Frozen):
    """A turn's delta, record and pending work, and the learner's epoch at the time of the turn."""

    learner_id: str
    epoch: str | None
    delta: Delta
    record: TurnRecord | None
    pending: Pending | None = None


async def commit_unsaved(store: Store, unsaved: str) -> Commit:
    """Commit the turn in `learning.unsaved`. A repetition changes nothing, because the op id is the same.

    Raises LearnerForgotten when the learner was forgotten since, UsageError for a text that is no unsaved
    turn, and what the store raises.
    """
    try:
        kept = Unsaved.model_validate_json(unsaved)
    except ValidationError as error:
        raise UsageError("not an unsaved turn: pass the text of learning['unsaved'] unchanged") from error
    # Only the epoch of the base is known, so the store finds a conflict and resolves against its own state.
    base = Snapshot(version=Version(epoch=kept.epoch))
    more = () if kept.pending is None else (kept.pending,)  # what wraps a store may take none
    return await store.commit(kept.learner_id, kept.delta, base, kept.record, *more)
