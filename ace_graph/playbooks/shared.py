"""Somebody else's playbook as a caller may use it: a store that shows what leaves the owner, and no more.

Every call is checked in its own transaction by the store behind it (`PlaybookStore.asked`). What is read is
never whole, so a commit names only the epoch of its base, and the store plans it from its own state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from ace_graph.memory.commit import Commit, History
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.sharing.asked import Asked, forbidden
from ace_graph.memory.sharing.edits import reported
from ace_graph.memory.sharing.outgoing import outgoing, outgoing_snapshot
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.base import LearnerExport
from ace_graph.memory.stores.playbooks import PlaybookStore, StoredVersion
from ace_graph.memory.turn import TurnRecord
from ace_graph.off_loop import in_slices, off_loop

__all__ = ["SharedPlaybook"]


class SharedPlaybook:
    """A `ContentStore` over one playbook of somebody else, for one caller."""

    def __init__(self, playbooks: PlaybookStore, asked: Asked) -> None:
        self.name = playbooks.name
        self.policy: Policy = playbooks.policy
        self._asked = asked
        self._checked = playbooks.asked(asked)

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot as others see it. Raises PlaybookNotFound."""
        return await _seen(await self._checked.load(learner_id))

    async def commit(
        self, learner_id: str, delta: Delta, base: Snapshot, record: TurnRecord | None = None
    ) -> Commit:
        """Commit what the caller may change. Raises PlaybookForbidden, PlaybookNotFound, ChangeRefused."""
        unread = Snapshot(version=Version(epoch=base.version.epoch))
        done = await self._checked.commit(learner_id, delta, unread)
        report = await off_loop(reported, done.report, done.snapshot.playbook, base.playbook.entries)
        return replace(done, report=report, snapshot=await _seen(done.snapshot))

    async def history(self, learner_id: str) -> History:
        """Return the present content, and none of the changes: they hold what does not leave the owner."""
        snapshot = await self.load(learner_id)
        return History(snapshot.version.n, snapshot.playbook, ())

    async def versions(self, key: str) -> tuple[StoredVersion, ...]:
        """Return the versions, without the reasons that were given for them."""
        return tuple(replace(each, reason="") for each in await self._checked.versions(key))

    async def content_at(self, key: str, n: int) -> Playbook | None:
        """Return the content of a version as others see it; None where it is not readable."""
        found = await self._checked.content_at(key, n)
        return None if found is None else await in_slices(outgoing(found))

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """Return nothing: a named playbook has no turns of its own."""
        return ()

    async def export(self, learner_id: str) -> LearnerExport:
        """Raise PlaybookForbidden: only the owner can have everything that is stored."""
        await self._checked.load(learner_id)
        raise forbidden(self._asked.name, Right.OWN)

    async def forget(self, learner_id: str) -> bool:
        """Delete the playbook. Raises PlaybookForbidden, PlaybookNotFound."""
        return await self._checked.forget(learner_id)

    async def close(self) -> None:
        """Do nothing: the store belongs to somebody else."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()


async def _seen(snapshot: Snapshot) -> Snapshot:
    return await in_slices(outgoing_snapshot(snapshot))
