"""Conversations over HTTP: listed, read in pages, renamed and deleted, by their learner alone."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from ace_graph.memory import History, HistoryEntry, Playbook, TrajectoryFilter, TurnRecord, answer_hash
from ace_graph.memory.delta import Report
from ace_graph.server import Learned, Overrides
from ace_graph.server.conversations import MAX_PAGE_CHARS, page_of, title_of
from ace_graph.server.receipts import receipts
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.server.serving import HandClock, HeldModel, Json, Served, bearer, serving, settings_for, token
from tests.server.test_chat import LESSON, model
from tests.server.test_conversations import (
    place,  # pyright: ignore[reportUnusedImport]  # noqa: F401  a fixture
)

PATH = "/api/conversations"


@asynccontextmanager
async def served_at(
    where: str, scripted: ScriptedModel, clock: HandClock | None = None
) -> AsyncGenerator[Served]:
    settings = settings_for(conversations=where, learning="off")
    async with serving(settings, Overrides(model=scripted), clock) as served:
        await served.client.delete("/api/learner")
        yield served


async def get(served: Served, path: str = "", **params: str | int) -> Json:
    found = await served.client.get(f"{PATH}{path}", params=params)
    assert found.status_code == 200, found.text
    return found.json()


async def test_conversations_are_listed_read_renamed_and_deleted(place: str) -> None:  # noqa: F811
    clock = HandClock()
    async with served_at(place, model("one", "two", "three", "four"), clock) as served:
        for name, message in (("a", "What is  1/2?\nTell me."), ("b", "And 1/3?"), ("a", "And 1/4?")):
            clock.move(10)
            await served.ask(message, name)
        first = await get(served, limit=1)
        rest = await get(served, limit=1, after=first["next"])
        whole = await get(served, "/a")
        renamed = await served.client.patch(f"{PATH}/a", json={"title": " Halves "})
        listed = [each["title"] for each in (await get(served))["conversations"]]
        gone = await served.client.delete(f"{PATH}/a")
        again = await served.client.delete(f"{PATH}/a")
        unknown = await served.client.get(f"{PATH}/a")
        export = (await served.client.get("/api/learner/export")).json()["conversations"]
        await served.ask("And 1/5?", "a")
        anew = await get(served, "/a")
    ids = [each["conversationId"] for page in (first, rest) for each in page["conversations"]]
    assert (ids, rest["next"]) == (["a", "b"], None)
    assert first["conversations"][0]["usedAt"] > rest["conversations"][0]["usedAt"]
    assert [(each["role"], each["content"]) for each in whole["messages"]] == [
        ("user", "What is  1/2?\nTell me."),
        ("assistant", "one"),
        ("user", "And 1/4?"),
        ("assistant", "three"),
    ]
    assert (whole["title"], whole["next"]) == ("What is 1/2? Tell me.", None)
    assert (renamed.json()["title"], listed) == ("Halves", ["Halves", "And 1/3?"])
    assert [gone.status_code, again.status_code, unknown.status_code] == [204, 404, 404]
    assert [(each["id"], each["title"]) for each in export] == [("b", "And 1/3?")]
    assert [each["content"] for each in anew["messages"]] == ["And 1/5?", "four"]


async def test_another_learners_conversation_is_as_unknown_as_none(place: str) -> None:  # noqa: F811
    async with served_at(place, model("one", "mine")) as served:
        await served.ask("my secret question", "lesson-1")
        told: set[tuple[int, str]] = set()
        for name in ("lesson-1", "lesson-2"):
            for method, body in (("GET", None), ("PATCH", {"title": "x"}), ("DELETE", None)):
                found = await served.client.request(
                    method, f"{PATH}/{name}", json=body, headers=bearer("mallory")
                )
                told.add((found.status_code, found.json()["error"]))
        listed = (await served.client.get(PATH, headers=bearer("mallory"))).json()
        await served.post("mine", "lesson-1", "mallory")
        theirs = (await served.client.get(f"{PATH}/lesson-1", headers=bearer("mallory"))).json()
        kept = await get(served, "/lesson-1")
        await served.client.delete("/api/learner", headers=bearer("mallory"))
    assert told == {(404, "there is no such conversation of yours")}
    assert listed == {"conversations": [], "next": None}
    assert [each["content"] for each in theirs["messages"]] == ["mine", "mine"]
    assert (kept["title"], len(kept["messages"])) == ("my secret question", 2)


async def test_a_stale_title_is_not_replaced(place: str) -> None:  # noqa: F811
    async with served_at(place, model("one")) as served:
        await served.ask("Hello", "a")
        old = (await served.client.get(f"{PATH}/a")).headers["ETag"]
        first = await served.client.patch(f"{PATH}/a", json={"title": "b"}, headers={"If-Match": old})
        late = await served.client.patch(f"{PATH}/a", json={"title": "c"}, headers={"If-Match": old})
        blank = await served.client.patch(f"{PATH}/a", json={"title": " "})
        now = await served.client.get(f"{PATH}/a")
    assert [first.status_code, late.status_code, blank.status_code] == [200, 412, 422]
    assert (now.json()["title"], now.headers["ETag"]) == ("b", first.headers["ETag"])


async def test_a_conversation_with_a_turn_under_way_is_not_deleted() -> None:
    held = HeldModel(solver=["<final>one two three</final>"])
    async with serving(settings_for(learning="off"), Overrides(model=held)) as served:
        async with served.stream("Hello", "a") as events:
            start = await anext(events)
            await held.begun.wait()
            busy = await served.client.delete(f"{PATH}/a")
            held.go.set()
            stream = start.json()["streamId"]
            async for event in events:
                assert event.event != "error"
        before = await served.client.get(f"/api/ai/chat/stream/{stream}")
        gone = await served.client.delete(f"{PATH}/a")
        after = await served.client.get(f"/api/ai/chat/stream/{stream}")
    assert (busy.status_code, busy.headers["Retry-After"], gone.status_code) == (409, "1", 204)
    assert (before.status_code, after.status_code) == (200, 404)


MESSAGES: list[AnyMessage] = [
    HumanMessage("1", id="m1"),
    AIMessage("", id="m2", tool_calls=[{"name": "x", "args": {}, "id": "t"}]),
    ToolMessage("secret", tool_call_id="t", id="m3"),
    AIMessage("2", id="m4"),
    HumanMessage("3", id="m5"),
    AIMessage("4", id="m6"),
]


def test_messages_come_in_pages_from_the_newest_on() -> None:
    newest = page_of(MESSAGES, 2)
    older = page_of(MESSAGES, 2, newest.next)
    assert [each.content for each in newest.messages] == ["3", "4"]
    assert [(each.role, each.content) for each in older.messages] == [("user", "1"), ("assistant", "2")]
    assert (newest.next, older.next) == ("m5", None)
    assert page_of(MESSAGES, 2, "deleted").messages == ()


@pytest.mark.parametrize(("size", "count"), [(MAX_PAGE_CHARS, 1), (MAX_PAGE_CHARS // 2, 2), (10, 4)])
def test_a_page_has_a_bounded_length(size: int, count: int) -> None:
    messages = [HumanMessage("x" * size, id=f"m{n}") for n in range(4)]
    page = page_of(messages, 200)
    assert len(page.messages) == count
    assert page.next == (None if count == 4 else f"m{4 - count}")


def test_a_title_is_the_beginning_of_the_first_message() -> None:
    assert title_of("  What\n is 1/2?  ") == "What is 1/2?"
    assert title_of("word " * 100_000) == "word " * 15 + "word…"


async def test_an_answer_has_its_turn_and_a_receipt() -> None:
    store = CountingStore()
    scripted = model("5/6", "5/6", "7/12", lesson=LESSON)
    async with serving(settings_for(), Overrides(model=scripted, store=store)) as served:
        turns = [
            await served.ask("What is 1/2 + 1/3?", "a"),
            await served.ask("What is 1/3 + 1/2?", "a"),
            await served.ask("How do I go about adding fractions such as 1/3 + 1/4?", "b"),
        ]
        first, second = await get(served, "/a"), await get(served, "/b")
        newest = await get(served, "/a", limit=2)
        older = await get(served, "/a", limit=2, before=newest["next"])
        operated = await served.client.delete(f"/api/trajectories/{turns[2]['turnId']}")
        gone = await get(served, "/b")
    (added,) = turns[0]["metadata"]["learned"]["added"]
    answers = [each for each in first["messages"] if each["role"] == "assistant"]
    assert [each["turnId"] for each in answers] == [turn["turnId"] for turn in turns[:2]]
    assert [each["receipt"]["learned"]["added"] for each in answers] == [[added], []]
    assert [each["turnId"] for each in (older["messages"][1], newest["messages"][1])] == [
        turn["turnId"] for turn in turns[:2]
    ], "equal answers have their own turns, on every page"
    receipt = second["messages"][1]["receipt"]
    assert receipt["injected"] == turns[2]["metadata"]["injected"] == [added]
    assert receipt["learned"]["updated"] == turns[2]["metadata"]["learned"]["updated"] == [added]
    assert {name for each in first["messages"][::2] for name in ("turnId", "receipt") if each[name]} == set()
    assert operated.status_code == 204
    assert (gone["messages"][1]["turnId"], gone["messages"][1]["receipt"]) == (None, None)


async def test_of_two_equal_answers_each_has_its_own_verdict() -> None:
    async with serving(settings_for(), Overrides(model=model("5/6", "5/6", "5/6"))) as served:
        turns = [
            (await served.ask(question, "a"))["turnId"]
            for question in ("What is 1/2 + 1/3?", "What is 1/3 + 1/2?", "What is 2/6 + 3/6?")
        ]
        # The record of the newest is gone: its answer has no receipt, and gets none of another one.
        await served.client.delete(f"/api/trajectories/{turns[2]}")
        url = str(served.client.base_url).rstrip("/")
        headers = {"cookie": f"ace_session={token('alice')}", "origin": url}
        shown = await served.client.get("/page/chat/a", headers=headers)
        forms: list[str] = re.findall(r'name="turn" value="([^"]*)"', shown.text)
        judged = await served.client.post(
            "/page/chat/a/feedback", data={"turn": forms[1], "verdict": "failure"}, headers=headers
        )
        found = await get(served, "/a")
        records = (await served.client.get("/api/trajectories")).json()["trajectories"]
    answers = found["messages"][1::2]
    assert forms == turns[:2] == [each["turnId"] for each in answers[:2]]
    assert (answers[2]["turnId"], answers[2]["receipt"]) == (None, None)
    assert judged.status_code == 303
    verdicts = {each["turnId"]: [kept["verdict"] for kept in each["feedback"]] for each in records}
    assert (verdicts[turns[0]], verdicts[turns[1]]) == ([], ["failure"])


async def test_receipts_take_two_reads_however_long_the_conversation_is() -> None:
    reads = list[str]()

    class Watched(CountingStore):
        async def find_turns(
            self, learner_id: str, wanted: TrajectoryFilter, *, limit: int = 100, skip: int = 0
        ) -> tuple[TurnRecord, ...]:
            reads.append("turns")
            return await super().find_turns(learner_id, wanted, limit=limit, skip=skip)

        async def history(self, learner_id: str) -> History:
            reads.append("history")
            return await super().history(learner_id)

    scripted = model(*"abcdef")
    async with serving(settings_for(), Overrides(model=scripted, store=Watched())) as served:
        for number in range(6):
            await served.ask(f"What is {number}?", "a")
        reads.clear()
        found = await get(served, "/a")
    assert len(found["messages"]) == 12
    assert all(each["turnId"] for each in found["messages"][1::2])
    assert reads == ["turns", "history"]


def test_a_turn_before_the_kept_changes_does_not_say_that_nothing_was_learned() -> None:
    old, new = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 3))
    turns = tuple(
        TurnRecord(
            turn_id=name, attempt_id="1", task="t", mode="cot", status="success", started_at=at,
            completed_at=at, answer_hash=answer_hash(name), conversation_id="a",
        )
        for name, at in (("new", new), ("old", old))
    )  # fmt: skip
    entry = HistoryEntry(7, "op", datetime(2026, 1, 2, tzinfo=UTC), "", "", "x", Report(), None)
    messages = [AIMessage(name, id=f"answer-{name}") for name in ("old", "new", "unknown")]
    found = receipts(messages, turns, History(6, Playbook(), (entry,)))
    assert {name: each.learned for name, each in found.items()} == {
        "answer-old": None,
        "answer-new": Learned(),
    }
