"""The command line on a real Neo4j."""

from __future__ import annotations

import asyncio

import pytest

from ace_graph.memory.stores.neo4j import SCHEMA
from tests.cli.commands import Commands
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer, OwnNeo4j
from tests.plugins.sizes import PATIENT


@pytest.mark.slow
def test_the_doctor_shows_server_schema_and_learners(shared: Commands, learner: str) -> None:
    shared.ok("playbook", "add", "Draw it", "--learner", learner)
    done = shared.ok("doctor")
    line = next(line for line in done.out.splitlines() if "store versions" in line)
    assert "Neo4j " in line
    assert f"schema {SCHEMA}" in line
    assert int(line.rpartition("learners: ")[2]) >= 1


@pytest.mark.slow
def test_two_chats_share_a_learner_and_its_bullets_are_drawn(shared: Commands, learner: str) -> None:
    shared.ok("chat", "--learner", learner, stdin="Call me Ann. I prefer pictures.\n")
    second = shared.ok("chat", "--learner", learner, stdin="What is 1/2 + 1/3?\n").out
    assert "Ann" in second
    assert "[#####.]" in second
    shared.ok("playbook", "create", "api", "--learner", learner)
    drawn = shared.ok("store", "project", "--learner", learner).out
    assert drawn.startswith("2 bullets drawn as nodes, of 2 memories and playbooks")
    shared.ok("learner", "forget", learner)
    assert shared.bullets(learner) == []


@pytest.fixture
def alone(
    ace: Commands, own_neo4j: OwnNeo4j, monkeypatch: pytest.MonkeyPatch
) -> tuple[Commands, Neo4jSubject]:
    """The commands on a Neo4j that nobody else writes to."""
    server = own_neo4j()
    server.start()
    monkeypatch.delenv("ACE_MEMORY_FILE")
    monkeypatch.setenv("NEO4J_URI", server.uri)
    monkeypatch.setenv("ACE_STORE_TIMEOUT", str(PATIENT))
    return ace, Neo4jSubject(Neo4jServer(server.uri))


def _graph_row(ace: Commands) -> tuple[str, str, str]:
    (row,) = (each for each in ace.ok("doctor", "--json").json["checks"] if each["check"] == "graph in Neo4j")
    return row["status"], row["found"], row["fix"]


def _contents(subject: Neo4jSubject) -> list[str]:
    rows = asyncio.run(
        subject.cypher("MATCH ()-[:HAS_BULLET]->(b) RETURN b.content AS content ORDER BY content")
    )
    return [row["content"] for row in rows]


@pytest.mark.slow
def test_the_graph_is_behind_until_it_is_drawn(
    alone: tuple[Commands, Neo4jSubject], monkeypatch: pytest.MonkeyPatch
) -> None:
    ace, subject = alone
    monkeypatch.setenv("ACE_MODEL", "offline")

    assert _graph_row(ace)[:2] == ("ok", "shows the newest version of everything")
    ace.ok("playbook", "add", "Draw a bar", "--learner", "ada")
    ace.ok("playbook", "create", "api", "--learner", "ada")
    status, found, fix = _graph_row(ace)
    assert status == "warn"
    assert "of 2 memories and playbooks, the oldest change is of 20" in found
    assert "store project --all" in fix

    monkeypatch.setenv("ACE_NEO4J_GRAPH", "false")
    assert _graph_row(ace)[0] == "ok"
    ace.ok("worker", "--once")
    refused = ace("store", "project", "--all")
    assert (refused.code, refused.out, _contents(subject)) == (1, "", [])
    assert "ACE_NEO4J_GRAPH" in refused.err

    monkeypatch.delenv("ACE_NEO4J_GRAPH")
    ace.ok("worker", "--once")
    assert _contents(subject) == ["Draw a bar"]
    assert _graph_row(ace)[0] == "ok"

    ace.ok("playbook", "add", "Name the unit", "--learner", "ben")
    asyncio.run(subject.cypher("MATCH (b:AceBullet) SET b.content = 'edited'"))
    done = ace.ok("store", "project", "--all").out
    assert done.startswith("2 bullets drawn as nodes, of 3 memories and playbooks")
    assert _contents(subject) == ["Draw a bar", "Name the unit"]
    assert _graph_row(ace)[0] == "ok"


def test_drawing_needs_a_neo4j(ace: Commands) -> None:
    done = ace("store", "project")
    assert (done.code, done.out) == (1, "")
    assert "NEO4J_URI" in done.err
