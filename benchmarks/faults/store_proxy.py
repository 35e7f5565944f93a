"""A store that passes every call on to another one; a subclass makes some of them fail."""

from __future__ import annotations

from typing import Self

from ace_graph.memory.commit import Commit, History, Pending
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport
from ace_graph.memory.stores.store import Store
from ace_graph.memory.turn import TurnRecord

__all__ = ["StoreProxy"]


class StoreProxy:
    """Passes every call on to `inner`."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """The name of the store inside."""
        return self._inner.name

    @property
    def policy(self) -> Policy:
        """The policy of the store inside."""
        return self._inner.policy

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """See `Store.load`."""
        return await self._inner.load(learner_id, known)

    def __getattr__(self, name: str) -> object:
        """Pass on what is not here."""
        return getattr(self._inner, name)

    async def commit(
        self,
        learner_id: str,
        delta: Delta,
        base: Snapshot,
        record: TurnRecord | None = None,
        pending: Pending | None = None,
    ) -> Commit:
        """See `Store.commit`."""
        return await self._inner.commit(learner_id, delta, base, record, pending)

    async def history(self, learner_id: str) -> History:
        """See `Store.history`."""
        return await self._inner.history(learner_id)

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """See `Store.turns`."""
        return await self._inner.turns(learner_id, limit)

    async def export(self, learner_id: str) -> LearnerExport:
        """See `Store.export`."""
        return await self._inner.export(learner_id)

    async def forget(self, learner_id: str) -> bool:
        """See `Store.forget`."""
        return await self._inner.forget(learner_id)

    async def close(self) -> None:
        """See `Store.close`."""
        await self._inner.close()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._inner.__aexit__(*exc_info)
