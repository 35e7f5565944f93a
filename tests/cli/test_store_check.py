"""`ace-graph store backup` and `store check`: on three stores, what is damaged is named, the rest is kept."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.stores.check import check_all
from ace_graph.stores.copy_store import CopyProgress
from ace_graph.testing.conformance import adding, created, record, write
from tests.cli.commands import Commands
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer, OwnNeo4j
from tests.plugins.sizes import PATIENT

LEARNERS = ("ada", "ben", "eve", "zoe")
Damage = Callable[[], None]
"""Breaks the record of eve's turn, and the change that zoe's content comes from."""


@pytest.fixture
def filled(ace: Commands) -> Commands:
    """Four learners with a turn each, a named playbook and a team, in ace.db."""

    async def fill() -> None:
        async with SQLiteStore(ace.database) as store:
            for n, learner in enumerate(LEARNERS):
                await write(store, learner, adding(f"About {learner}"), record(n))
            await created(store, "ada", "Use version one")
            await store.add_members("ops", ("ada", "zoe"))

    asyncio.run(fill())
    return ace


def _exports(ace: Commands, store: str) -> list[str]:
    return [ace.ok("learner", "export", learner, "--store", store).out for learner in LEARNERS]


def _back_up_and_check(ace: Commands, store: str, damage: Damage) -> None:
    """What holds on any store."""
    whole = ace.ok("store", "check", "--store", store)
    assert "4 learners, 1 named playbook, 4 turns, 5 commits of the history, 0 pending items" in whole.out
    assert "Nothing is damaged." in whole.out
    done = ace.ok("store", "backup", "good.db", "--store", store)
    assert "Backed up 5 of 5 to good.db, and read it again: 4 learners, 1 named playbook, 4 turns" in done.out
    assert stat.S_IMODE(Path("good.db").stat().st_mode) & 0o077 == 0
    assert _exports(ace, "sqlite:///good.db") == _exports(ace, store)
    assert ace.ok("store", "copy", store, "sqlite:///good.db", "--verify-only").code == 0

    damage()
    told = ace("store", "check", "--store", store)
    assert told.code == 1
    assert "Nothing is damaged" not in told.out
    named = told.err.splitlines()
    assert [line.split()[1:3] for line in named] == [
        ["learner", "eve"],
        *[["learner", "zoe"]] * len(named[1:]),
    ]
    assert "the record of turn" in named[0]
    assert "the present content" in named[1]
    found = ace("store", "check", "--store", store, "--json").json
    assert (found["ok"], found["learners"], found["playbooks"]) == (False, 4, 1)
    assert {(each["kind"], each["name"]) for each in found["problems"]} == {
        ("learner", "eve"),
        ("learner", "zoe"),
    }

    partial = ace("store", "backup", "partial.db", "--store", store, "--json")
    assert partial.code == 1
    assert {each["name"] for each in partial.json["problems"]} >= {"zoe"}
    assert "About ada" in ace.ok("learner", "export", "ada", "--store", "sqlite:///partial.db").out
    assert ace.ok("store", "check", "--store", "sqlite:///good.db").code == 0


def test_a_backup_and_a_check_on_sqlite(filled: Commands) -> None:
    def damage() -> None:
        with closing(sqlite3.connect(filled.database)) as connection, connection:
            connection.execute("UPDATE ace_turns SET record_json = '{' WHERE user_id = 'eve'")
            connection.execute("UPDATE ace_deltas SET effect_json = '{' WHERE user_id = 'zoe'")

    _back_up_and_check(filled, "sqlite:///ace.db", damage)


@pytest.mark.heavy
def test_a_backup_and_a_check_on_postgresql(filled: Commands, empty_postgres: str) -> None:
    def damage() -> None:
        with psycopg.connect(empty_postgres) as connection:
            connection.execute("UPDATE ace_turns SET record_json = '{' WHERE user_id = 'eve'")
            connection.execute("UPDATE ace_deltas SET effect_json = '{' WHERE user_id = 'zoe'")

    filled.ok("store", "copy", "sqlite:///ace.db", empty_postgres)
    _back_up_and_check(filled, empty_postgres, damage)


@pytest.mark.slow
@pytest.mark.heavy
def test_a_backup_and_a_check_on_neo4j(
    filled: Commands, own_neo4j: OwnNeo4j, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_STORE_TIMEOUT", str(PATIENT))
    server = own_neo4j()
    server.start()
    subject = Neo4jSubject(Neo4jServer(server.uri))

    def damage() -> None:
        turn = "MATCH (t:AceTurn {user_id: 'eve'}) SET t.record_json = '{'"
        asyncio.run(subject.cypher(turn))
        asyncio.run(subject.cypher("MATCH (d:AceDelta {user_id: 'zoe'}) SET d.effect_json = '{'"))

    filled.ok("store", "copy", "sqlite:///ace.db", server.uri)
    _back_up_and_check(filled, server.uri, damage)


def test_a_backup_overwrites_nothing(filled: Commands) -> None:
    Path("mine.db").write_text("precious", encoding="utf-8")
    os.symlink("nowhere.db", "link.db")
    for name in ("mine.db", "link.db", "ace.db"):
        done = filled("store", "backup", name)
        assert (done.code, done.out) == (1, "")
        assert f"{name} is there already" in done.err
    assert Path("mine.db").read_text("utf-8") == "precious"
    assert not Path("nowhere.db").exists()


def test_a_file_that_was_made_meanwhile_stays(filled: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def late(source: Path, target: Path) -> None:
        Path("late.db").touch()
        link(source, target)

    filled.ok("store", "check")  # the temporary names of SQLite files are linked, too
    monkeypatch.setattr("ace_graph.cli.store.os.link", late)
    done = filled("store", "backup", "late.db")
    assert done.code == 1
    assert "was created meanwhile" in done.err
    assert Path("late.db").read_bytes() == b""


def test_a_backup_that_failed_leaves_no_file(ace: Commands) -> None:
    before = sorted(ace.folder.iterdir())
    done = ace("store", "backup", "b.db", "--store", "postgresql://me:hunter2@127.0.0.1:9/ace")
    assert (done.code, done.out) == (1, "")
    assert "can't be reached" in done.err
    assert "hunter2" not in done.err
    gone = ace("store", "backup", "b.db")
    assert "there is no file" in gone.err
    folder = ace("store", "backup", "no/such/b.db")
    assert "there is no folder" in folder.err
    assert sorted(ace.folder.iterdir()) == before


@pytest.mark.parametrize(
    ("store", "told"),
    [
        ("memory://", "when this process ends"),
        ("sqlite:///none.db", "there is no file"),
        ("neo4j://127.0.0.1:9", "127.0.0.1:9"),
        ("mysql://x", "is not a kind of store"),
    ],
)
def test_a_check_of_no_store_is_one_sentence(ace: Commands, store: str, told: str) -> None:
    done = ace("store", "check", "--store", store)
    assert (done.code, done.out) == (1, "")
    assert told in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not Path("none.db").exists()


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE ace_deltas SET effect_json = '{' WHERE user_id = 'ben'", "the change to version 1"),
        ("UPDATE ace_deltas SET report_json = '7' WHERE user_id = 'ben'", "the report of version 1"),
        (
            "UPDATE ace_deltas SET at = 'soon' WHERE user_id = 'ben'",
            "learner ben what is stored has another form",
        ),
        ("UPDATE ace_learners SET access_json = '' WHERE user_id = 'ben'", "the present content"),
        ("DELETE FROM ace_deltas WHERE user_id = 'ben'", "the present content"),
        (
            "UPDATE ace_learners SET created_at = '' WHERE user_id = 'ben'",
            "list of learners can't be read on after ada",
        ),
        ("UPDATE ace_named_deltas SET report_json = ''", "playbook "),
        ("DELETE FROM ace_named_catalogue", "is in no catalogue"),
    ],
)
def test_each_damaged_part_is_named(filled: Commands, statement: str, named: str) -> None:
    with closing(sqlite3.connect(filled.database)) as connection, connection:
        connection.execute(statement)
    done = filled("store", "check")
    assert done.code == 1
    assert named in done.err
    assert len(done.err.strip().splitlines()) <= 2
    assert "Traceback" not in done.err


def test_a_page_of_the_file_that_was_overwritten_is_told(filled: Commands) -> None:
    with closing(sqlite3.connect(filled.database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'ace_turns_by_agent'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    content = bytearray(filled.database.read_bytes())
    content[(root - 1) * size : root * size] = b"\xff" * size
    filled.database.write_bytes(content)
    done = filled("store", "check")
    assert done.code == 1
    assert "damage" in done.err
    assert "restore it from a backup" in done.err


async def test_a_check_tells_how_far_it_is(filled: Commands) -> None:
    steps = list[CopyProgress]()
    async with SQLiteStore(filled.database) as store:
        found = await check_all(store, steps.append)
    assert [(step.phase, step.done, step.of) for step in steps] == [("read", n, 5) for n in range(1, 6)]
    assert found.problems == ()
