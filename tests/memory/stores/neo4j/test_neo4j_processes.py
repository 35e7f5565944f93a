"""Processes that write for one learner at once, one of which is killed."""

from __future__ import annotations

import asyncio
import json
import signal
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import asdict

import pytest

from ace_graph.memory import Policy
from ace_graph.memory.stores import Store
from ace_graph.testing import check
from ace_graph.testing.conformance import adding, contents, write
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.memory.stores.neo4j.writer_process import SHARED, Work, command, lesson
from tests.plugins.neo4j_server import Neo4jServer
from tests.plugins.sizes import sized
from tests.plugins.warm_python import WarmPython

_FORKING = """
import asyncio, json, os, sys
from ace_graph.testing.conformance.writing import adding, write
from tests.plugins.neo4j_server import Neo4jServer
from tests.plugins.sizes import sized
from tests.plugins.warm_python import WarmPython
from tests.memory.stores.neo4j.subject import Neo4jSubject

server, learner = Neo4jServer(**json.loads(sys.argv[1])), sys.argv[2]
store = Neo4jSubject(server).open()
asyncio.run(write(store, learner, adding("Written before the fork")))
child = os.fork()
if child == 0:
    asyncio.run(write(store, learner, adding("Written by the child")))
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
asyncio.run(write(store, learner, adding("Written by the parent")))
"""


@pytest.fixture
def subject(neo4j: Neo4jServer) -> Neo4jSubject:
    return Neo4jSubject(neo4j)


def _work(server: Neo4jServer, learner: str, writers: int = 1) -> Work:
    return Work(server.uri, learner, writers, 4, server.username, server.password, patient=True)


async def _expect(store: Store, learner: str, writers: int, turns: int) -> None:
    """Every update of every writer is there exactly once, and the history explains the state."""
    loaded = await store.load(learner)
    lessons = [lesson(writer, turn) for writer in range(writers) for turn in range(turns)]
    assert contents(loaded) == sorted(["Draw a bar", *lessons])
    assert loaded.playbook.entries[SHARED].helpful == writers * turns
    assert loaded.access.access_clock == 1 + writers * turns
    assert loaded.version.n == 1 + writers * turns
    assert len(await store.turns(learner, 1000)) == writers * turns
    assert await check(store, learner) == []


@pytest.mark.slow
@pytest.mark.heavy
async def test_many_processes_write_for_one_learner_and_lose_nothing(
    subject: Neo4jSubject, warm_python: WarmPython, learner: str
) -> None:
    writers = sized(8, 20)
    async with subject.open(Policy(max_bullets=500)) as store:
        await write(store, learner, adding("Draw a bar"))
        writing = await asyncio.create_subprocess_exec(
            *command(_work(subject.server, learner, writers), warm_python), stdout=DEVNULL, stderr=PIPE
        )
        said = (await writing.communicate())[1].decode()
        assert (said, writing.returncode) == ("", 0)
        await _expect(store, learner, writers, 4)


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0, 2])
@pytest.mark.heavy
async def test_a_process_killed_in_mid_commit_leaves_each_update_once(
    subject: Neo4jSubject, warm_python: WarmPython, learner: str, turn: int
) -> None:
    doing = command(_work(subject.server, learner), warm_python)
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"))
        killed = await asyncio.create_subprocess_exec(*doing, stdout=PIPE, stderr=DEVNULL)
        assert killed.stdout is not None
        while (await killed.stdout.readline()) != f"began {turn}\n".encode():
            pass
        killed.send_signal(signal.SIGKILL)
        await killed.communicate()
        assert await check(store, learner) == []
        assert 1 + turn <= (await store.load(learner)).version.n <= 5, "it may have gone on before the kill"
        again = await asyncio.create_subprocess_exec(*doing, stdout=DEVNULL)
        assert await again.wait() == 0
        await _expect(store, learner, 1, 4)


@pytest.mark.slow
@pytest.mark.heavy
async def test_a_store_used_before_a_fork_works_on_both_sides(
    subject: Neo4jSubject, warm_python: WarmPython, learner: str
) -> None:
    process = await asyncio.create_subprocess_exec(
        *warm_python("-W", "error", "-c", _FORKING, json.dumps(asdict(subject.server)), learner),
        stderr=PIPE,
    )
    said = (await process.communicate())[1].decode()
    assert (said, process.returncode) == ("", 0)
    async with subject.open() as store:
        written = contents(await store.load(learner))
    assert written == ["Written before the fork", "Written by the child", "Written by the parent"]
