"""`ace-graph store copy`: there and back on real databases, killed and resumed, refused, verified."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from ace_graph.base import Settings
from ace_graph.memory.delta import Reset
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.server.conversations import AcceptedTurn, Conversations, open_database
from ace_graph.testing.conformance import record, rewriting, write
from tests.cli.commands import Commands
from tests.consolidation.planted import OTHERS, PARAPHRASES, bullets
from tests.plugins.neo4j_server import Neo4jServer
from tests.plugins.warm_python import WarmPython
from tests.server.serving import HandClock

ROOT = Path(__file__).parents[2]


async def _plant(database: Path, learner: str) -> None:
    async with SQLiteStore(database) as store:
        await write(store, learner, rewriting(Reset(bullets=bullets(*PARAPHRASES, *OTHERS))))


@pytest.fixture
def filled(ace: Commands, monkeypatch: pytest.MonkeyPatch, learner: str) -> tuple[Commands, str, str]:
    """Two learners in a SQLite file with everything that a store keeps, and their ids."""
    ada, eve = f"{learner}-ada", f"{learner}-eve"
    monkeypatch.setenv("ACE_LEARNING", "background")
    monkeypatch.setenv("ACE_MODEL", "offline")
    asyncio.run(_plant(ace.database, ada))
    ace.ok("chat", "--learner", ada, stdin="Call me Ada. I prefer pictures.\nWhat is 1/2 + 1/3?\n")
    ace.ok("worker", "--once")
    ace.ok("chat", "--learner", ada, stdin="What is 3/4 + 1/6?\n")  # leaves pending work
    ace.ok("playbook", "consolidate", "--learner", ada)
    trajectory = ace.ok("trajectory", "start", "crawl the index", "--learner", eve).out.strip()
    ace.ok("trajectory", "log", trajectory, "action", "opened a page", "--learner", eve)
    ace.ok("trajectory", "complete", trajectory, "failure", "--learner", eve)
    ace.ok("playbook", "create", "api", "--learner", ada, "--description", "for calls")
    for n in range(3):
        ace.ok("playbook", "add", f"Retry after {400 + n}", "--learner", ada, "--name", "api")
    ace.ok("playbook", "rollback", "2", "--learner", ada, "--name", "api")
    ace.ok("share", "grant", "api", "--learner", ada, "--to", f"user:{eve}", "--as", "contributor")
    ace.ok("share", "team", "add", f"{learner}-ops", ada, eve)
    ace.ok("playbook", "add", "Send the key in a header", "--learner", eve)
    bullet = ace.bullets(eve)[0]["id"]
    ace.ok("share", "propose", f"{ada}/api", bullet, "--learner", eve)
    return ace, ada, eve


def exports(ace: Commands, store: str, *learners: str) -> list[str]:
    return [ace.ok("learner", "export", learner, "--store", store).out for learner in learners]


def dumped(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def login(server: Neo4jServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Set the login of the Neo4j of the run, and return its address."""
    for name in ("username", "password", "database"):
        value = getattr(server, name)
        if value is not None:
            monkeypatch.setenv(f"NEO4J_{name.upper()}", value)
    return server.uri


