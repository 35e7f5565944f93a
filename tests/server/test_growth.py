"""Conversations stay within their limits, the server cleans unasked, and the metrics tell the sizes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from ace_graph.base import Retention
from ace_graph.learning import clean_learners
from ace_graph.memory.delta import Reset
from ace_graph.memory.stores import Unsaved as StoredUnsaved
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.server import Overrides
from ace_graph.server.conversations import (
    AcceptedTurn,
    ConversationLimits,
    Conversations,
    UnsavedTurn,
    begin_cleaning,
    clean_conversations,
    count_conversations,
)
from ace_graph.testing import ScriptedModel
from ace_graph.testing.conformance import record, rewriting, touching, write
from dev.growth import run_growth
from tests.server.serving import HandClock, serving, settings_for, until
from tests.server.test_chat import model
from tests.server.test_conversations import KINDS, database_at

pytestmark = pytest.mark.slow

DAY = 86_400.0


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "conversations.db")
    return str(request.getfixturevalue("postgres"))


@asynccontextmanager
async def opened(place: str, clock: HandClock) -> AsyncGenerator[Conversations]:
    """The conversations, of which there are none yet."""
    async with database_at(place) as database:
        conversations = Conversations(database, clock, "one")
        await conversations.set_up()
        for learner in ("alice", "bob"):
            await conversations.forget(learner)
        yield conversations


async def used(conversations: Conversations, name: str, learner: str = "alice", *, ends: bool = True) -> str:
    """Take a turn in a conversation, and leave a checkpoint; return the thread."""
    run = f"{learner}-{name}-run"
    turn = await conversations.accept(AcceptedTurn(run, name, learner, "{}", thread_id=run))
    saver = conversations.database.saver
    config = {"configurable": {"thread_id": turn.thread_id, "checkpoint_ns": ""}}
    checkpoint = {
        "v": 4,
        "ts": "2026-01-01T00:00:00+00:00",
        "id": "1",
        "channel_values": {"messages": [HumanMessage("hello")]},
        "channel_versions": {"messages": "1"},
        "versions_seen": {},
        "updated_channels": None,
    }
    await saver.aput(config, checkpoint, {"source": "loop"}, {"messages": "1"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # LangGraph's own types
    if ends:
        await conversations.finish(turn)
    return turn.thread_id


async def has_checkpoint(conversations: Conversations, thread: str) -> bool:
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    return await conversations.database.saver.aget_tuple(config) is not None  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # as above


async def ids(conversations: Conversations) -> list[str]:
    return [each.id for learner in ("alice", "bob") for each in await conversations.of(learner)]


async def test_idle_conversations_go_with_their_checkpoints(place: str) -> None:
    clock = HandClock()
    async with opened(place, clock) as kept:
        idle, again = await used(kept, "idle"), await used(kept, "again")
        clock.move(2 * DAY)
        await used(kept, "again")
        busy = await used(kept, "busy", ends=False)
        clock.move(2 * DAY)
        limits = ConversationLimits(days=3)
        assert await clean_conversations(kept.database, limits, clock.now(), asyncio.sleep, dry_run=True) == 1
        assert await clean_conversations(kept.database, limits, clock.now(), asyncio.sleep) == 1
        assert await ids(kept) == ["again", "busy"]
        threads = (idle, again, busy)
        assert [await has_checkpoint(kept, thread) for thread in threads] == [False, True, True]


async def test_a_learner_keeps_so_many_the_longest_unused_go(place: str) -> None:
    clock = HandClock()
    async with opened(place, clock) as kept:
        for name in ("a", "b", "c", "d"):
            await used(kept, name)
            clock.move(60)
        await used(kept, "a")
        await used(kept, "z", "bob")
        limits = ConversationLimits(kept=2)
        assert await clean_conversations(kept.database, limits, clock.now(), asyncio.sleep) == 2
        assert await ids(kept) == ["a", "d", "z"]
        assert await count_conversations(kept.database) == 3


async def test_a_conversation_in_which_a_turn_is_under_way_stays(place: str) -> None:
    clock = HandClock()
    async with opened(place, clock) as kept:
        await used(kept, "busy", ends=False)
        clock.move(99 * DAY)
        limits = ConversationLimits(days=1, kept=1)
        assert await clean_conversations(kept.database, limits, clock.now(), asyncio.sleep) == 0
        assert await ids(kept) == ["busy"]


async def test_without_a_limit_none_goes(place: str) -> None:
    clock = HandClock()
    async with opened(place, clock) as kept:
        await used(kept, "old")
        clock.move(9_000 * DAY)
        limits = ConversationLimits.of(settings_for())
        assert not limits.any
        assert await clean_conversations(kept.database, limits, clock.now(), asyncio.sleep) == 0
        assert await ids(kept) == ["old"]


async def test_more_than_a_page_goes_in_one_cleaning(place: str) -> None:
    clock = HandClock()
    async with opened(place, clock) as kept:
        for number in range(250):
            await kept.database.execute(
                "INSERT INTO ace_conversations (learner_id, id, thread_id, created_at, used_at) "
                "VALUES ('alice', ?, ?, ?, ?)",
                (str(number), f"thread-{number:03}", *(clock.now().isoformat(),) * 2),
            )
        clock.move(2 * DAY)

        async def at_once(_: float) -> None: ...

        limits = ConversationLimits(days=1)
        assert await clean_conversations(kept.database, limits, clock.now(), at_once) == 250


async def test_a_cleaning_of_conversations_is_due_once(place: str) -> None:
    clock = HandClock()
    async with opened(place, clock) as kept:
        told = [await begin_cleaning(kept.database, clock.now(), 60) for _ in range(2)]
        clock.move(61)
        assert [*told, await begin_cleaning(kept.database, clock.now(), 60)] == [True, False, True]


async def test_the_server_cleans_memory_and_conversations_unasked() -> None:
    clock, store = HandClock(), SQLiteStore()
    at = clock.now() - timedelta(days=100)
    fields: dict[str, object] = {"started_at": at, "completed_at": at}
    await write(store, "bob", touching(), record(turn_id="old").model_copy(update=fields))
    await write(store, "bob", rewriting(Reset()))
    settings = settings_for(conversation_days=1)
    async with serving(settings, Overrides(model=model("one"), store=store), clock) as served:
        await served.ask("What is one?", "c1")
        conversations = served.app.state.services.conversations
        assert len(await conversations.of("alice")) == 1
        clock.move(2 * DAY)

        async def all_gone() -> bool:
            clock.move(1)  # its pauses
            return not await conversations.of("alice") and (await store.sizes()).turns == 1

        await until(all_gone)
        assert [turn.task for turn in await store.turns("alice")] == ["What is one?"]


async def test_the_metrics_tell_the_sizes(tmp_path: Path) -> None:
    clock = HandClock()
    async with serving(settings_for(tmp_path), Overrides(model=model("one", "two")), clock) as served:
        await served.ask("What is one?")
        first = (await served.client.get("/metrics")).text
        await served.ask("What is two?")
        second = (await served.client.get("/metrics")).text
        clock.move(61)
        third = (await served.client.get("/metrics")).text
    assert 'ace_stored{what="turns"} 1.0' in first
    assert 'ace_stored{what="learners"} 1.0' in first
    assert 'ace_stored{what="conversations"} 1.0' in first
    for where in ("memory", "conversations"):
        assert re.search(rf'ace_stored_bytes{{where="{where}"}} [1-9]', first)
    assert 'ace_stored{what="turns"} 1.0' in second, "they are measured once a minute"
    assert 'ace_stored{what="turns"} 2.0' in third
    assert 'ace_stored{what="conversations"} 2.0' in third


async def test_a_conversation_keeps_so_many_messages() -> None:
    answers = [str(number) for number in range(12)]
    settings = settings_for(conversation_messages=10)
    async with serving(settings, Overrides(model=model(*answers))) as served:
        counts = list[int]()
        for number in range(12):
            await served.ask(f"What is {number}?", "c1")
            export = (await served.client.get("/api/learner/export")).json()
            counts.append(len(export["conversations"][0]["messages"]))
    assert max(counts) == 10
    assert counts[:5] == [2, 4, 6, 8, 10]
    assert counts[5] == 6, "the older half went"


async def test_an_unsaved_turn_that_comes_too_late_is_let_go() -> None:
    clock, store = HandClock(), SQLiteStore()
    at = clock.now() - timedelta(days=100)
    fields: dict[str, object] = {"started_at": at, "completed_at": at}
    made = record(turn_id="old").model_copy(update=fields)
    delta = touching().model_copy(update={"now": at})
    epoch = (await write(store, "alice", delta, made)).version.epoch
    await write(store, "alice", rewriting(Reset()))
    assert (await clean_learners(store, Retention(), clock.now())).cleaned.turns == 1
    late = StoredUnsaved(learner_id="alice", epoch=epoch, delta=delta, record=made).model_dump_json()
    async with serving(settings_for(), Overrides(model=ScriptedModel([]), store=store), clock) as served:
        conversations: Conversations = served.app.state.services.conversations
        turn = await conversations.accept(AcceptedTurn("r", "c", "alice", "{}", thread_id="r"))
        await conversations.finish(turn, UnsavedTurn("old", "alice", late))

        async def let_go() -> bool:
            clock.move(2)
            return not await conversations.unsaved()

        await until(let_go)
    assert (await store.sizes()).turns == 0


async def test_sizes_stay_flat_over_many_turns(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    assert await run_growth(url, tmp_path, turns=100, learner_count=1) == []
