"""Live updates over HTTP: who may follow a playbook, what is told, and when a stream ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from httpx_sse import ServerSentEvent, aconnect_sse

from ace_graph import playbooks
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.plugins.sizes import PATIENT
from tests.server.serving import HandClock, Served, bearer, serving, settings_for
from tests.server.test_chat import NO_LESSON, model

RULE = "Draw a bar for a fraction"


class Stream:
    """One stream of changes, read while the server's clock is moved."""

    def __init__(self, served: Served, clock: HandClock, path: str, learner: str, after: int | None) -> None:
        self._served, self._clock, self._path = served, clock, path
        self._headers = bearer(learner) if after is None else {**bearer(learner), "Last-Event-ID": str(after)}
        self.events: asyncio.Queue[ServerSentEvent | None] = asyncio.Queue()
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async with aconnect_sse(self._served.client, "GET", self._path, headers=self._headers) as source:
            assert source.response.status_code == 200
            async for event in source.aiter_sse():
                if event.data:  # the client makes an event of a comment, too
                    self.events.put_nowait(event)
        self.events.put_nowait(None)

    async def next(self, streams: int = 1) -> tuple[str, str, object] | None:
        """The next event's id, name and data; None at the end. The clock moves while the streams wait."""
        async with asyncio.timeout(PATIENT):
            while self.events.empty():
                if self._clock.waiting(2) == streams + 1:  # these, and the recovery of turns
                    self._clock.move(2)
                await asyncio.sleep(0)
            event = await self.events.get()
        return None if event is None else (event.id, event.event, json.loads(event.data))


@asynccontextmanager
async def follow(
    served: Served, clock: HandClock, path: str, learner: str = "alice", after: int | None = None
) -> AsyncGenerator[Stream]:
    stream = Stream(served, clock, path, learner, after)
    try:
        yield stream
    finally:
        stream.task.cancel()
        await asyncio.gather(stream.task, return_exceptions=True)


@asynccontextmanager
async def served_playbook() -> AsyncGenerator[tuple[Served, HandClock, CountingStore, str]]:
    store, clock = CountingStore(), HandClock()
    name = await playbooks.create(store, "maths", [RULE], owner="alice")
    await playbooks.grant(store, "maths", "user:bob", "viewer", owner="alice")
    overrides = Overrides(model=ScriptedModel([]), store=store)
    async with serving(settings_for(), overrides, clock=clock) as served:
        yield served, clock, store, name


def number_of(event: tuple[str, str, object] | None) -> tuple[str, str]:
    assert event is not None
    return event[0], event[1]


async def test_the_present_version_comes_first_and_then_each_new_one() -> None:
    async with (
        served_playbook() as (served, clock, store, name),
        follow(served, clock, f"/api/playbooks/{name}/changes") as stream,
    ):
        first = await stream.next()
        await playbooks.update_playbook(store, ["Count in tens"], "maths", owner="alice")
        second = await stream.next()
    assert number_of(first) == ("1", "version")
    assert second is not None
    told = second[2]
    assert isinstance(told, dict)
    assert (second[0], told["version"], told["label"], told["author"]) == ("2", 2, "1.1", "host")


async def test_a_client_goes_on_behind_the_last_event_that_it_has() -> None:
    async with served_playbook() as (served, clock, store, name):
        for text in ("Count in tens", "Name the unit"):
            await playbooks.update_playbook(store, [text], "maths", owner="alice")
        async with follow(served, clock, f"/api/playbooks/{name}/changes", after=1) as stream:
            found = [number_of(await stream.next()) for _ in range(2)]
    assert found == [("2", "version"), ("3", "version")]


async def test_the_own_memory_is_followed_before_it_is_there() -> None:
    async with (
        served_playbook() as (served, clock, store, _),
        follow(served, clock, "/api/playbook/changes") as stream,
    ):
        await playbooks.update_playbook(store, ["Count in tens"], owner="alice")
        assert number_of(await stream.next()) == ("1", "version")


