"""`copy_store` when one of the stores changes meanwhile, or keeps something else than it was given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from ace_graph.memory.stores import WholeMemory
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.stores.copy_store import CopyProgress, Key, copy_store
from ace_graph.testing.conformance import adding, contents, created, record, write

ADA, BEN = Key("learner", "ada"), Key("learner", "ben")


@pytest.fixture
async def source(tmp_path: Path) -> AsyncGenerator[SQLiteStore]:
    async with SQLiteStore(tmp_path / "source.db") as store:
        for learner in ("ada", "ben"):
            await write(store, learner, adding(f"About {learner}"), record())
        yield store


@pytest.fixture
async def target(tmp_path: Path) -> AsyncGenerator[SQLiteStore]:
    async with SQLiteStore(tmp_path / "target.db") as store:
        yield store


def at(phase: str, done: int, job: Callable[[], object]) -> Callable[[CopyProgress], None]:
    """Do a job at this step."""

    def on_step(step: CopyProgress) -> None:
        if (step.phase, step.done) == (phase, done):
            job()

    return on_step


def elsewhere(path: Path | None, job: Callable[[SQLiteStore], Awaitable[object]]) -> None:
    """Do something with a store as another process does, while this one waits."""

    async def work() -> None:
        async with SQLiteStore(path) as store:
            await job(store)

    other = Thread(target=asyncio.run, args=(work(),))
    other.start()
    other.join()


def writing(path: Path | None, learner: str, text: str) -> None:
    elsewhere(path, lambda store: write(store, learner, adding(text)))


async def test_every_step_is_told_and_counted(source: SQLiteStore, target: SQLiteStore) -> None:
    await created(source, "ada", "Use version one")
    steps = list[CopyProgress]()
    result = await copy_store(source, target, on_step=steps.append)
    assert [(step.phase, step.done) for step in steps] == [
        *(("compared", n) for n in (1, 2, 3)),
        *(("copied", n) for n in (1, 2, 3)),
    ]
    assert {step.of for step in steps} == {3}
    assert (result.learners, result.playbooks, result.copied, result.turns) == (2, 1, 3, 2)


async def test_a_source_that_changes_meanwhile_is_told(source: SQLiteStore, target: SQLiteStore) -> None:
    late = at("copied", 1, lambda: writing(source.path, "ada", "Learned late"))
    result = await copy_store(source, target, on_step=late)
    assert (result.copied, result.changed, result.problems) == (2, (ADA,), ())
    again = await copy_store(source, target)
    assert (again.outdated, again.copied, again.changed) == (1, 1, ())
    assert contents(await target.load("ada")) == ["About ada", "Learned late"]


async def test_a_learner_that_is_forgotten_meanwhile(source: SQLiteStore, target: SQLiteStore) -> None:
    forgetting = at("compared", 2, lambda: elsewhere(source.path, lambda store: store.forget("ben")))
    result = await copy_store(source, target, on_step=forgetting)
    assert (result.copied, result.changed, result.problems) == (1, (BEN,), ())
    assert (await target.load("ben")).absent


async def test_a_target_that_is_written_meanwhile_stays(source: SQLiteStore, target: SQLiteStore) -> None:
    busy = at("compared", 2, lambda: writing(target.path, "ben", "Learned there"))
    result = await copy_store(source, target, on_step=busy)
    (problem,) = result.problems
    assert (problem.key, result.copied) == (BEN, 1)
    assert "was written to in the target meanwhile" in problem.why
    assert contents(await target.load("ben")) == ["Learned there"]


async def test_a_target_that_keeps_something_else_is_told(source: SQLiteStore, tmp_path: Path) -> None:
    class LosesTurns(SQLiteStore):
        async def put_whole(self, key: str, memory: WholeMemory, held: WholeMemory | None = None) -> bool:
            return await super().put_whole(key, replace(memory, turns=()), held)

    async with LosesTurns(tmp_path / "loses.db") as target:
        result = await copy_store(source, target)
    assert {problem.key for problem in result.problems} == {ADA, BEN}
    assert all("reads back from the target as something else" in each.why for each in result.problems)


async def test_a_store_in_memory_is_copied_to_a_file(target: SQLiteStore) -> None:
    store = SQLiteStore()
    for n in range(3):
        await write(store, "ada", adding(f"Fact {n} is about {n * 7}"), record(n))
    result = await copy_store(store, target)
    assert (result.copied, result.problems) == (1, ())
    await write(target, "ada", adding("Goes on"))
    assert len((await target.history("ada")).entries) == 4
