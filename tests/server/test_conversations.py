"""Whose conversations are, and whose turn it is, in SQLite and in PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from langgraph.checkpoint.base import CheckpointTuple

from ace_graph.base import ConfigurationError, OtherSchema, RequestRefused, StoreUnavailable
from ace_graph.server import Overrides
from ace_graph.server.conversations import (
    LEASE_SECONDS,
    SCHEMA,
    AcceptedTurn,
    ConversationDatabase,
    Conversations,
    UnsavedTurn,
    conversations_location,
    is_gone,
    new_owner,
    open_sqlite,
)
from tests.plugins.postgres_server import AVAILABLE
from tests.server.serving import HandClock, bearer, serving, settings_for
from tests.server.test_chat import LESSON, model

KINDS = ["sqlite", *(["postgres"] if AVAILABLE else [])]
TURN = AcceptedTurn("r1", "c1", "alice", '{"message": "x"}', thread_id="r1")


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where conversations are kept."""
    if request.param == "sqlite":
        return str(tmp_path / "conversations.db")
    return str(request.getfixturevalue("postgres"))


@asynccontextmanager
async def opened(place: str, clock: HandClock, owner: str = "one") -> AsyncGenerator[Conversations]:
    """The conversations as one server sees them, those of earlier tests forgotten."""
    async with database_at(place) as database:
        conversations = Conversations(database, clock, owner)
        await conversations.set_up()
        yield conversations


@asynccontextmanager
async def database_at(place: str) -> AsyncGenerator[ConversationDatabase]:
    """The database as it is found."""
    database: ConversationDatabase
    if place.startswith("postgresql://"):
        from ace_graph.server.conversations import open_postgres

        database = await open_postgres(place)
    else:
        database = await open_sqlite(Path(place))
    try:
        yield database
    finally:
        await database.close()


async def clean(conversations: Conversations) -> None:
    for learner in ("alice", "bob"):
        await conversations.forget(learner)


async def refusal(conversations: Conversations, turn: AcceptedTurn) -> int:
    with pytest.raises(RequestRefused) as caught:
        await conversations.accept(turn)
    return caught.value.status


async def test_one_turn_at_a_time_in_a_conversation(place: str) -> None:
    async with opened(place, HandClock()) as one:
        await clean(one)
        await one.accept(TURN)
        assert await refusal(one, replace(TURN, run_id="r2")) == 409
        await one.accept(replace(TURN, run_id="r3", conversation_id="c2", thread_id="r3"))
        assert await one.finish(TURN)
        assert not await one.finish(TURN), "it has ended already"
        assert (await one.accept(replace(TURN, run_id="r4", thread_id="r4"))).thread_id == "r1"
        assert [each.id for each in await one.of("alice")] == ["c1", "c2"]
        assert await one.of("bob") == []


async def test_one_id_of_two_learners_names_two_conversations(place: str) -> None:
    async with opened(place, HandClock()) as one:
        await clean(one)
        alices = await one.accept(TURN)
        bobs = await one.accept(replace(TURN, run_id="r2", learner_id="bob", thread_id="r2"))
        assert (bobs.known, bobs.thread_id) == ("nothing", "r2")
        assert await refusal(one, replace(TURN, run_id="r3", learner_id="bob", thread_id="r3")) == 409
        assert await one.forget("alice") == 1
        assert not await one.renew(alices)
        assert await one.renew(bobs)
        assert [each.id for each in await one.of("bob")] == ["c1"]


async def test_a_turn_is_taken_over_once_when_its_lease_has_run_out(place: str) -> None:
    clock = HandClock()
    async with opened(place, clock) as one, opened(place, clock, "two") as two:
        await clean(one)
        await one.accept(TURN)
        assert await two.claim_orphans() == []
        clock.move(LEASE_SECONDS - 1)
        assert await one.renew(TURN)
        clock.move(LEASE_SECONDS - 1)
        assert await two.claim_orphans() == []
        clock.move(2)
        assert await one.claim_orphans(busy={"r1"}) == [], "who works on it does not take it over"
        assert await two.claim_orphans() == [replace(TURN, tries=1, known="turn")]
        assert await two.claim_orphans() == []
        assert not await one.renew(TURN), "it is another's now"
        assert not await one.finish(TURN)
        assert await two.finish(TURN)