async def test_a_reader_is_told_that_a_playbook_is_gone_and_a_stranger_nothing() -> None:
    async with served_playbook() as (served, clock, store, name):
        path = f"/api/playbooks/{name}/changes"
        async with follow(served, clock, path, "bob") as stream:
            first = await stream.next()
            await playbooks.revoke(store, "maths", "user:bob", owner="alice")
            last, end = await stream.next(), await stream.next()
        stranger = await served.client.get(path, headers=bearer("eve"))
    assert (number_of(first), last, end) == (("1", "version"), ("1", "gone", {"code": "not_found"}), None)
    assert stranger.status_code == 404


async def test_proposals_are_told_to_who_may_decide_or_made_them() -> None:
    async with served_playbook() as (served, clock, store, name):
        path = f"/api/playbooks/{name}/changes"
        await playbooks.grant(store, "maths", "user:eve", "contributor", owner="alice")
        await playbooks.update_playbook(store, ["Count in tens", "Name the unit"], owner="eve")
        first, second = (await store.load("eve")).playbook.bullets()
        now = clock.now()
        early = await playbooks.propose(store, "alice/maths", [first.id], learner="eve", now=now)
        async with follow(served, clock, path) as owners, follow(served, clock, path, "bob") as readers:
            told = [await owners.next(2), await owners.next(2)]
            late = await playbooks.propose(store, "alice/maths", [second.id], learner="eve", now=now)
            told.append(await owners.next(2))
            await playbooks.update_playbook(store, ["Check by adding"], "maths", owner="alice")
            seen = [number_of(await readers.next(2)) for _ in range(2)]
    at = "2026-01-01T00:00:00+00:00"
    assert [event and event[1:] for event in told[1:]] == [
        ("proposal.created", {"proposalId": each.proposal_id, "at": at}) for each in (early, late)
    ]
    assert seen == [("1", "version"), ("2", "version")]


async def test_the_own_memorys_stream_tells_when_a_turn_is_learned_from() -> None:
    clock, scripted = HandClock(), model("5/6", lesson=NO_LESSON)
    path = "/api/playbook/changes"

    async def learned(stream: Stream) -> object:
        while (event := await stream.next()) is not None:
            if event[1] == "learning.done":
                return event[2]
        return None

    async with serving(settings_for(learning=None), Overrides(model=scripted), clock=clock) as served:
        async with follow(served, clock, path) as stream:
            turn = (await served.ask("What is 1/2 + 1/3?"))["turnId"]
            told = await learned(stream)
        async with follow(served, clock, path, after=1) as stream:
            told_again = await learned(stream)
    assert isinstance(told, dict)
    assert told["turnId"] == turn
    assert told_again == told, "who goes on misses nothing"


async def test_a_stream_ends_after_ten_minutes_and_its_place_is_free_again() -> None:
    async with served_playbook() as (served, clock, _, name):
        async with follow(served, clock, f"/api/playbooks/{name}/changes") as stream:
            await stream.next()
            assert served.app.state.services.watching["alice"] == 1
            assert await stream.next() is None
        assert 590 < clock.seconds < 610
        assert served.app.state.services.watching.total() == 0


async def test_a_learner_has_eight_streams_and_others_have_their_own() -> None:
    async with served_playbook() as (served, clock, _, name):
        path = f"/api/playbooks/{name}/changes"
        watching = served.app.state.services.watching
        watching["alice"] = 8
        refused = await served.client.get(path, headers=bearer("alice"))
        async with follow(served, clock, path, "bob") as stream:
            assert number_of(await stream.next()) == ("1", "version")
        watching["alice"] = 0
        watching["others"] = served.app.state.services.settings.server_turns
        full = await served.client.get(path, headers=bearer("alice"))
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many")
    assert (full.status_code, full.json()["code"]) == (503, "overloaded")


async def test_a_server_that_stops_ends_its_streams_and_begins_none() -> None:
    async with served_playbook() as (served, clock, _, name):
        path = f"/api/playbooks/{name}/changes"
        async with follow(served, clock, path) as stream:
            await stream.next()
            served.app.state.services.turns.draining = True
            assert await stream.next() is None
            refused = await served.client.get(path, headers=bearer())
    assert clock.seconds < 60
    assert (refused.status_code, refused.json()["code"]) == (503, "stopping")
