"""Servers of their own for tests that kill them, require a password, or need an empty one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from asyncio.subprocess import PIPE, Process

import pytest

from ace_graph.base import OtherSchema, StoreAuthError
from ace_graph.memory import Policy
from ace_graph.memory.stores.neo4j import SCHEMA, STATEMENTS, Neo4jStore
from ace_graph.testing import check
from ace_graph.testing.conformance import adding, contents, write
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.memory.stores.neo4j.writer_process import Work, command, lesson
from tests.plugins.neo4j_process import RECIPE
from tests.plugins.neo4j_server import Neo4jServer, OwnNeo4j
from tests.plugins.sizes import PATIENT, sized

_PASSWORD = "a-password-of-the-tests"


@pytest.mark.slow
@pytest.mark.heavy
async def test_writers_lose_nothing_when_a_new_server_is_killed(own_neo4j: OwnNeo4j, learner: str) -> None:
    server = own_neo4j()
    await asyncio.to_thread(server.start)
    writers, turns = sized(3, 8), sized(4, 6)
    work = Work(server.uri, learner, writers, turns, patient=True)
    running = await asyncio.create_subprocess_exec(*command(work), stdout=PIPE)
    await _until_done(running, 2 * writers)
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    await running.communicate()
    assert running.returncode == 0

    async with Neo4jStore(server.uri, policy=Policy(max_bullets=500), timeout=PATIENT) as store:
        loaded = await store.load(learner)
        assert contents(loaded) == sorted(
            lesson(writer, turn) for writer in range(writers) for turn in range(turns)
        )
        assert loaded.access.access_clock == loaded.version.n == writers * turns
        assert len(await store.turns(learner, 1000)) == writers * turns
        assert await check(store, learner) == []
    subject = Neo4jSubject(Neo4jServer(server.uri))
    await _schema_is_complete(subject)
    await _a_schema_that_was_half_made_is_completed(subject)
    await _another_schema_is_refused(subject)


async def _until_done(process: Process, commits: int) -> None:
    assert process.stdout is not None
    while commits:
        line = await process.stdout.readline()
        assert line
        commits -= line.startswith(b"done")


async def _schema_is_complete(subject: Neo4jSubject) -> None:
    rows = await subject.cypher("MATCH (n:AceSchema) RETURN n.name AS name")
    assert [row["name"] for row in rows] == [SCHEMA]
    rows = await subject.cypher("SHOW INDEXES YIELD name, state WHERE name STARTS WITH 'ace_'")
    assert {row["state"] for row in rows} == {"ONLINE"}
    assert len(rows) == len(STATEMENTS)


async def _a_schema_that_was_half_made_is_completed(subject: Neo4jSubject) -> None:
    await subject.cypher("DROP CONSTRAINT ace_bullet_id")
    await subject.cypher("MATCH (n:AceSchema) DELETE n")
    async with subject.open() as store:
        await store.load("ada")
    await subject.cypher("CALL db.awaitIndexes(30)")
    await _schema_is_complete(subject)


async def _another_schema_is_refused(subject: Neo4jSubject) -> None:
    for other in ("(:AceSchema {name: '9'})", "(:AceMigration {name: '0001_keys'})"):
        await subject.cypher(f"CREATE {other}")
        async with subject.open() as store:
            with pytest.raises(OtherSchema, match=r"left as it is.*playbook export.*playbook import"):
                await store.load("ada")
        await subject.cypher("MATCH (n:AceSchema {name: '9'}) DELETE n")


@pytest.mark.slow
@pytest.mark.heavy
async def test_a_wrong_login_is_reported_and_a_right_one_works(
    locked_neo4j: Neo4jServer, learner: str
) -> None:
    server = locked_neo4j
    await _refused(_store(server.uri, "neo4j", "neo4j"), "first password")
    await asyncio.to_thread(_set_password, server.uri)

    await _refused(_store(server.uri, "neo4j", "wrong-password"), "NEO4J_PASSWORD")
    await _refused(_store(server.uri, "nobody", _PASSWORD), "NEO4J_USERNAME")
    await _refused(_store(server.uri), "NEO4J_PASSWORD")
    for uri in (server.uri, server.uri.replace("bolt", "neo4j")):
        async with _store(uri, "neo4j", _PASSWORD) as store:
            await write(store, learner, adding("Draw a bar"))
            assert _PASSWORD not in repr(vars(store.backend))
    await _nothing_is_printed(server, learner)


def _set_password(uri: str) -> None:
    script = [sys.executable, str(RECIPE / "set_password.py"), uri]
    subprocess.run(script, input=_PASSWORD, text=True, check=True)


def _store(uri: str, username: str | None = None, password: str | None = None) -> Neo4jStore:
    return Neo4jStore(uri, username=username, password=password, database="neo4j", timeout=PATIENT)


async def _refused(store: Neo4jStore, named: str) -> None:
    async with store, asyncio.timeout(PATIENT / 4):  # it is not tried again until the store's time is up
        with pytest.raises(StoreAuthError, match=named) as raised:
            await store.load("ada")
    assert "wrong-password" not in str(raised.value)
    assert _PASSWORD not in str(raised.value)


async def _nothing_is_printed(server: Neo4jServer, learner: str) -> None:
    """A program that uses a new database, and ends without closing the store, prints nothing about it."""
    work = Work(server.uri, learner, username="neo4j", password=_PASSWORD)
    process = await asyncio.create_subprocess_exec(*command(work), stdout=PIPE, stderr=PIPE)
    _, said = await process.communicate()
    assert (said.decode(), process.returncode) == ("", 0)
