"""Reflecting over many runs: how many there must be, which are read, and what is stored of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypedDict, Unpack

import pytest
from langchain_core.embeddings import Embeddings

from ace_graph.base import UsageError
from ace_graph.learning import BatchReflection, NotEnough, batch_reflect, curate
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing.conformance import NOON
from tests.learning.reflected_runs import add_run, add_runs
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer

FIRST = "Check the rate limit before you call the API"
AGAIN = "Check the rate limits before you call the API."
FIVE = [FIRST, AGAIN, FIRST, "Cache the schema in a file", "Log every response body"]


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    made = SQLiteStore() if request.param == "memory" else SQLiteStore(tmp_path / "ace.db")
    async with made as opened:
        yield opened


class _Options(TypedDict, total=False):
    agent: str
    task_type: str
    since: datetime
    embeddings: Embeddings


async def _reflected(store: Store, learner: str = "bot", **options: Unpack[_Options]) -> BatchReflection:
    found = await batch_reflect(store, learner, **options)
    assert isinstance(found, BatchReflection)
    return found


async def test_four_runs_are_not_enough_and_nothing_is_written(store: Store) -> None:
    await add_runs(store, "bot", FIVE[:4])
    before = await store.export("bot")
    assert await batch_reflect(store, "bot") == NotEnough(found=4, needed=5)
    assert await batch_reflect(store, "nobody") == NotEnough(found=0, needed=5)
    assert await store.export("bot") == before
    assert (await store.load("nobody")).absent


async def test_five_runs_give_patterns_that_can_be_curated(store: Store) -> None:
    await add_runs(store, "bot", FIVE)
    version = (await store.load("bot")).version
    found = await _reflected(store)
    assert [each.pattern.frequency for each in found.patterns] == [3, 1, 1]
    assert found.patterns[0].pattern.trajectory_ids == ("run-0", "run-1", "run-2")
    assert (await store.load("bot")).version == version, "a batch is no change of the playbook"
    done = await curate(store, "bot", [found.patterns[0].memory_id])
    (added,) = done.added
    bullet = (await store.load("bot")).playbook.entries[added.id]
    assert (bullet.content, bullet.evidence_count) == (FIRST, 3)
    assert bullet.examples == ("run-0", "run-1", "run-2")


async def test_the_batch_is_a_trajectory_that_no_batch_reads(store: Store) -> None:
    await add_runs(store, "bot", FIVE)
    found = await _reflected(store)
    assert (await _reflected(store)).trajectory_id == found.trajectory_id
    turns = await store.turns("bot")
    assert len(turns) == 6
    (batch,) = [turn for turn in turns if turn.agent == "reflector"]
    assert (batch.turn_id, batch.task_type) == (found.trajectory_id, "batch_reflection")
    assert [each.reflection_id for each in batch.reflections] == [each.memory_id for each in found.patterns]


async def test_agent_type_and_time_select_the_runs(store: Store) -> None:
    await add_runs(store, "bot", FIVE)
    await add_run(store, "bot", "other", FIRST, minute=9, agent="clerk", task_type="mail")
    late = NOON + timedelta(minutes=8)
    every: list[_Options] = [{"agent": "clerk"}, {"task_type": "mail"}, {"since": late}]
    for options in every:
        assert await batch_reflect(store, "bot", **options) == NotEnough(1, 5)
    assert (await _reflected(store, agent="crawler", task_type="api_call", since=NOON)).found == 5
    assert await batch_reflect(store, "bot", since=NOON + timedelta(days=400)) == NotEnough(0, 5)


async def test_runs_without_a_reflection_are_named(store: Store) -> None:
    await add_runs(store, "bot", FIVE[:4])
    await add_run(store, "bot", "silent", minute=7, reflected=False)
    await add_run(store, "bot", "open", minute=8, reflected=False, status="in_progress", completed_at=None)
    found = await _reflected(store)
    assert (found.found, found.unreflected) == (5, ("silent",))


async def test_a_minimum_below_two_is_refused(store: Store) -> None:
    with pytest.raises(UsageError):
        await batch_reflect(store, "bot", min_trajectories=1)


class _Near(Embeddings):
    """Says that all texts mean the same, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self._error is not None:
            raise self._error
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.mark.parametrize(("error", "patterns"), [(None, 1), (ConnectionError("down"), 3)])
async def test_embeddings_join_other_words_and_may_fail(
    store: Store, error: Exception | None, patterns: int
) -> None:
    await add_runs(store, "bot", FIVE)
    assert len((await _reflected(store, embeddings=_Near(error))).patterns) == patterns


async def test_neo4j_keeps_batches_and_what_was_curated(neo4j: Neo4jServer, learner: str) -> None:
    async with Neo4jSubject(neo4j).open() as store:
        for n, text in enumerate(FIVE):
            await add_run(store, learner, f"{learner}-{n}", text, minute=n)
        found = await _reflected(store, learner)
        assert [each.pattern.frequency for each in found.patterns] == [3, 1, 1]
        done = await curate(store, learner, [found.patterns[0].memory_id])
        assert [each.text for each in done.added] == [FIRST]
        again = await curate(store, learner, [found.patterns[0].memory_id])
        assert (again.status, again.version) == ("repeated", done.version)
