"""Whose conversations are, and whose turn it is, in SQLite and in PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ace_graph.errors import ConfigurationError, RequestRefused, StoreUnavailable
from ace_graph.server import Brought
from ace_graph.server.conversations import LEASE_SECONDS, Accepted, Conversations, Unsaved
from ace_graph.server.database_sqlite import open_sqlite
from ace_graph.server.owner import is_gone, new_owner
from ace_graph.server.place import conversations_place
from tests.server.postgres import AVAILABLE, running_postgres
from tests.server.serving import HandClock, bearer, serving, settings_for
from tests.server.test_chat import LESSON, model

KINDS = ["sqlite", *(["postgres"] if AVAILABLE else [])]
TURN = Accepted("r1", "c1", "alice", '{"message": "x"}')


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with running_postgres() as url:
        yield url


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where conversations are kept."""
    if request.param == "sqlite":
        return str(tmp_path / "conversations.db")
    return str(request.getfixturevalue("postgres"))


@asynccontextmanager
async def opened(place: str, clock: HandClock, owner: str = "one") -> AsyncGenerator[Conversations]:
    """The conversations as one server sees them, those of earlier tests forgotten."""
    if place.startswith("postgresql://"):
        from ace_graph.server.database_postgres import open_postgres

        database = await open_postgres(place)
    else:
        database = await open_sqlite(Path(place))
    try:
        conversations = Conversations(database, clock, owner)
        await conversations.set_up()
        yield conversations
    finally:
        await database.close()


async def clean(conversations: Conversations) -> None:
    for learner in ("alice", "bob"):
        await conversations.forget(learner)


async def refusal(conversations: Conversations, turn: Accepted) -> int:
    with pytest.raises(RequestRefused) as caught:
        await conversations.accept(turn)
    return caught.value.status


async def test_a_conversation_belongs_to_who_began_it_and_takes_one_turn_at_a_time(place: str) -> None:
    async with opened(place, HandClock()) as one:
        await clean(one)
        await one.accept(TURN)
        assert await refusal(one, replace(TURN, run_id="r2", learner_id="bob")) == 403
        assert await refusal(one, replace(TURN, run_id="r2")) == 409
        await one.accept(replace(TURN, run_id="r3", conversation_id="c2"))
        assert await one.finish(TURN)
        assert not await one.finish(TURN), "it has ended already"
        await one.accept(replace(TURN, run_id="r4"))
        assert [name for name, _ in await one.of("alice")] == ["c1", "c2"]
        assert await one.of("bob") == []


async def test_a_turn_is_taken_over_once_when_its_lease_has_run_out(place: str) -> None:
    clock = HandClock()
    async with opened(place, clock) as one, opened(place, clock, "two") as two:
        await clean(one)
        await one.accept(TURN)
        assert await two.take_over() == []
        clock.move(LEASE_SECONDS - 1)
        assert await one.renew(TURN)
        clock.move(LEASE_SECONDS - 1)
        assert await two.take_over() == []
        clock.move(2)
        assert await one.take_over(busy={"r1"}) == [], "who works on it does not take it over"
        assert await two.take_over() == [replace(TURN, tries=1, known="turn")]
        assert await two.take_over() == []
        assert not await one.renew(TURN), "it is another's now"
        assert not await one.finish(TURN)
        assert await two.finish(TURN)


async def test_a_turn_that_is_put_back_can_be_taken_at_once(place: str) -> None:
    clock = HandClock()
    async with opened(place, clock) as one, opened(place, clock, "two") as two:
        await clean(one)
        await one.accept(TURN)
        await one.put_back(TURN)
        assert [turn.run_id for turn in await two.take_over()] == ["r1"]


async def test_forgetting_ends_turns_and_takes_what_was_not_saved(place: str) -> None:
    clock = HandClock()
    async with opened(place, clock) as one:
        await clean(one)
        await one.accept(TURN)
        await one.finish(TURN, Unsaved("t1", "alice", "{}"))
        await one.accept(TURN)
        assert [kept.turn_id for kept in await one.unsaved()] == ["t1"]
        assert await one.forget("alice") == 1
        assert (await one.unsaved(), await one.of("alice")) == ([], [])
        assert not await one.renew(TURN)
        clock.move(60)
        assert await one.take_over() == []
        await one.accept(replace(TURN, run_id="r9", learner_id="bob"))


async def test_two_servers_share_conversations_and_old_checkpoints_go(place: str, tmp_path: Path) -> None:
    async with opened(place, HandClock()) as earlier:
        await clean(earlier)
    settings = settings_for(tmp_path, conversations=place)
    scripted = [model("Hello", lesson=LESSON), model("Tom")]
    async with (
        serving(settings, Brought(model=scripted[0])) as one,
        serving(settings, Brought(model=scripted[1])) as two,
    ):
        await one.ask("My cat is called Tom", "shared")
        await two.ask("What is its name?", "shared")
        stolen = await two.post("Let me in", "shared", learner="mallory")
        saver = one.app.state.parts.conversations.database.saver
        kept = [each async for each in saver.alist({"configurable": {"thread_id": "shared"}})]
        told = (await one.client.get("/api/learner/export")).json()["conversations"]
        gone = await two.client.delete("/api/learner", headers=bearer())
        left = [each async for each in saver.alist({"configurable": {"thread_id": "shared"}})]
    assert [m.text for m in scripted[1].calls_of("solver")[0].messages[1:]] == [
        "My cat is called Tom", "Hello", "What is its name?",
    ]  # fmt: skip
    assert stolen.status_code == 403
    assert len(kept) == 1
    assert len(told[0]["messages"]) == 4
    assert gone.json() == {"forgotten": True, "conversations": 1}
    assert left == []


async def test_a_conversation_goes_on_behind_a_server_whose_clock_was_ahead(
    place: str, tmp_path: Path
) -> None:
    async with opened(place, HandClock()) as earlier:
        await clean(earlier)
    settings = settings_for(tmp_path, conversations=place)
    async with serving(settings, Brought(model=model("one", "two", "three"))) as served:
        saver = served.app.state.parts.conversations.database.saver
        await served.ask("What is one?", "shared")
        here = {"configurable": {"thread_id": "shared", "checkpoint_ns": ""}}
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


def test_conversations_are_kept_beside_the_memory_unless_a_setting_says_where(tmp_path: Path) -> None:
    assert conversations_place(settings_for(tmp_path)) == tmp_path / "ace-conversations.db"
    assert conversations_place(settings_for()) is None
    given = {name: settings_for(conversations=name) for name in ("x.db", "sqlite:////srv/x.db")}
    assert conversations_place(given["x.db"]) == Path("x.db").absolute()
    assert conversations_place(given["sqlite:////srv/x.db"]) == Path("/srv/x.db")
    url = "postgresql://ace@db/ace"
    assert conversations_place(settings_for(conversations=url)) == url
    with pytest.raises(ConfigurationError, match="ACE_CONVERSATIONS"):
        conversations_place(settings_for(conversations="mysql://x"))


async def test_a_place_that_can_not_be_used_is_an_error_that_tells_no_password(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StoreUnavailable, match="conversations"):
        await open_sqlite(blocked / "x.db")
