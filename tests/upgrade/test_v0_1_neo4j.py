"""A Neo4j that version 0.1 wrote is read unchanged, and goes on.

The learners are put into the database that all tests share, each under an id of its own. One test has a
server to itself, with the schema of 0.1.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from neo4j import Driver, GraphDatabase

from tests.cli.commands import Commands
from tests.plugins.neo4j_server import Neo4jServer, OwnNeo4j
from tests.upgrade.cypher import learner_only, statements
from tests.upgrade.memory_of_v0_1 import GoingOn, Reading
from tests.upgrade.old import ADA, DATA, LEARNERS, Old

DUMP = (DATA / "neo4j.cypher").read_text("utf-8")


def _driver(server: Neo4jServer) -> Driver:
    auth = None if server.password is None else (server.username or "neo4j", server.password)
    return GraphDatabase.driver(server.uri, auth=auth)  # pyright: ignore[reportUnknownMemberType]  # the driver's options have no types


class TestNeo4j(Reading, GoingOn):
    """A learner is put there when a test asks for it."""

    @pytest.fixture
    def old(self, neo4j: Neo4jServer, ace: Commands, monkeypatch: pytest.MonkeyPatch) -> Old:
        if neo4j.password is not None:
            monkeypatch.setenv("NEO4J_USERNAME", neo4j.username or "neo4j")
            monkeypatch.setenv("NEO4J_PASSWORD", neo4j.password)
        old = Old("neo4j", neo4j.uri, ace, _placing(neo4j))
        old.figures("nobody")  # so that the schema is there
        return old

    def test_the_bullets_are_drawn_anew(self, old: Old, neo4j: Neo4jServer) -> None:
        name = old.place(ADA)
        old.ace("neo4j", "project", "--learner", name)
        with _driver(neo4j) as driver:
            rows = driver.execute_query(
                "MATCH (:AceMemoryState {user_id: $uid})-[:HAS_BULLET]->(b) RETURN b.id AS id", uid=name
            ).records
        assert {row["id"] for row in rows} == set(old.figures(name))

    def test_the_hosts_own_node_stays(self, old: Old, neo4j: Neo4jServer) -> None:
        name = old.place(ADA)
        old.ace("learner", "forget", name, "--yes")
        with _driver(neo4j) as driver:
            (row,) = driver.execute_query("MATCH (u:User {id: $uid})--(c) RETURN u, c", uid=name).records
        assert dict(row["u"].items()) == {"id": name, "email": "ada@example.org"}
        assert dict(row["c"].items()) == {"name": "7b"}


def _placing(neo4j: Neo4jServer) -> Callable[[str], str]:
    placed = dict[str, str]()

    def place(learner: str) -> str:
        if learner not in placed:
            placed[learner] = f"{learner}-{uuid4()}"
            with _driver(neo4j) as driver, driver.session() as session:
                for statement in learner_only(DUMP, learner, placed[learner]):
                    session.run(statement).consume()  # pyright: ignore[reportArgumentType]  # a file's text
        return placed[learner]

    return place


@pytest.mark.heavy
def test_a_whole_database_of_0_1_is_brought_up_to_date(own_neo4j: OwnNeo4j, ace: Commands) -> None:
    server = own_neo4j()
    server.start()
    with _driver(Neo4jServer(server.uri)) as driver, driver.session() as session:
        for statement in statements(DUMP):
            session.run(statement).consume()  # pyright: ignore[reportArgumentType]  # a file's text
        old = Old("neo4j", server.uri, ace, str)
        for learner in LEARNERS:
            Reading().test_everything_is_exported_as_0_1_exported_it(old, learner)
            Reading().test_every_figure_is_what_0_1_said(old, learner)
            Reading().test_the_history_folds_to_every_version(old, learner)
        steps = session.run("MATCH (m:AceMigration) RETURN m.name AS name ORDER BY name").values()
    assert [name for (name,) in steps][:5] == [
        "0001_keys",
        "0002_turns",
        "0003_bullets",
        "0004_pending",
        "0005_trajectories",
    ]
    GoingOn().test_a_turn_goes_on_with_what_is_there(old)


def test_a_process_of_0_1_that_is_still_connected_changes_nothing(
    neo4j: Neo4jServer, ace: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its statements, as it runs them with what it knew before the upgrade, find nothing to write to."""
    if neo4j.password is not None:
        monkeypatch.setenv("NEO4J_USERNAME", neo4j.username or "neo4j")
        monkeypatch.setenv("NEO4J_PASSWORD", neo4j.password)
    old = Old("neo4j", neo4j.uri, ace, _placing(neo4j))
    name = old.place(ADA)
    with _driver(neo4j) as driver:
        (before,) = driver.execute_query(_STATE_OF_0_1, uid=name).records
        old.figures(name)  # a process of today reads the learner, and upgrades it
        (after,) = driver.execute_query(_STATE_OF_0_1, uid=name).records
        written = driver.execute_query(
            _UPDATE_OF_0_1, uid=name, epoch=before["epoch"], etag=before["etag"], clock=before["clock"]
        ).records
        kept = driver.execute_query(_KEEP_OF_0_1, uid=name, base=1).records
        (still,) = driver.execute_query(_STATE_OF_0_1, uid=name).records
    assert before["memory_json"] is not None
    assert after["memory_json"] is None
    assert '"format":4' in after["access_json"]  # of which it says: upgrade ace-graph
    assert [row["fresh"] for row in written] == [False]
    assert kept == []
    assert still == after


_STATE_OF_0_1 = """
MATCH (m:AceMemoryState {user_id: $uid})
RETURN m.epoch AS epoch, m.etag AS etag, m.access_clock AS clock, m.access_json AS access_json,
  m.memory_json AS memory_json
"""
_UPDATE_OF_0_1 = """
MATCH (l:AceLock {user_id: $uid}) SET l.seq = l.seq + 1
WITH l MATCH (m:AceMemoryState {user_id: $uid})
WITH m, coalesce(m.epoch = $epoch AND m.etag = $etag AND m.access_clock = $clock, false) AS fresh
FOREACH (state IN CASE WHEN fresh THEN [1] ELSE [] END | SET m.memory_json = 'overwritten')
RETURN fresh
"""
_KEEP_OF_0_1 = """
MATCH (m:AceMemoryState {user_id: $uid}) WHERE m.base_version <= $base AND $base <= m.version
SET m.base_version = $base RETURN m.user_id AS changed
"""
