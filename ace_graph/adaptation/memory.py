"""The memory of an adaptation: one learner's newest state, and the commit that led to it.

A `Store` for `build_ace_graph` that holds nothing but the snapshot, so that a run of a million steps needs
no more room than its playbook. What happened is in the journal, from which `replay` brings the state back.

Does not: keep a history or turn records, or serve a learner other than its own.
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

__all__ = ["LEARNER", "PracticeMemory"]

LEARNER = "adaptation"


class PracticeMemory:
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
        """Return the commit made since this was last asked, None where there was none."""
        last, self._last = self._last, None
        return last

    def replay(self, committed: Committed) -> None:
        """Make a commit of an earlier run again."""
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
        """Begin anew; see `Store.forget`."""
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
