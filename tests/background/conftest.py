"""A graph that learns in the background, its worker, and a time that only moves when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langchain_core.language_models import BaseChatModel

from ace_graph.base import Settings
from ace_graph.graph import ACEGraph, build_ace_graph
from ace_graph.learning import RetryPolicy, Worker, build_worker
from ace_graph.memory.stores import SnapshotCache
from ace_graph.memory.stores.sql import SQLiteStore

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LESSON = {"lessons": [{"content": "Make the denominators equal first", "topic": "fraction_addition"}]}


class Time:
    """A clock, and a sleep that moves it. `wait` lets tasks that sleep go on, one after the other."""

    def __init__(self) -> None:
        self.now = NOON

    def clock(self) -> datetime:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    async def sleep(self, seconds: float) -> None:
        """Time passes at once; nobody waits."""
        self.pass_(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SQLiteStore:
    return SQLiteStore() if request.param == "memory" else SQLiteStore(tmp_path / "ace.db")


Build = Callable[..., ACEGraph]
Hire = Callable[..., Worker]


@pytest.fixture
def build(store: SQLiteStore, time: Time) -> Build:
    """build(model): a graph that leaves learning to a worker, which may share its snapshots."""

    def make(model: BaseChatModel, snapshots: SnapshotCache | None = None) -> ACEGraph:
        return build_ace_graph(
            model=model,
            store=store,
            settings=Settings(),
            learning="background",
            clock=time.clock,
            snapshots=snapshots,
        )

    return make


@pytest.fixture
def hire(store: SQLiteStore, time: Time) -> Hire:
    """hire(model, **arguments of build_worker): a worker on the same store and time."""

    def make(model: BaseChatModel, **more: object) -> Worker:
        given: dict[str, object] = {"concurrency": 1, "terms": RetryPolicy(), "sleep": time.sleep, **more}
        return build_worker(model=model, store=store, settings=Settings(), clock=time.clock, **given)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # a test's shorthand

    return make
