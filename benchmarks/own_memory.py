"""A learner's memory in one of our stores, used as a bare store of texts: keep one, find what fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from ace_graph.memory.delta.operations import Add, Delta
from ace_graph.memory.retrieval.retrieve import retrieve
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import Store
from benchmarks.available_stores import ROOMY, Place, seeded
from benchmarks.corpus import START, lessons, questions

__all__ = ["OwnMemory"]

_BUDGET = 2_000


@dataclass
class OwnMemory:
    """One process's use of one learner: it knows the newest snapshot."""

    store: Store
    learner: str
    _newest: Snapshot
    _new: Iterator[str]
    _questions: list[str]

    @classmethod
    async def with_texts(cls, place: Place, texts: int, times: int) -> OwnMemory:
        """Return a memory of so many texts, to keep and to find so many times."""
        store = place.open()
        learner = await seeded(store, texts)
        newest = await store.load(learner)
        return cls(store, learner, newest, iter(lessons(times + 10)), list(questions(times + 10)))

    async def keep(self, n: int) -> None:
        """Store a new text, in a commit."""
        at = START + timedelta(days=60, minutes=n)
        add = Add(content=next(self._new))
        delta = Delta(op_id=str(uuid4()), now=at, operations=(add,), author="benchmark")
        self._newest = (await self.store.commit(self.learner, delta, self._newest)).snapshot

    async def find(self, n: int) -> None:
        """Load what is new and find what fits the n-th question."""
        self._newest = await self.store.load(self.learner, self._newest)
        playbook, access, at = self._newest.playbook, self._newest.access, START + timedelta(days=61)
        retrieve(self._questions[n], playbook, access, ROOMY, now=at, budget_tokens=_BUDGET)

    async def close(self) -> None:
        """Forget the learner and close the store."""
        await self.store.forget(self.learner)
        await self.store.close()
