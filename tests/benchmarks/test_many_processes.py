"""The trial with many processes sees what is lost, doubled and torn, and accepts what a kill may do."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import httpx
import pytest

from ace_graph.agent.offline_tutor import OfflineTutor
from ace_graph.learning import build_worker
from ace_graph.stores import open_store
from benchmarks.many_processes.clients import CONVERSATION, Clients, Ending, Message
from benchmarks.many_processes.stored import Found, found_of, wrong_of
from tests.plugins.sizes import PATIENT
from tests.server.serving import SECRET, serving, settings_for

FACT = "my word 0 is 7f"


def told(ending: Ending = "answered", stream_id: str = "") -> Message:
    return Message(FACT, ending, stream_id)


ONCE = Found(
    lessons=Counter([told().lesson]),
    turns=Counter([told().text]),
    said=Counter([told().text]),
    deltas=1,
    answers=1,
)
NOTHING = Found(Counter(), Counter(), Counter(), deltas=0, answers=0)
TWICE = replace(ONCE, lessons=Counter({told().lesson: 2}))
TORN = replace(ONCE, lessons=Counter[str](), deltas=0)


@pytest.mark.parametrize("ending", ["answered", "accepted", "unknown"])
def test_a_turn_that_is_there_once_is_in_order(ending: Ending) -> None:
    assert wrong_of([told(ending, "s")], ONCE) == []


def test_a_turn_that_nobody_accepted_may_be_missing_and_others_may_not() -> None:
    assert wrong_of([told("unknown")], NOTHING) == []
    assert wrong_of([told("answered")], NOTHING) == [f"{told().text!r} was answered and is lost"]
    assert wrong_of([told("accepted", "s")], NOTHING) == [f"{told().text!r} was accepted and is lost"]


@pytest.mark.parametrize("ending", ["answered", "accepted", "unknown"])
def test_what_is_doubled_or_torn_is_seen(ending: Ending) -> None:
    assert "more than once" in wrong_of([told(ending, "s")], TWICE)[0]
    assert "0 lessons, 1 turns, 1 messages" in wrong_of([told(ending, "s")], TORN)[0]


def test_a_turn_that_was_given_up_may_be_in_part_and_never_twice() -> None:
    given_up = frozenset({"s"})
    assert wrong_of([told("accepted", "s")], replace(NOTHING, given_up=given_up)) == []
    assert wrong_of([told("unknown")], replace(ONCE, said=Counter(), answers=0, given_up=given_up)) == []
    assert wrong_of([told("accepted", "s")], replace(TWICE, given_up=given_up)) != []
    assert wrong_of([told("answered", "t")], replace(NOTHING, given_up=given_up)) != []


def test_a_fact_of_another_learner_and_counts_that_differ_are_seen() -> None:
    assert wrong_of([], ONCE) == [f"{told().lesson!r} was never told"]
    assert wrong_of([told()], replace(ONCE, deltas=2)) == ["there are 1 lessons and 2 deltas"]
    assert wrong_of([told()], replace(ONCE, answers=0)) == [
        "there are 1 messages and 0 answers in the conversation"
    ]
    assert wrong_of([told()], replace(ONCE, broken=("a gap",))) == ["a gap"]


async def test_what_a_server_and_a_worker_stored_is_compared(postgres: str) -> None:
    settings = settings_for(store=postgres, model="offline", learning="background", server_worker=False)
    async with serving(settings) as served, open_store(postgres) as store:
        url = str(served.client.base_url)
        async with httpx.AsyncClient(timeout=PATIENT, trust_env=False) as http:
            clients = Clients(http, ["http://127.0.0.1:1", url], SECRET)
            await clients.lesson("ada", 2, streaming=True)
            await clients.lesson("ben", 1, streaming=False)
        await build_worker(model=OfflineTutor(), store=store, settings=settings).drain()
        for learner, turns in (("ada", 2), ("ben", 1)):
            headers = clients.headers(learner)
            document = await served.client.get("/api/learner/export", headers=headers)
            found = found_of(await store.export(learner), document.json())
            messages = clients.told.messages[learner]
            assert [each.ending for each in messages] == ["answered"] * turns
            assert wrong_of(messages, found) == []
            assert found.deltas == found.answers == turns
            assert wrong_of([*messages, Message("my word 9 is lost", "accepted", "s")], found) != []
    assert [each["id"] for each in document.json()["conversations"]] == [CONVERSATION]