@pytest.mark.slow
def test_there_and_back_on_all_stores_is_the_same_to_the_byte(
    filled: tuple[Commands, str, str],
    empty_postgres: str,
    neo4j: Neo4jServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ace, *learners = filled
    first, last = "sqlite:///ace.db", "sqlite:///back.db"
    before, original = exports(ace, first, *learners), dumped(ace.database)
    places = [first, empty_postgres, login(neo4j, monkeypatch), last]
    for source, target in pairwise(places):
        for learner in learners:
            done = ace.ok("store", "copy", source, target, "--learner", learner, "--json").json
            assert (done["complete"], done["same"]) == (True, 0)
            assert done["copied"] == done["learners"] + done["playbooks"] > 0
            assert ace.ok("store", "copy", source, target, "-l", learner, "--verify-only").code == 0
        assert exports(ace, target, *learners) == before
    assert dumped(ace.database) == original, "the source is only read"
    ada, eve = learners
    ace.ok("playbook", "consolidate", "undo", "--learner", ada, "--store", last)
    assert {
        each["content"]
        for each in ace.ok("playbook", "show", "--json", "--learner", ada, "--store", last).json["bullets"]
    } >= set(PARAPHRASES)
    assert ace.ok("trajectory", "list", "--learner", eve, "--store", last).out
    ace.ok("worker", "--once", "--store", last)
    api = ("--name", "api", "--learner", ada, "--store", last)
    assert ace.ok("playbook", "rollback", "3", *api).code == 0
    for learner in learners:
        ace.ok("learner", "forget", learner, "--yes", "--store", places[2])


@pytest.fixture
def five(ace: Commands) -> Commands:
    """Five learners with a turn each, and a team of two."""

    async def fill() -> None:
        async with SQLiteStore(ace.database) as store:
            for n in range(5):
                await write(store, f"learner {n}", rewriting(), record(n))
            await store.add_members("ops", ("learner 0", "learner 4"))

    asyncio.run(fill())
    return ace


COPY = ("store", "copy", "sqlite:///ace.db")
OTHER = "sqlite:///other.db"


@pytest.mark.parametrize("place", ["sqlite", "postgresql"])
def test_a_copy_that_was_killed_goes_on(
    five: Commands, place: str, warm_python: WarmPython, request: pytest.FixtureRequest
) -> None:
    target = OTHER if place == "sqlite" else str(request.getfixturevalue("empty_postgres"))
    child = target.replace("///", f"///{five.folder}/") if place == "sqlite" else target
    command = warm_python("-m", "tests.cli.killed_copy", f"sqlite:///{five.database}", child, "3")
    killed = subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    verified = five(*COPY, target, "--verify-only", "--json")
    assert (verified.code, verified.json["same"], verified.json["missing"]) == (1, 2, 3)
    resumed = five.ok(*COPY, target, "--json").json
    assert (resumed["same"], resumed["copied"], resumed["memberships"]) == (2, 3, 2)
    again = five.ok(*COPY, target, "--json").json
    assert (again["same"], again["copied"], again["complete"]) == (5, 0, True)
    for n in range(5):
        exported = five.ok("learner", "export", f"learner {n}").out
        assert five.ok("learner", "export", f"learner {n}", "--store", target).out == exported
    listed = five.ok("learner", "list", "--store", target, "--json").json["learners"]
    assert len(listed) == 5


def test_what_changed_in_the_source_is_copied_again(five: Commands) -> None:
    assert "Copied 5 of 5 to sqlite:///other.db; 0 were" in five.ok(*COPY, OTHER).out
    five.ok("playbook", "add", "Name the unit", "--learner", "learner 1")
    five.ok("playbook", "create", "api", "--learner", "learner 2")
    unequal = five(*COPY, OTHER, "--verify-only")
    assert unequal.code == 1
    assert "learner learner 1 is older there, version 0, than in the source, version 1: copy" in unequal.err
    assert (
        "Would copy 2 of 6 (1 missing there, 1 older there); 4 were the same there already"
        in five.ok(*COPY, OTHER, "--dry-run").out
    )
    done = five.ok(*COPY, OTHER, "--json").json
    assert (done["same"], done["missing"], done["outdated"], done["copied"]) == (4, 1, 1, 2)
    shown = five.ok("playbook", "show", "--learner", "learner 1", "--store", OTHER).out
    assert "Name the unit" in shown


def test_a_target_with_other_memories_is_left_alone(five: Commands) -> None:
    five.ok("playbook", "add", "Another memory", "--learner", "learner 3", "--store", OTHER)
    five.ok("playbook", "add", "Of nobody here", "--learner", "zoe", "--store", OTHER)
    before = dumped(five.folder / "other.db")
    done = five(*COPY, OTHER)
    assert done.code == 1
    assert "learner learner 3 is another memory there, at version 1: forget it there, or choose" in done.err
    assert "nothing was copied" in done.err
    assert dumped(five.folder / "other.db") == before
    five.ok("learner", "forget", "learner 3", "--yes", "--store", OTHER)
    copied = five.ok(*COPY, OTHER, "--json").json
    assert (copied["copied"], copied["only_in_target"]) == (5, 1)


def test_a_target_that_was_used_since_is_left_alone(five: Commands) -> None:
    five.ok(*COPY, OTHER)
    five.ok("playbook", "add", "Learned there", "--learner", "learner 1", "--store", OTHER)
    five.ok("playbook", "add", "Learned here", "--learner", "learner 2")
    done = five(*COPY, OTHER)
    assert done.code == 1
    assert "learner learner 1 was written to there, and has version 1 and 1 turns; in the" in done.err
    assert (
        five.ok("playbook", "show", "--json", "--learner", "learner 2", "--store", OTHER).json["bullets"]
        == []
    )


def test_a_dry_run_writes_nothing(five: Commands) -> None:
    done = five.ok(*COPY, OTHER, "--dry-run", "--json").json
    assert (done["missing"], done["copied"], done["turns"], done["mode"]) == (5, 0, 5, "dry_run")
    assert not (five.folder / "other.db").exists()


def test_a_damaged_memory_is_named_and_the_others_are_copied(five: Commands) -> None:
    connection = sqlite3.connect(five.database)
    with connection:
        connection.execute("UPDATE ace_bases SET memory_json = '{' WHERE user_id = 'learner 2'")
    connection.close()
    assert five(*COPY, OTHER, "--dry-run").code == 1
    done = five(*COPY, OTHER, "--json")
    assert (done.code, done.json["copied"]) == (1, 4)
    (problem,) = done.json["problems"]
    assert (problem["kind"], problem["name"]) == ("learner", "learner 2")
    assert "damaged" in problem["why"]


@pytest.mark.parametrize(
    ("source", "target", "code", "told"),
    [
        ("sqlite:///none.db", OTHER, 1, "there is no file"),
        ("sqlite:///ace.db", "memory://", 1, "when this process ends"),
        ("memory://", OTHER, 1, "when this process ends"),
        ("sqlite:///ace.db", "sqlite:///./ace.db", 2, "the same store"),
        ("sqlite:///ace.db", "mysql://x", 1, "is not a kind of store"),
        ("sqlite:///ace.db", "postgresql://me:hunter2@127.0.0.1:9/ace", 1, "can't be reached"),
        ("neo4j://127.0.0.1:9", OTHER, 1, "127.0.0.1:9"),
    ],
)
def test_a_wrong_place_is_one_sentence(
    five: Commands, source: str, target: str, code: int, told: str
) -> None:
    done = five("store", "copy", source, target)
    assert (done.code, done.out) == (code, "")
    assert told in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert "hunter2" not in done.err
    assert not (five.folder / "none.db").exists()


def test_one_learner_is_copied_alone(five: Commands) -> None:
    done = five.ok(*COPY, OTHER, "--learner", "learner 4", "--json").json
    assert (done["learners"], done["copied"], done["memberships"]) == (1, 1, 1)
    assert five.ok("share", "team", "list", "ops", "--store", OTHER).out.split() == ["learner", "4"]
    nobody = five(*COPY, OTHER, "--learner", "nobody")
    assert (nobody.code, nobody.out) == (1, "")
    assert "nothing is stored about learner nobody" in nobody.err
    both = five(*COPY, OTHER, "--dry-run", "--verify-only")
    assert both.code == 2


def test_conversations_are_copied_by_a_command_of_their_own(
    ace: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_CONVERSATIONS", "elsewhere.db")
    asyncio.run(_begin_conversation(ace.folder / "talks.db"))
    command = ("store", "copy-conversations", "talks.db", "sqlite:///there.db")
    assert "Copied 1 of 1 conversation to sqlite:///there.db; 0 were the same" in ace.ok(*command).out
    done = ace.ok(*command, "--verify-only", "--json").json
    assert (done["complete"], done["same"], done["mode"]) == (True, 1, "verify")
    missing = ace("store", "copy-conversations", "talks.db", "none.db", "--verify-only")
    assert (missing.code, missing.out) == (1, "")
    assert "there is no file" in missing.err
    assert ace("store", "copy-conversations", "talks.db", "talks.db").code == 2
    assert not (ace.folder / "elsewhere.db").exists()


async def _begin_conversation(path: Path) -> None:
    async with open_database(str(path), Settings()) as database:
        conversations = Conversations(database, HandClock(), "one")
        await conversations.accept(AcceptedTurn("r1", "c1", "ada", "{}", thread_id="r1"))
