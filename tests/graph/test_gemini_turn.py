"""A whole turn with the real Gemini client, against a local server that speaks Gemini's REST."""

from __future__ import annotations

import json

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent.models import Usage
from ace_graph.base import ModelError, Settings
from ace_graph.graph import ACEGraph
from ace_graph.memory.delta import Add
from ace_graph.testing import GeminiServer
from tests.graph.conftest import CountingStore, ask, thread

KEY = "plain-key-without-a-known-prefix-1234"
RULE = "Find the least common denominator before adding fractions"


def graph_on(server: GeminiServer, store: CountingStore, saver: InMemorySaver | None = None) -> ACEGraph:
    settings = Settings().model_copy(
        update={
            "gemini_api_key": SecretStr(KEY),
            "gemini_model": "my-model",
            "gemini_base_url": server.url,
            "llm_temperature": 0.4,
            "llm_timeout": 20.0,
        }
    )
    return build_ace_graph(settings=settings, store=store, checkpointer=saver)


async def test_solver_and_reflector_use_the_configured_model(store: CountingStore) -> None:
    with GeminiServer() as server:
        server.answer("<scratch>3/6 + 2/6</scratch><final>5/6</final>", tokens=(40, 12))
        server.answer(json.dumps({"reasoning": "r", "lessons": [{"content": RULE}]}), tokens=(90, 30))
        graph = graph_on(server, store)
        out = await graph.ainvoke(ask(), context=ACEContext(learner_id="alice", reflect_when="always"))
    assert [request.model for request in server.requests] == ["my-model", "my-model"]
    assert all('"temperature": 0.4' in request.text for request in server.requests)
    assert out["messages"][-1].content == "5/6"
    assert [b.content for b in (await store.now("alice")).playbook.bullets()] == [RULE]
    assert Usage(**out["usage"]["solver"]) == Usage(calls=1, input_tokens=40, output_tokens=12)
    assert out["usage"]["reflector"]["calls"] == 1


async def test_the_callers_temperature_wins_over_that_of_the_settings(store: CountingStore) -> None:
    with GeminiServer() as server:
        server.answer("<final>5/6</final>")
        context = ACEContext(learner_id="alice", reflect_when="never", temperature=0.9)
        out = await graph_on(server, store).ainvoke(ask(), context=context)
    assert ['"temperature": 0.9' in request.text for request in server.requests] == [True]
    assert out["plan"]["temperature"] == 0.9


async def test_a_reflection_cut_at_the_token_limit_is_no_lesson(store: CountingStore) -> None:
    with GeminiServer() as server:
        server.answer("<final>5/6</final>")
        server.answer('{"lessons": [{"content": "half a les', finish_reason="MAX_TOKENS")
        out = await graph_on(server, store).ainvoke(
            ask(), context=ACEContext(learner_id="alice", reflect_when="always")
        )
    assert out["messages"][-1].content == "5/6"
    assert "token limit" in out["learning"]["error"]
    assert len((await store.now("alice")).playbook) == 0


async def test_an_answer_that_was_blocked_is_an_honest_sentence(store: CountingStore) -> None:
    with GeminiServer() as server:
        server.block()
        out = await graph_on(server, store).ainvoke(
            ask(), context=ACEContext(learner_id="alice", reflect_when="never")
        )
    assert "safety filter" in out["messages"][-1].content
    assert out["result"]["problem"]


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_a_refused_call_is_one_call_a_clear_error_and_nothing_stored(
    store: CountingStore, status: int
) -> None:
    with GeminiServer() as server:
        server.fail(status, f"refused {KEY}")
        with pytest.raises(ModelError) as refused:
            await graph_on(server, store).ainvoke(ask(), context=ACEContext(learner_id="alice"))
    assert refused.value.status == status
    assert KEY not in str(refused.value)
    assert len(server.requests) == 1
    assert store.calls.commits == []


async def test_a_model_that_is_gone_when_the_turn_is_learned_from_costs_no_answer(
    store: CountingStore,
) -> None:
    before = await store.seed("alice", Add(content=RULE, section="math"))
    context, config = ACEContext(learner_id="alice", reflect_when="always"), thread("t1")
    with GeminiServer() as server:
        server.answer("<final>5/6</final>")
        server.fail(403, "this key was withdrawn")
        graph = graph_on(server, store, InMemorySaver())
        out = await graph.ainvoke(ask(), config, context=context)
    assert len(server.requests) == 2
    assert out["messages"][-1].content == "5/6"
    error = out["learning"]["error"]
    assert error is not None
    assert "this key was withdrawn" in error
    assert (out["learning"]["added"], out["learning"]["unsaved"]) == ([], None)
    assert (await graph.aget_state(config)).values["learning"]["error"] == error
    after = await store.now("alice")
    assert after.playbook == before.playbook
    (turn,) = await store.turns("alice")
    assert (turn.answer, turn.status) == ("5/6", "success")
