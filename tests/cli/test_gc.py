"""`ace-graph store clean` and `learner list`: what would go, what goes, and who is stored."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from ace_graph.base import Settings
from ace_graph.memory import Step, TurnReflection
from ace_graph.memory.delta import Reset
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.server.conversations import AcceptedTurn, open_conversations
from ace_graph.testing.conformance import record, rewriting, touching, write
from tests.cli.commands import Commands
from tests.server.serving import HandClock


def _grown(ace: Commands) -> None:
    """Ada has an old record and an old trace, Ben an old trace that nobody has reflected on."""

    async def work() -> None:
        now = datetime.now(UTC)
        async with SQLiteStore(ace.database) as store:
            for learner, name, days in (("ada", "older", 91), ("ada", "old", 31), ("ben", "old", 31)):
                at = now - timedelta(days=days)
                fields: dict[str, object] = {"started_at": at, "completed_at": at}
                fields["steps"] = (Step(kind="action", text="did it"),)
                if learner == "ada":
                    fields["reflections"] = (TurnReflection(turn_id=name, at=at),)
                await write(store, learner, touching(), record(turn_id=name).model_copy(update=fields))
                await write(store, learner, rewriting(Reset()))

    asyncio.run(work())


def test_a_dry_run_counts_without_deleting(ace: Commands) -> None:
    _grown(ace)
    told = {"learners": 2, "failed": 0, "steps": 1, "turns": 1, "deltas": 0, "unreflected": 1, "versions": 0}
    assert ace.ok("store", "clean", "--dry-run", "--json").json == {
        "dry_run": True,
        **told,
        "conversations": 0,
    }
    assert ace.ok("store", "clean", "--json").json == {"dry_run": False, **told, "conversations": 0}
    rest = {**told, "steps": 0, "turns": 0}
    assert ace.ok("store", "clean", "--json").json == {"dry_run": False, **rest, "conversations": 0}


def test_gc_reports_its_deletions_in_words(ace: Commands) -> None:
    _grown(ace)
    told = ace.ok("store", "clean", "--dry-run").out
    assert "Would delete the steps of 1 turn, 1 record of turns, 0 old deltas, 0 old versions" in told
    assert "Kept the steps of 1 old turn that nobody has reflected on" in told
    assert ace.ok("store", "clean", "--learner", "ben").out.startswith("Deleted the steps of 0 turns")
    assert ace.ok("store", "clean").out.startswith("Deleted the steps of 1 turn, 1 record of turns")


def test_gc_goes_by_the_settings(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    _grown(ace)
    for name in ("ACE_TRACE_DAYS", "ACE_RECORD_DAYS"):
        monkeypatch.setenv(name, "0")
    done = ace.ok("store", "clean", "--json").json
    assert (done["steps"], done["turns"]) == (0, 0)
    monkeypatch.setenv("ACE_RECORD_DAYS", "0.5")
    refused = ace("store", "clean")
    assert refused.code == 1
    assert "ACE_RECORD_DAYS" in refused.err


def test_gc_shows_a_bar_on_stderr_at_a_terminal(ace: Commands) -> None:
    _grown(ace)
    with ace.terminal("store", "clean") as terminal:
        terminal.expect("2/2")
        terminal.expect("Deleted the steps")
        assert terminal.end() == 0


def test_gc_deletes_conversations_once_a_limit_is_set(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    _grown(ace)

    async def talk() -> None:
        settings = Settings(memory_file=ace.database)
        async with open_conversations(settings, HandClock()) as conversations:  # long ago
            turn = await conversations.accept(AcceptedTurn("r", "c", "ada", "{}", thread_id="r"))
            await conversations.finish(turn)

    asyncio.run(talk())
    assert ace.ok("store", "clean", "--json").json["conversations"] == 0
    monkeypatch.setenv("ACE_CONVERSATION_DAYS", "30")
    assert ace.ok("store", "clean", "--dry-run", "--json").json["conversations"] == 1
    assert ace.ok("store", "clean", "--json").json["conversations"] == 1
    assert ace.ok("store", "clean", "--json").json["conversations"] == 0


def test_learners_are_listed_in_pages(ace: Commands) -> None:
    _grown(ace)
    ace.ok("playbook", "add", "Draw it", "--learner", "cy\x1b[31m")
    first = ace.ok("learner", "list", "--limit", "2", "--json").json
    assert [each["learner"] for each in first["learners"]] == ["ada", "ben"]
    assert first["next"] == "ben"
    last = datetime.fromisoformat(first["learners"][0]["last_turn"])
    assert timedelta(days=30) < datetime.now(UTC) - last < timedelta(days=32)
    second = ace.ok("learner", "list", "--after", first["next"], "--json").json
    assert [(each["learner"], each["last_turn"]) for each in second["learners"]] == [("cy\x1b[31m", None)]
    assert second["next"] is None
    shown = ace.ok("learner", "list", "--limit", "2")
    assert [line.split()[-1] for line in shown.out.splitlines()] == ["ada", "ben"]
    assert f"{last:%Y-%m-%d %H:%M}" in shown.out
    assert "learner list --after ben" in shown.err
    shown = ace.ok("learner", "list", "--after", "ben").out
    assert "no turn" in shown
    assert "cy\\x1b[31m" in shown


def test_an_empty_store_has_no_learner(ace: Commands) -> None:
    assert ace.ok("learner", "list", "--json").json == {"learners": [], "next": None}
    assert "no learner is stored" in ace.ok("learner", "list").err
