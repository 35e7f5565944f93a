"""The compiled graph under every way of running it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import PrivateAttr

from ace_graph import ACEContext
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask, said, thread

ALICE = ACEContext(learner_id="alice", reflect_when="never")
REPLY = "<scratch>hm, 5/6</scratch>\n<final>It is 5/6,\nas you see.</final>\n<used>mat-00001</used>"
ANSWER = "It is 5/6,\nas you see."


def script(mode: str) -> list[str | AIMessage]:
    if mode == "tot":
        return [*["<thought>first thought</thought>", "1: 1"] * 2, REPLY]
    if mode == "react":
        call = {"name": "calculator", "args": {"expression": "12*5"}, "id": "c1", "type": "tool_call"}
        return [AIMessage(content="I shall call a tool", tool_calls=[call]), REPLY]
    return [REPLY]


def streamed(events: Iterable[object]) -> tuple[str, set[str | None]]:
    """Return the text of a message stream, and the ids of its messages."""
    texts, ids = list[str](), set[str | None]()
    for event in events:
        message, _ = cast("tuple[object, object]", event)
        assert isinstance(message, AIMessageChunk)
        texts.append(message.text)
        ids.add(message.id)
    return "".join(texts), ids


@pytest.mark.parametrize("mode", ["cot", "tot", "react"])
async def test_only_the_final_answers_text_streams_and_nothing_twice(build: Build, mode: str) -> None:
    graph = build(ScriptedModel(script(mode)))
    events = [e async for e in graph.astream(ask("q", mode), context=ALICE, stream_mode="messages")]
    text, ids = streamed(events)
    assert text == ANSWER
    assert len(ids) == 1
    assert len(events) > 1


class Eager(ScriptedModel):
    """Has its whole reply at hand, and counts the chunks that were taken."""

    _taken: int = PrivateAttr(default=0)

    def __init__(self, reply: str) -> None:
        super().__init__([reply], chunk_size=5)

    @property
    def taken(self) -> int:
        return self._taken

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:  # LangChain's
        async for chunk in super()._astream(*args, **kwargs):
            self._taken += 1
            yield chunk


async def test_the_first_token_is_streamed_before_the_reply_is_complete(build: Build) -> None:
    eager = Eager(f"<final>{'word ' * 100}</final>")
    taken = [eager.taken async for _ in build(eager).astream(ask("q"), context=ALICE, stream_mode="messages")]
    assert taken[0] < 10 < eager.taken


@pytest.mark.parametrize("mode", ["cot", "tot", "react"])
def test_the_same_streams_synchronously(build: Build, mode: str) -> None:
    events = list(
        build(ScriptedModel(script(mode))).stream(ask("q", mode), context=ALICE, stream_mode="messages")
    )
    assert streamed(events)[0] == ANSWER


async def test_with_revisions_allowed_only_the_accepted_answer_streams(build: Build) -> None:
    model = ScriptedModel(["<final>12</final>", "<final>It is 60</final>"])
    graph = build(model)
    context = ALICE.model_copy(update={"max_revisions": 1, "ground_truth": "60"})
    events = [e async for e in graph.astream(ask("12*5?"), context=context, stream_mode="messages")]
    assert streamed(events)[0] == "It is 60"
    assert "60" not in model.calls[1].messages[0].text, "the critique must not quote the ground truth"
    assert "12" in model.calls[1].messages[0].text


async def test_a_revision_replaces_the_answer_in_the_conversation(build: Build) -> None:
    graph = build(ScriptedModel(["<final>12</final>", "<final>60</final>"]))
    context = ALICE.model_copy(update={"max_revisions": 1, "ground_truth": "60"})
    out = await graph.ainvoke(ask("12*5?"), context=context)
    assert [m.text for m in out["messages"]] == ["12*5?", "60"]
    assert out["result"]["verdict"] == "success"


def test_invoke_works_without_and_with_a_dict_context(build: Build) -> None:
    graph = build(ScriptedModel([REPLY, REPLY]))
    assert graph.invoke(ask("q"))["messages"][-1].content == ANSWER
    out = graph.invoke(ask("q"), context=cast("ACEContext", {"learner_id": "alice", "reflect_when": "never"}))
    assert out["learning"]["error"] is None


async def test_invoke_works_inside_a_running_loop(build: Build) -> None:
    assert build(ScriptedModel([REPLY])).invoke(ask("q"), context=ALICE)["messages"][-1].content == ANSWER


async def test_abatch_serves_many_learners_at_once(build: Build, store: CountingStore) -> None:
    graph = build(ScriptedModel([REPLY] * 8))
    contexts = [ACEContext(learner_id=f"l{n}", reflect_when="never") for n in range(8)]
    outs = await asyncio.gather(
        *(graph.ainvoke(ask(f"Remember that my number is {n}."), context=c) for n, c in enumerate(contexts))
    )
    assert all(out["learning"]["added"] for out in outs)
    for n in range(8):
        [bullet] = (await store.now(f"l{n}")).playbook.bullets()
        assert f"number is {n}" in bullet.content
    batch = await build(ScriptedModel([REPLY] * 3)).abatch([ask("q")] * 3, context=ALICE)
    assert [out["messages"][-1].content for out in batch] == [ANSWER] * 3


def test_one_graph_serves_threads_and_loops_at_the_same_time(build: Build, store: CountingStore) -> None:
    graph = build(ScriptedModel([REPLY] * 12))
    failures = list[BaseException]()

    def run(n: int) -> None:
        try:
            said = ask(f"Remember that fact number {n} is {n * 31}.")
            if n % 2:
                graph.invoke(said, context=ALICE)
            else:
                asyncio.run(graph.ainvoke(said, context=ALICE))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(12)]
    for started in threads:
        started.start()
    for started in threads:
        started.join()
    assert failures == []
    playbook = asyncio.run(store.now("alice")).playbook
    assert len(playbook) == 12


async def test_nothing_of_an_earlier_turn_sticks(build: Build) -> None:
    graph = build(
        ScriptedModel(["<thought>t</thought>", "1: 1"] * 2 + ["<final>a</final>", "<final>b</final>"]),
        checkpointer=InMemorySaver(),
    )
    config = thread("t1")
    context = ALICE.model_copy(update={"ground_truth": "a"})
    first = await graph.ainvoke(ask("one", "tot"), config, context=context)
    assert (first["mode"], first["result"]["verdict"]) == ("tot", "success")
    second = await graph.ainvoke(ask("ok thanks"), config, context=ALICE)
    assert second["mode"] == "cot"
    assert second["result"]["verdict"] == "unknown"
    assert second["result"]["evidence"] == []
    assert second["usage"] == {"solver": second["usage"]["solver"]}
    assert second["usage"]["solver"]["calls"] == 1
    assert [m.text for m in second["messages"]] == ["one", "a", "ok thanks", "b"]


async def test_an_old_calculation_followed_by_thanks_is_cot(build: Build) -> None:
    messages = [
        {"role": "user", "content": "calculate 1+1"},
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": "ok thanks"},
    ]
    out = await build(ScriptedModel(["<final>sure</final>"])).ainvoke(said(messages), context=ALICE)
    assert out["mode"] == "cot"


async def test_checkpoints_hold_neither_the_playbook_nor_the_mode(build: Build, store: CountingStore) -> None:
    await store.seed("alice", Add(content="An otter fact that must not be checkpointed"))
    saver = InMemorySaver()
    graph = build(ScriptedModel(["<final>a</final>"]), checkpointer=saver)
    config = thread("t1")
    await graph.ainvoke(ask("hello"), config, context=ALICE)
    values = (await graph.aget_state(config)).values
    assert "memory" not in values
    assert "mode" not in values
    assert "otter" not in repr(saver.storage) + repr(saver.blobs)


@pytest.mark.parametrize("node", ["planner", "solver", "critic", "ace_learning"])
async def test_a_run_forked_before_a_node_loads_the_memory_again_and_learns(
    build: Build, store: CountingStore, node: str
) -> None:
    graph = build(ScriptedModel(["<final>a</final>", "<final>b</final>"]), checkpointer=InMemorySaver())
    config = thread("t1")
    await graph.ainvoke(ask("Remember that I like tea."), config, context=ALICE)
    states = [s async for s in graph.aget_state_history(config) if s.next == (node,)]
    forked = await graph.aupdate_state(states[0].config, None, as_node=None)
    out = await graph.ainvoke(None, forked, context=ALICE)
    assert out["mode"] == "cot"
    assert out["learning"]["error"] is None
    [bullet] = (await store.now("alice")).playbook.bullets()
    same_attempt = node in ("critic", "ace_learning")
    assert bullet.seen == (1 if same_attempt else 2), "the same attempt never counts twice, a new one does"


@pytest.mark.parametrize("node", ["solver", "ace_learning"])
async def test_an_interrupted_run_resumes_and_commits_once(
    build: Build, store: CountingStore, node: str
) -> None:
    graph = build(ScriptedModel(["<final>a</final>"]), checkpointer=InMemorySaver())
    config = thread("t1")
    await graph.ainvoke(ask("Remember that I like tea."), config, context=ALICE, interrupt_before=[node])
    assert store.calls.commits == []
    out = await graph.ainvoke(None, config, context=ALICE)
    assert out["messages"][-1].content == "a"
    assert len(store.calls.commits) == 1
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert bullet.seen == 1


async def test_state_round_trips_under_strict_serialisation(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    # LANGGRAPH_STRICT_MSGPACK is read when LangGraph is imported.
    monkeypatch.setattr("langgraph.checkpoint.serde._msgpack.STRICT_MSGPACK_ENABLED", True)
    monkeypatch.setattr("langgraph._internal._serde.STRICT_MSGPACK_ENABLED", True)
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    graph = build(ScriptedModel(["<final>a</final>"]), checkpointer=InMemorySaver(serde=JsonPlusSerializer()))
    config = thread("t1")
    out = await graph.ainvoke(ask("hello"), config, context=ALICE.model_copy(update={"ground_truth": "a"}))
    values = (await graph.aget_state(config)).values
    assert values["result"] == out["result"]
    assert values["learning"] == out["learning"]


def test_unknown_context_keys_are_refused(build: Build) -> None:
    with pytest.raises(ValueError, match="no field lerner_id: did you mean learner_id"):
        build(ScriptedModel([])).invoke(ask("q"), context=cast("ACEContext", {"lerner_id": "x"}))


@pytest.mark.parametrize("learner_id", ["a/b", 'it\'s "quoted"', "two\nlines", "ünï", "x" * 256])
async def test_odd_learner_ids_work_and_stay_on_one_log_line(
    build: Build, store: CountingStore, caplog: pytest.LogCaptureFixture, learner_id: str
) -> None:
    context = ACEContext(learner_id=learner_id, reflect_when="never")
    with caplog.at_level("INFO", "ace_graph"):
        await build(ScriptedModel(["<final>x</final>"])).ainvoke(
            ask("Remember that I like tea."), context=context
        )
    assert len((await store.now(learner_id)).playbook) == 1
    assert all("\n" not in r.getMessage() for r in caplog.records)


@pytest.mark.parametrize("learner_id", ["", "x" * 10_240, 7, "nul\x00"])
def test_impossible_learner_ids_are_refused(learner_id: object) -> None:
    with pytest.raises(ValueError, match="learner_id"):
        ACEContext.model_validate({"learner_id": learner_id})


async def test_two_turns_of_one_learner_at_once_keep_both_memories(
    build: Build, store: CountingStore
) -> None:
    graph = build(ScriptedModel([REPLY] * 2))
    await asyncio.gather(
        graph.ainvoke(ask("Remember that I like tea."), context=ALICE),
        graph.ainvoke(ask("Remember that I own a boat."), context=ALICE),
    )
    contents = {b.content for b in (await store.now("alice")).playbook.bullets()}
    assert contents == {"Learner says: I like tea", "Learner says: I own a boat"}
