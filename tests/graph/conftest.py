"""A graph with a scripted model and a store that counts: what the graph's tests share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig

from ace_graph.agent import ACEInput
from ace_graph.base import Settings
from ace_graph.graph import ACEGraph, build_ace_graph
from ace_graph.memory import Amend, Commit, Pending, PendingItem, Snapshot, TurnRecord
from ace_graph.memory.delta import Add, Delta, Operation
from ace_graph.memory.stores.sql import SQLiteStore


@dataclass
class Calls:
    """What was asked of the store."""

    loads: int = 0
    commits: list[Delta] = field(default_factory=list[Delta])
    bases: list[Snapshot] = field(default_factory=list[Snapshot])
    records: list[TurnRecord | None] = field(default_factory=list[TurnRecord | None])


class CountingStore(SQLiteStore):
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
        self,
        learner_id: str,
        delta: Delta,
        base: Snapshot,
        record: TurnRecord | Amend | None = None,
        pending: Pending | PendingItem | None = None,
    ) -> Commit:
        self.calls.commits.append(delta)
        self.calls.bases.append(base)
        self.calls.records.append(record if isinstance(record, TurnRecord) else None)
        if self.commit_error is not None:
            raise self.commit_error
        return await super().commit(learner_id, delta, base, record, pending)

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


def ask(text: str = "What is 1/2 + 1/3?", mode: str | None = None) -> ACEInput:
    """Return the input of a run: one question, and the mode to force."""
    return said([HumanMessage(text)], mode)


def said(messages: Sequence[object], mode: str | None = None) -> ACEInput:
    """Return the input of a run with a conversation, in any form that LangGraph takes."""
    given = cast("ACEInput", {"messages": list(messages)})
    return {**given, "mode": mode} if mode else given


def thread(name: str, **more: object) -> RunnableConfig:
    """Return the config of a run on a thread, with more configurable values."""
    return {"configurable": {"thread_id": name, **more}}


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
