"""The store of an adaptation run: the newest snapshot of one learner, and the commit that led to it.

It keeps no history and no turn records, so that a run of a million steps needs no more room than its
playbook. The steps are in the journal, from which `replay` rebuilds the state.
"""

from __future__ import annotations

from typing import Self

from ace_graph.adaptation.journal import Committed
from ace_graph.memory.commit import Commit, History, plan
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport, random_token
from ace_graph.memory.turn import TurnRecord

__all__ = ["LEARNER", "AdaptationStore"]

LEARNER = "adaptation"


class AdaptationStore:
    """A `Store` (see `ace_graph.memory.stores.base`) for one run on one event loop."""

    name = "memory"

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._snapshot = Snapshot()
        self._last: Committed | None = None

    @property
    def playbook(self) -> Playbook:
        """The playbook as it is now."""
        return self._snapshot.playbook

    def take_commit(self) -> Committed | None:
        """Return the commit made since the last call, None where there was none."""
        last, self._last = self._last, None
        return last

    def replay(self, committed: Committed) -> None:
        """Repeat a commit of an earlier run."""
        self._write(committed.delta, committed.record)

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot; see `Store.load`."""
        return self._snapshot

    async def commit(
        self, learner_id: str, delta: Delta, base: Snapshot, record: TurnRecord | None = None
    ) -> Commit:
        """Apply `delta`; see `Store.commit`. Steps come one after the other, so `base` is the newest."""
        done = self._write(delta, record)
        self._last = Committed(delta=delta, record=record)
        return done

    async def history(self, learner_id: str) -> History:
        """Return a history that begins now; see `Store.history`."""
        return History(self._snapshot.version.n, self._snapshot.playbook, ())

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """Return nothing; see `Store.turns`."""
        return ()

    async def export(self, learner_id: str) -> LearnerExport:
        """Return the state; see `Store.export`."""
        return LearnerExport(learner_id, self._snapshot, await self.history(learner_id), ())

    async def forget(self, learner_id: str) -> bool:
        """Start again from nothing; see `Store.forget`."""
        there, self._snapshot = not self._snapshot.absent, Snapshot()
        return there

    async def close(self) -> None:
        """Do nothing: the state lives as long as the run."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def _write(self, delta: Delta, record: TurnRecord | None) -> Commit:
        planned = plan(self._snapshot, delta, self.policy, record, random_token)
        self._snapshot = planned.snapshot
        return planned.commit()
