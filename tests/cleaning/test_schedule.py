"""Cleaning happens without being asked, by one process of all, and never holds up what it looks after."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from ace_graph.base import Settings, StoreUnavailable
from ace_graph.cli import Call
from ace_graph.cli.worker import worker
from ace_graph.learning import INTERVAL_SECONDS, PeriodicJob, memory_cleaning, run_jobs
from ace_graph.learning import cleaning as schedule
from ace_graph.memory.delta import Reset
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteDatabase, SQLiteStore
from ace_graph.testing.conformance import record, rewriting, touching, write
from tests.background.conftest import NOON, Time


async def _old_turn(store: Store, learner: str, days_ago: float = 100) -> None:
    """One turn of long ago, and a clear, so that it is no recent one."""
    at = NOON - timedelta(days=days_ago)
    fields: dict[str, object] = {"started_at": at, "completed_at": at}
    await write(store, learner, touching(), record(turn_id="old").model_copy(update=fields))
    await write(store, learner, rewriting(Reset()))


class Waits:
    """A sleep that ends when the test says so, and notes how long it was to be."""

    def __init__(self) -> None:
        self.asked = list[float]()
        self.sleepers = 1
        self._turns = asyncio.Semaphore(0)
        self.began = asyncio.Semaphore(0)

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        self.began.release()
        await self._turns.acquire()

    async def all_asleep(self) -> None:
        """Wait until all who are looked after sleep."""
        for _ in range(self.sleepers):
            await self.began.acquire()

    async def next(self) -> None:
        """Let all sleep until they sleep again."""
        for _ in range(self.sleepers):
            self._turns.release()
        await self.all_asleep()


@asynccontextmanager
async def _kept(*jobs: PeriodicJob, chance: float = 0.5) -> AsyncGenerator[Waits]:
    waits = Waits()
    async with run_jobs(jobs, waits, lambda: chance):
        waits.sleepers = len(jobs)
        await waits.all_asleep()
        yield waits


def _cleaning(store: Store, time: Time, settings: Settings | None = None) -> PeriodicJob:
    return memory_cleaning(store, settings or Settings(), time.clock, time.sleep)


async def test_it_waits_a_random_while_first_and_between(time: Time) -> None:
    for chance in (0.25, 1.0):
        async with _kept(_cleaning(SQLiteStore(), time), chance=chance) as waits:
            await waits.next()
        assert waits.asked == [60 * chance, 600 * (0.5 + chance)]


async def test_of_all_processes_one_cleans_every_six_hours(time: Time) -> None:
    database = SQLiteDatabase()
    one, two = (SQLiteStore(database) for _ in range(2))
    await _old_turn(one, "ada")
    async with _kept(_cleaning(one, time)) as first, _kept(_cleaning(two, time)) as second:
        await second.next()
        assert (await one.sizes()).turns == 0
        await _old_turn(one, "ben")
        time.pass_(INTERVAL_SECONDS - 60)
        await first.next()
        await second.next()
        assert (await one.sizes()).turns == 1, "it is not due yet"
        time.pass_(60)
        await first.next()
        assert (await one.sizes()).turns == 0


async def test_it_goes_by_the_settings(time: Time) -> None:
    store = SQLiteStore()
    await _old_turn(store, "ada")
    async with _kept(_cleaning(store, time, Settings(trace_days=0, record_days=0))) as waits:
        await waits.next()
    assert (await store.sizes()).turns == 1


@pytest.mark.parametrize("trouble", [StoreUnavailable("away"), RuntimeError("what a learner said")])
async def test_a_job_that_fails_is_logged_and_tried_again(
    trouble: Exception, time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    troubles, store = [trouble], SQLiteStore()
    await _old_turn(store, "ada")

    async def failing() -> None:
        if troubles:
            raise troubles.pop()

    async with _kept(failing, _cleaning(store, time)) as waits:
        await waits.next()
        assert (await store.sizes()).turns == 0, "the other job is done all the same"
        await waits.next()
    assert "cleaning" in caplog.text
    assert "what a learner said" not in caplog.text


async def test_a_job_that_takes_long_delays_no_other(time: Time) -> None:
    store = SQLiteStore()
    await _old_turn(store, "ada")

    async def endless() -> None:
        await asyncio.Event().wait()

    async with run_jobs([endless, _cleaning(store, time)], lambda _: asyncio.sleep(0.001)):
        while (await store.sizes()).turns:  # noqa: ASYNC110  the test's own timeout is pytest's
            await asyncio.sleep(0.001)


def test_the_worker_cleans_without_being_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class EndsWithTheFirstCleaning(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            if "[Clean]" in record.getMessage():
                os.kill(os.getpid(), signal.SIGTERM)
            return True

    url, ends = f"sqlite:///{tmp_path / 'ace.db'}", EndsWithTheFirstCleaning()
    store, logger = SQLiteStore(tmp_path / "ace.db"), logging.getLogger("ace_graph")
    asyncio.run(_old_turn(store, "ada", days_ago=9_000))
    monkeypatch.setattr(schedule, "FIRST_CHECK_SECONDS", 0.0)
    monkeypatch.setenv("ACE_MODEL", "offline")
    monkeypatch.chdir(tmp_path)
    logger.addFilter(ends)
    try:
        worker(Call(store=url), concurrency=1)
        assert asyncio.run(store.sizes()).turns == 0
    finally:
        logger.removeFilter(ends)
        asyncio.run(store.close())
