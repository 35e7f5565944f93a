"""What comes late: a turn behind the forgetting of its learner, a listener behind the death of a server."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Self, cast

import pytest
from httpx_sse import ServerSentEvent, aconnect_sse
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata

from ace_graph.base import ConfigurationError
from ace_graph.memory import Amend, Commit, Pending, PendingItem, Snapshot, TurnRecord
from ace_graph.memory.delta import Delta
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.server import Overrides
from ace_graph.server.conversations import LEASE_SECONDS, ThreadSaver
from ace_graph.testing import ScriptedModel
from tests.server.serving import HandClock, HeldModel, Served, bearer, serving, settings_for, until
from tests.server.test_chat import LESSON, NO_LESSON, model


class HeldCommits(SQLiteStore):
    """A store whose commits wait until `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.begun = asyncio.Event(), asyncio.Event()

    async def commit(
        self,
        learner_id: str,
        delta: Delta,
        base: Snapshot,
        record: TurnRecord | Amend | None = None,
        pending: Pending | PendingItem | None = None,
    ) -> Commit:
        self.begun.set()
        await self.go.wait()
        return await super().commit(learner_id, delta, base, record, pending)


def nothing_in(folder: Path) -> bool:
    with closing(sqlite3.connect(folder / "ace-conversations.db")) as connection:
        tables = ("checkpoints", "writes", "ace_conversations", "ace_runs", "ace_unsaved")
        return all(connection.execute(f"SELECT count(*) FROM {each}").fetchone() == (0,) for each in tables)


async def test_a_first_turn_elsewhere_does_not_recreate_a_forgotten_learner(
    tmp_path: Path,
) -> None:
    held, settings = HeldModel(solver=["<final>late</final>"]), settings_for(tmp_path)
    async with (
        serving(settings, Overrides(model=held)) as one,
        serving(settings, Overrides(model=ScriptedModel([]))) as two,
    ):
        asked = asyncio.create_task(one.post("Remember that I like tea.", "c1"))
        await held.begun.wait()
        await two.client.delete("/api/learner")
        held.go.set()
        ended = await asked
        after = (await two.client.get("/api/learner/export")).json()
    assert (ended.status_code, ended.json()["code"]) == (409, "lost")
    assert (after["version"], after["conversations"], after["turns"]) == (None, [], [])
    assert nothing_in(tmp_path)


async def test_a_first_turn_being_stored_is_undone_for_a_forgotten_learner(
    tmp_path: Path,
) -> None:
    store = HeldCommits()
    settings = settings_for(tmp_path, learning="background", server_worker=False)
    scripted = ScriptedModel(solver=["<final>late</final>"])
    async with (
        serving(settings, Overrides(model=scripted, store=store)) as one,
        serving(settings, Overrides(model=ScriptedModel([]), store=store)) as two,
    ):
        asked = asyncio.create_task(one.post("Remember that I like tea.", "c1"))
        await store.begun.wait()
        await two.client.delete("/api/learner")
        store.go.set()
        ended = await asked
        after = (await two.client.get("/api/learner/export")).json()
    assert (ended.status_code, ended.json()["code"]) == (409, "forgotten")
    assert (after["version"], after["conversations"], after["turns"]) == (None, [], [])
    assert nothing_in(tmp_path)


async def test_a_server_that_stalls_beyond_its_lease_learns_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stalls when it has looked whether the turn is still its own, and before it writes the answer."""
    stalled, go, stalls = asyncio.Event(), asyncio.Event(), [True]
    write = ThreadSaver.aput

    async def write_late(
        saver: ThreadSaver,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        if stalls.pop() if stalls else False:
            stalled.set()
            await go.wait()
        return await write(saver, config, checkpoint, metadata, new_versions)

    monkeypatch.setattr(ThreadSaver, "aput", write_late)
    settings, stopped, clock, store = settings_for(tmp_path), HandClock(), HandClock(), SQLiteStore()
    lessons = [
        LESSON,
        LESSON.replace("Convert both fractions to sixths before adding", "Otters hold hands asleep"),
    ]
    both = [Overrides(model=model("5/6", lesson=lesson), store=store) for lesson in lessons]
    async with serving(settings, both[0], stopped) as one, serving(settings, both[1], clock) as two:
        asked = asyncio.create_task(one.post("What is 1/2 + 1/3?", "c1"))
        await stalled.wait()
        clock.move(LEASE_SECONDS + 1)

        async def taken_over() -> bool:
            return len(await store.turns("alice", 9)) == 1 and not two.app.state.services.turns.under_way

        await until(taken_over)
        go.set()
        await asked
        kept = (await two.client.get("/api/playbook")).json()["bullets"]
        turns = await store.turns("alice", 9)
    assert len(turns) == 1
    assert [bullet["content"] for bullet in kept] == ["Otters hold hands asleep"]


async def test_a_turn_whose_conversation_vanished_takes_nothing_but_itself_back(tmp_path: Path) -> None:
    """Conversations that were lost or restored are no reason to forget what the learner has."""
    store = HeldCommits()
    store.go.set()
    settings = settings_for(tmp_path, learning="background", server_worker=False)
    scripted = ScriptedModel(solver=["<final>one</final>", "<final>two</final>"])
    async with serving(settings, Overrides(model=scripted, store=store)) as served:
        await served.ask("Remember that I like tea.", "c1")
        store.begun.clear()
        store.go.clear()
        asked = asyncio.create_task(served.post("What is two?", "c2"))
        await store.begun.wait()
        await served.app.state.services.conversations.forget("alice")
        store.go.set()
        ended = await asked
        kept = (await served.client.get("/api/playbook")).json()["bullets"]
    assert (ended.status_code, ended.json()["answer"]) == (200, "two")
    assert [bullet["content"] for bullet in kept] == ["Learner says: I like tea"]


async def listen(served: Served, stream: str, after: str) -> list[ServerSentEvent]:
    address, headers = f"/api/ai/chat/stream/{stream}", {"Last-Event-ID": after}
    async with aconnect_sse(served.client, "GET", address, headers=headers) as source:
        return [event async for event in source.aiter_sse()]


async def test_a_reconnected_listener_gets_all_events_of_a_recovered_turn(tmp_path: Path) -> None:
    settings, seen = settings_for(tmp_path), list[ServerSentEvent]()
    held = HeldModel(solver=["<final>The first answer, of which a part was told.</final>"], chunk_size=12)
    async with serving(settings, Overrides(model=held)) as served, served.stream("What is one?") as events:
        async for event in events:
            seen.append(event)
            if event.event == "bullets":
                await held.begun.wait()
                await served.app.state.services.turns.drain(0)
    stream = str(seen[0].json()["streamId"])
    async with serving(settings, Overrides(model=model("One."))) as served:
        await until(lambda: served.app.state.services.turns.find(stream, "alice") is not None)
        told = await listen(served, stream, seen[-1].id)
        names = [event.event for event in told]
        rest = await listen(served, stream, told[-2].id)
        odd = await listen(served, stream, "99999999999999999999")
    assert list(dict.fromkeys(names)) == ["start", "mode", "bullets", "token", "result", "done"]
    assert "".join(event.json()["text"] for event in told if event.event == "token") == "One."
    assert [event.event for event in rest] == ["done"]
    assert [event.id for event in odd] == [event.id for event in told]
    assert int(told[0].id) > int(seen[-1].id)


async def test_a_stopping_server_tells_accepted_from_refused_requests(tmp_path: Path) -> None:
    held = HeldModel(solver=["<final>never</final>"])
    async with serving(settings_for(tmp_path), Overrides(model=held)) as served:
        asked = asyncio.create_task(served.post("What is one?", "c1"))
        await held.begun.wait()
        await served.app.state.services.turns.drain(0)
        accepted, refused = await asked, await served.post("What is two?", "c2")
    assert (accepted.status_code, accepted.json()["code"]) == (503, "later")
    assert "retry-after" not in accepted.headers
    assert (refused.status_code, refused.json()["code"]) == (503, "stopping")
    assert "retry-after" in refused.headers


async def test_a_turn_that_stops_two_servers_ends_and_its_conversation_goes_on(tmp_path: Path) -> None:
    settings, clocks = settings_for(tmp_path), [HandClock(), HandClock(), HandClock()]
    for n, clock in enumerate(clocks):
        clock.seconds = n * (LEASE_SECONDS + 1)
    held = [HeldModel(solver=["<final>never</final>"]) for _ in range(2)]
    scripted = model("fine")
    async with (
        serving(settings, Overrides(model=held[0]), clocks[0]) as one,
        one.stream("What stops you?", "c1") as events,
    ):
        stream = str((await anext(events)).json()["streamId"])
        await held[0].begun.wait()
        async with serving(settings, Overrides(model=held[1]), clocks[1]) as two:
            await held[1].begun.wait()
            async with serving(settings, Overrides(model=scripted), clocks[2]) as three:
                given_up = three.app.state.services.turns.given_up
                await until(lambda: given_up(stream, "alice"))
                told = await listen(three, stream, "0")
                hers = await three.client.get(f"/api/ai/chat/stream/{stream}", headers=bearer("bob"))
                later = await three.post("What is one?", "c1")
                kept = (await three.client.get("/api/learner/export")).json()["conversations"]
                for clock in clocks[:2]:
                    clock.move(LEASE_SECONDS / 3)
                last = [event async for event in events][-1]
                again = await listen(two, stream, "0")
    assert not scripted.calls_of("solver")[0].messages[-1].text.startswith("What stops")
    for event in (told[-1], last, again[-1]):
        assert (event.event, event.json()["code"], event.json()["status"]) == ("error", "given_up", 409)
    assert hers.status_code == 404
    assert later.json()["answer"] == "fine"
    assert [m["content"] for m in kept[0]["messages"]] == ["What is one?", "fine"]
    assert [each["stream_id"] for each in kept[0]["given_up"]] == [stream]


class PlainStore:
    """A store with the methods that learning inline needs, and no others."""

    name = "plain"

    def __init__(self) -> None:
        inner = SQLiteStore()
        self.policy = inner.policy
        self.load, self.history, self.turns = inner.load, inner.history, inner.turns
        self.export, self.forget, self.close = inner.export, inner.forget, inner.close
        self._commit = inner.commit

    async def commit(
        self, learner_id: str, delta: Delta, base: Snapshot, record: TurnRecord | None = None
    ) -> Commit:
        return await self._commit(learner_id, delta, base, record)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def test_a_store_without_pending_items_is_refused_at_the_start() -> None:
    from ace_graph.server import create_app

    app = create_app(settings_for(), Overrides(model=ScriptedModel([]), store=cast("Store", PlainStore())))
    with pytest.raises(ConfigurationError, match=r"methods that plain lacks"):
        async with app.router.lifespan_context(app):
            raise AssertionError("it was served")


async def test_feedback_that_changes_a_score_is_learned_from_again() -> None:
    settings = settings_for(learning="background", server_worker=False)
    scripted = ScriptedModel(solver=["<final>one</final>"], reflector=[NO_LESSON])
    async with serving(settings, Overrides(model=scripted)) as served:
        told = await served.ask("What is one?")
        before = (await served.client.get("/api/learner/export")).json()["pending"]
        vote = {"turnId": told["turnId"], "verdict": "bad", "text": "it is wrong"}
        await served.client.post("/api/feedback", json=vote)
        after = (await served.client.get("/api/learner/export")).json()["pending"]
    assert len(after) == len(before) + 1