async def test_a_turn_that_two_servers_did_not_survive_is_given_up_by_the_third(place: str) -> None:
    clock = HandClock()
    async with (
        opened(place, clock) as one,
        opened(place, clock, "two") as two,
        opened(place, clock, "x") as x,
    ):
        await clean(one)
        await one.accept(TURN)
        clock.move(LEASE_SECONDS + 1)
        assert await x.give_up() == []
        (taken,) = await two.claim_orphans()
        clock.move(LEASE_SECONDS + 1)
        assert await x.give_up(busy={"r1"}) == [], "whoever works on it does not give it up"
        assert await x.claim_orphans() == [], "a third server does not touch it"
        (ended,) = await x.give_up()
        assert (await x.give_up(), await x.claim_orphans()) == ([], [])
        assert await x.given_up("alice") == [ended]
        assert await x.given_up("bob") == []
        assert "two servers" in ended.reason
        assert not await two.finish(taken), "it has ended"
        assert (await x.accept(replace(TURN, run_id="r2", thread_id="r2"))).known == "conversation"
        clock.move(31 * 24 * 3600)
        await x.forget("alice")
        assert await x.given_up("alice") == []


async def test_orderly_stops_are_no_reason_to_give_a_turn_up(place: str) -> None:
    clock = HandClock()
    async with opened(place, clock) as one:
        await clean(one)
        await one.accept(TURN)
        for _ in range(5):
            await one.release(TURN)
            assert await one.give_up() == []
            assert len(await one.claim_orphans()) == 1


async def test_a_turn_that_is_put_back_can_be_taken_at_once(place: str) -> None:
    clock = HandClock()
    async with opened(place, clock) as one, opened(place, clock, "two") as two:
        await clean(one)
        await one.accept(TURN)
        await one.release(TURN)
        assert [turn.run_id for turn in await two.claim_orphans()] == ["r1"]


async def test_forgetting_ends_turns_and_deletes_unsaved_work(place: str) -> None:
    clock = HandClock()
    async with opened(place, clock) as one:
        await clean(one)
        await one.accept(TURN)
        await one.finish(TURN, UnsavedTurn("t1", "alice", "{}"))
        await one.accept(TURN)
        assert [kept.turn_id for kept in await one.unsaved()] == ["t1"]
        assert await one.forget("alice") == 1
        assert (await one.unsaved(), await one.of("alice")) == ([], [])
        assert not await one.renew(TURN)
        clock.move(60)
        assert await one.claim_orphans() == []
        await one.accept(replace(TURN, run_id="r9", thread_id="r9"))


async def checkpoints(conversations: Conversations, learner: str) -> list[CheckpointTuple]:
    """Every checkpoint of a learner's conversations."""
    saver = conversations.database.saver
    threads = [each.thread_id for each in await conversations.of(learner)]
    return [
        found
        for thread in threads
        async for found in saver.alist({"configurable": {"thread_id": thread, "checkpoint_ns": ""}})
    ]


async def test_two_servers_share_conversations_and_old_checkpoints_go(place: str, tmp_path: Path) -> None:
    async with opened(place, HandClock()) as earlier:
        await clean(earlier)
    settings = settings_for(tmp_path, conversations=place)
    scripted = [model("Hello", lesson=LESSON), model("Tom", "Who are you?")]
    async with (
        serving(settings, Overrides(model=scripted[0])) as one,
        serving(settings, Overrides(model=scripted[1])) as two,
    ):
        await one.ask("My cat is called Tom", "shared")
        await two.ask("What is its name?", "shared")
        conversations = one.app.state.services.conversations
        kept = await checkpoints(conversations, "alice")
        other = await two.post("What is its name?", "shared", learner="bob")
        told = (await one.client.get("/api/learner/export")).json()["conversations"]
        threads = [each.thread_id for each in await conversations.of("alice")]
        gone = await two.client.delete("/api/learner", headers=bearer())
        saver = conversations.database.saver
        left = [each async for each in saver.alist({"configurable": {"thread_id": threads[0]}})]
        bobs = (await one.client.get("/api/learner/export", headers=bearer("bob"))).json()["conversations"]
    assert [m.text for m in scripted[1].calls_of("solver")[0].messages[1:]] == [
        "My cat is called Tom", "Hello", "What is its name?",
    ]  # fmt: skip
    assert other.json()["answer"] == "Who are you?"
    assert len(kept) == 1
    assert len(told[0]["messages"]) == 4
    assert gone.json() == {"forgotten": True, "conversations": 1}
    assert left == []
    assert [m["content"] for m in bobs[0]["messages"]] == ["What is its name?", "Who are you?"]


