"""One change of a playbook at somebody's request: committed as a whole, or refused."""

from __future__ import annotations

from collections.abc import Callable

from ace_graph.errors import AceError
from ace_graph.memory.commit import Commit, references
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.delta.resolve import resolving
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store, keeps_pending
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.off_loop import in_slices

__all__ = ["commit_checked"]


async def commit_checked(
    store: Store,
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


async def _unknown(store: Store, learner_id: str, named: frozenset[str]) -> frozenset[str]:
    """Return those of the trajectories that the store does not show, where it can say."""
    if not named or not keeps_pending(store):
        return frozenset()
    found = await store.find_turns(learner_id, TrajectoryFilter(turn_ids=named), limit=len(named))
    return named - {turn.turn_id for turn in found}
