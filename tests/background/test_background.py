"""Learning in the background: the turn answers and stores, a worker learns; the end is the same, once."""

from __future__ import annotations

import json
import logging
from typing import cast

import pytest

from ace_graph import ACEContext
from ace_graph.base import ConfigurationError, Settings
from ace_graph.graph import build_ace_graph
from ace_graph.memory import Snapshot
from ace_graph.memory.delta import Add
from ace_graph.memory.stores import SnapshotCache, Store
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel, check
from ace_graph.testing.conformance import contents, rewriting
from tests.background.conftest import LESSON, Build, Hire
from tests.graph.conftest import ask

ALICE = ACEContext(learner_id="alice", reflect_when="always")
RULE = "Make the denominators equal first"
LESSONS = json.dumps({"reasoning": "r", **LESSON})
ANSWER = "<final>5/6</final>"


async def test_the_turn_answers_without_reflecting_and_leaves_its_work(build: Build, store: Store) -> None:
    with ScriptedModel(solver=[ANSWER]) as model:
        out = await build(model).ainvoke(ask("Remember that I like tea. What is 1/2 + 1/3?"), context=ALICE)
    (item,) = await store.list_pending("alice")
    assert out["learning"]["pending"] == item.pending_id
    assert out["learning"]["turn_id"] == item.turn_id
    state = await store.load("alice")
    assert contents(state) == ["Learner says: I like tea"]
    assert [turn.turn_id for turn in await store.turns("alice")] == [item.turn_id]
    assert await check(store, "alice") == []


async def test_the_worker_learns_what_the_turn_would_have_learned(
    build: Build, store: Store, hire: Hire
) -> None:
    model = ScriptedModel(solver=[ANSWER], reflector=[LESSONS])
    context = ALICE.model_copy(update={"conversation_id": "c1"})
    out = await build(model).ainvoke(ask("What is 1/2 + 1/3 of a pizza?"), context=context)
    await hire(model).drain()
    state = await store.load("alice")
    (bullet,) = state.playbook.bullets()
    assert (bullet.turn_id, bullet.conversation_id) == (out["learning"]["turn_id"], "c1")
    assert bullet.source_words == ("pizza",)
    assert (bullet.content, bullet.topic, bullet.examples) == (
        RULE,
        "fraction_addition",
        (out["learning"]["turn_id"],),
    )
    assert await store.list_pending() == ()
    (turn,) = await store.turns("alice")
    assert turn.reflections[0].successes == (RULE,)
    assert await check(store, "alice") == []


async def test_votes_count_at_once_and_the_reflectors_tags_only_refine_them(
    build: Build, store: Store, hire: Hire
) -> None:
    base = await store.load("alice")
    adds = (
        Add(content="Fractions need equal denominators"),
        Add(content="Fractions are drawn as bars", topic="fraction_addition"),
    )
    await store.commit("alice", rewriting(*adds), base)
    tags = [{"id": "gen-00001", "tag": "helpful"}, {"id": "gen-00002", "tag": "helpful"}]
    model = ScriptedModel(
        solver=["<final>5/6</final><used>gen-00001</used>"],
        reflector=[json.dumps({"reasoning": "r", "bullet_tags": tags, "lessons": []})],
    )
    context = ALICE.model_copy(update={"ground_truth": "5/6"})
    out = await build(model).ainvoke(ask("Add the fractions 1/2 + 1/3 with equal bars"), context=context)
    assert out["result"]["bullet_ids"] == ["gen-00001"]

    async def helpful() -> list[int]:
        bullets = (await store.load("alice")).playbook.entries
        return [bullets[name].helpful for name in ("gen-00001", "gen-00002")]

    assert await helpful() == [1, 0]
    await hire(model).drain()
    assert await helpful() == [1, 1]
    assert await check(store, "alice") == []


async def test_a_greeting_leaves_nothing_to_do(build: Build, store: Store) -> None:
    context = ACEContext(learner_id="alice")
    out = await build(ScriptedModel(solver=["<final>Hello!</final>"])).ainvoke(ask("hello"), context=context)
    assert out["learning"]["pending"] is None
    assert await store.list_pending() == ()


async def test_a_store_without_pending_items_is_refused_by_the_graph() -> None:
    class Plain:
        """No more than a few of the methods."""

        def __init__(self) -> None:
            inner = SQLiteStore()
            self.name, self.policy = "plain", inner.policy
            self.load, self.commit, self.history = inner.load, inner.commit, inner.history
            self.turns, self.export, self.forget, self.close = (
                inner.turns,
                inner.export,
                inner.forget,
                inner.close,
            )

        async def __aenter__(self) -> Plain:
            return self

        async def __aexit__(self, *exc_info: object) -> None: ...

    plain = cast("Store", Plain())
    with pytest.raises(ConfigurationError, match="methods that plain lacks"):
        build_ace_graph(model=ScriptedModel([]), store=plain, settings=Settings(), learning="background")
    graph = build_ace_graph(model=ScriptedModel([ANSWER]), store=plain, settings=Settings())
    context = ALICE.model_copy(update={"learning": "background"})
    with pytest.raises(ConfigurationError, match="methods that plain lacks"):
        await graph.ainvoke(ask("hello"), context=context)


async def test_a_wrapper_that_hands_calls_on_is_a_store_with_pending_work() -> None:
    class Wrapper:
        def __init__(self) -> None:
            self._inner = SQLiteStore()

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

    graph = build_ace_graph(
        model=ScriptedModel([ANSWER]),
        store=Wrapper(),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # what it has it has at run time
        settings=Settings(),
        learning="background",
    )
    assert (await graph.ainvoke(ask(), context=ALICE))["learning"]["pending"]


async def test_a_worker_logs_and_shares_what_it_has_learned(
    build: Build, store: Store, hire: Hire, caplog: pytest.LogCaptureFixture
) -> None:
    model, shared = ScriptedModel(solver=[ANSWER], reflector=[LESSONS]), SnapshotCache()
    out = await build(model).ainvoke(ask(), context=ALICE)
    with caplog.at_level(logging.INFO, "ace_graph"):
        await hire(model, snapshots=shared).drain()
    turn = out["learning"]["turn_id"]
    assert [text for text in caplog.messages if f"turn {turn} of learner=" in text]
    known = shared.get("alice")
    assert known is not None
    assert known.version == (await store.load("alice")).version


async def test_a_worker_reads_no_memory_that_its_process_knows_with_the_turn(
    build: Build, store: Store, hire: Hire, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, shared = ScriptedModel(solver=[ANSWER] * 2, reflector=[LESSONS] * 2), SnapshotCache()
    loads, load = list[str](), store.load

    async def counted(learner_id: str, known: Snapshot | None = None) -> Snapshot:
        loads.append(learner_id)
        return await load(learner_id, known)

    monkeypatch.setattr(store, "load", counted)
    await build(model, snapshots=shared).ainvoke(ask(), context=ALICE)
    await hire(model, snapshots=shared).drain()
    assert len(loads) == 1, "the turn's own"
    await build(model, snapshots=shared).ainvoke(ask(), context=ALICE)
    await hire(model).drain()
    assert len(loads) == 3, "another process reads"
