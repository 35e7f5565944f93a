"""A graph with a scripted model and a store that counts: what the graph's tests share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from langchain_core.language_models import BaseChatModel

from ace_graph.graph import ACEGraph, build_ace_graph
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta import Add, Delta, Operation
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.in_memory import InMemoryStore
from ace_graph.memory.turn import TurnRecord
from ace_graph.settings import Settings


@dataclass
class Calls:
    """What was asked of the store."""

    loads: int = 0
    commits: list[Delta] = field(default_factory=list[Delta])
    records: list[TurnRecord | None] = field(default_factory=list[TurnRecord | None])


class CountingStore(InMemoryStore):
    """An in-memory store that counts, and fails on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = Calls()
        self.load_error: Exception | None = None
        self.commit_error: Exception | None = None

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        self.calls.loads += 1
        if self.load_error is not None:
            raise self.load_error
        return await super().load(learner_id, known)

    async def commit(
        self, learner_id: str, delta: Delta, base: Snapshot, record: TurnRecord | None = None
    ) -> Commit:
        self.calls.commits.append(delta)
        self.calls.records.append(record)
        if self.commit_error is not None:
            raise self.commit_error
        return await super().commit(learner_id, delta, base, record)

    async def seed(self, learner_id: str, *operations: Operation) -> Snapshot:
        """Commit operations before the test; not counted."""
        base = await super().load(learner_id)
        delta = Delta(
            op_id=f"seed-{base.access.access_clock}",
            now=base_moment(),
            operations=operations or (Add(content="x"),),
        )
        return (await super().commit(learner_id, delta, base)).snapshot

    async def now(self, learner_id: str) -> Snapshot:
        """The stored state; not counted."""
        return await super().load(learner_id)


def base_moment() -> datetime:
    """A fixed moment."""
    return datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


Build = Callable[..., ACEGraph]


@pytest.fixture
def build(store: CountingStore) -> Build:
    """Build a graph on `store`: build(model, **arguments of build_ace_graph)."""

    def make(model: BaseChatModel, **arguments: object) -> ACEGraph:
        given: dict[str, object] = {"settings": Settings(), "store": store, **arguments}
        return build_ace_graph(model=model, **given)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # a test's shorthand

    return make