@pytest.fixture
def old_place(request: pytest.FixtureRequest, place: str) -> str:
    """Where version 0.1 kept conversations; in PostgreSQL a database of its own."""
    if not place.startswith("postgresql://"):
        return place
    import psycopg

    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS old")
        connection.execute("CREATE DATABASE old")
    return place.rpartition("/")[0] + "/old"


async def test_conversations_of_version_0_1_are_refused_as_they_are(old_place: str) -> None:
    async with database_at(old_place) as database:
        await database.execute(
            "CREATE TABLE ace_conversations (id TEXT PRIMARY KEY, learner_id TEXT NOT NULL)", ()
        )
        with pytest.raises(OtherSchema, match="left as they are: name another place in ACE_CONVERSATIONS"):
            await Conversations(database, HandClock(), "x").set_up()
        names = ("ace_conversation_schema", "ace_conversations")
        assert await database.execute(database.own["NAMED_TABLES"], names) == [("ace_conversations",)]


async def test_conversations_of_another_version_are_left_alone(place: str) -> None:
    async with opened(place, HandClock()) as one:
        await clean(one)
        await one.database.execute("UPDATE ace_conversation_schema SET name = '9 later'", ())
        try:
            with pytest.raises(OtherSchema, match="9 later"):
                await one.set_up()
        finally:
            await one.database.execute("UPDATE ace_conversation_schema SET name = ?", (SCHEMA,))


async def test_servers_that_start_at_once_make_the_tables_once(old_place: str) -> None:
    async with database_at(old_place) as one, database_at(old_place) as two:
        both = [Conversations(each, HandClock(), "x") for each in (one, two)]
        await asyncio.gather(*(each.set_up() for each in both))
        assert await one.execute("SELECT name FROM ace_conversation_schema", ()) == [(SCHEMA,)]


async def test_a_conversation_goes_on_behind_a_server_whose_clock_was_ahead(
    place: str, tmp_path: Path
) -> None:
    async with opened(place, HandClock()) as earlier:
        await clean(earlier)
    settings = settings_for(tmp_path, conversations=place)
    async with serving(settings, Overrides(model=model("one", "two", "three"))) as served:
        saver = served.app.state.services.conversations.database.saver
        await served.ask("What is one?", "shared")
        (conversation,) = await served.app.state.services.conversations.of("alice")
        here = {"configurable": {"thread_id": conversation.thread_id, "checkpoint_ns": ""}}
        kept = await saver.aget_tuple(here)
        ahead = {**kept.checkpoint, "id": "1fffffff-0000-6000-8000-000000000000"}
        await saver.aput(here, ahead, kept.metadata, ahead["channel_versions"])
        await served.ask("What is two?", "shared")
        await served.ask("What is three?", "shared")
        told = (await served.client.get("/api/learner/export")).json()["conversations"]
        await served.client.delete("/api/learner")
    assert [m["content"] for m in told[0]["messages"]] == [
        "What is one?", "one", "What is two?", "two", "What is three?", "three",
    ]  # fmt: skip


def test_a_process_that_ended_is_known_and_one_that_lives_is_not() -> None:
    mine = new_owner()
    machine, namespace, pid, started, _ = mine.split("|")
    assert not is_gone(new_owner(), mine)
    assert is_gone(f"{machine}|{namespace}|{pid}|{int(started) - 1}|x", mine), "the pid was reused"
    assert is_gone(f"{machine}|{namespace}|{2**22 + 1}|5|x", mine)
    assert not is_gone(f"elsewhere|{namespace}|{2**22 + 1}|5|x", mine)
    assert not is_gone(f"{machine}|another|{2**22 + 1}|5|x", mine)
    assert not is_gone("odd", mine)


def test_conversations_are_stored_beside_the_memory_by_default(tmp_path: Path) -> None:
    assert conversations_location(settings_for(tmp_path)) == tmp_path / "ace-conversations.db"
    assert conversations_location(settings_for()) is None
    given = {name: settings_for(conversations=name) for name in ("x.db", "sqlite:////srv/x.db")}
    assert conversations_location(given["x.db"]) == Path("x.db").absolute()
    assert conversations_location(given["sqlite:////srv/x.db"]) == Path("/srv/x.db")
    url = "postgresql://ace@db/ace"
    assert conversations_location(settings_for(conversations=url)) == url
    with pytest.raises(ConfigurationError, match="ACE_CONVERSATIONS"):
        conversations_location(settings_for(conversations="mysql://x"))


async def test_an_unusable_location_is_an_error_without_the_password(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StoreUnavailable, match="conversations"):
        await open_sqlite(blocked / "x.db")
