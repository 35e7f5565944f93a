"""Processes that write for one learner at once, one of which is killed, or the server under them."""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process

import pytest

from ace_graph.memory import Policy
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import PostgresStore
from ace_graph.testing import check
from ace_graph.testing.conformance import adding, contents, new_learner, write
from tests.memory.stores.neo4j.writer_process import SHARED, Work, command, lesson
from tests.plugins.postgres_server import OwnPostgres
from tests.plugins.sizes import PATIENT, sized
from tests.plugins.warm_python import WarmPython

WRITERS = 20


async def _expect(store: Store, learner: str, writers: int, turns: int) -> None:
    """Every update of every writer is there exactly once, and the history explains the state."""
    loaded = await store.load(learner)
    lessons = [lesson(writer, turn) for writer in range(writers) for turn in range(turns)]
    assert contents(loaded) == sorted(["Draw a bar", *lessons])
    assert loaded.playbook.entries[SHARED].helpful == writers * turns
    assert loaded.access.access_clock == loaded.version.n == 1 + writers * turns
    assert len(await store.turns(learner, 1000)) == writers * turns
    assert await check(store, learner) == []


@pytest.mark.slow
@pytest.mark.heavy
async def test_twenty_processes_write_for_one_learner_and_lose_nothing(
    postgres: str, warm_python: WarmPython
) -> None:
    learner, turns = new_learner(), sized(2, 6)
    async with PostgresStore(postgres, Policy(max_bullets=500), timeout=PATIENT) as store:
        await write(store, learner, adding("Draw a bar"))
        work = Work(postgres, learner, WRITERS, turns, patient=True)
        writing = await asyncio.create_subprocess_exec(
            *command(work, warm_python), stdout=DEVNULL, stderr=PIPE
        )
        said = (await writing.communicate())[1].decode()
        assert (said, writing.returncode) == ("", 0)
        await _expect(store, learner, WRITERS, turns)


@pytest.mark.slow
async def test_a_process_killed_in_mid_commit_leaves_each_update_once(
    postgres: str, warm_python: WarmPython
) -> None:
    learner = new_learner()
    doing = command(Work(postgres, learner, 1, 4), warm_python)
    async with PostgresStore(postgres, timeout=PATIENT) as store:
        await write(store, learner, adding("Draw a bar"))
        killed = await asyncio.create_subprocess_exec(*doing, stdout=PIPE, stderr=DEVNULL)
        assert killed.stdout is not None
        while (await killed.stdout.readline()) != b"began 2\n":
            pass
        killed.send_signal(signal.SIGKILL)
        await killed.communicate()
        assert await check(store, learner) == []
        assert 3 <= (await store.load(learner)).version.n <= 5, "when the signal arrives is not ours to say"
        again = await asyncio.create_subprocess_exec(*doing, stdout=DEVNULL)
        assert await again.wait() == 0
        await _expect(store, learner, 1, 4)


@pytest.mark.slow
async def test_a_server_killed_under_twenty_writers_loses_nothing(
    own_postgres: OwnPostgres, warm_python: WarmPython
) -> None:
    server = own_postgres()
    await asyncio.to_thread(server.start)
    learner, turns = new_learner(), sized(3, 8)
    async with PostgresStore(server.url, Policy(max_bullets=500), timeout=PATIENT) as store:
        await write(store, learner, adding("Draw a bar"))
        work = Work(server.url, learner, WRITERS, turns, patient=True)
        running = await asyncio.create_subprocess_exec(*command(work, warm_python), stdout=PIPE)
        await _until_done(running, WRITERS)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        await running.communicate()
        assert running.returncode == 0
        await _expect(store, learner, WRITERS, turns)


async def _until_done(process: Process, commits: int) -> None:
    assert process.stdout is not None
    while commits:
        line = await process.stdout.readline()
        assert line
        commits -= line.startswith(b"done")
