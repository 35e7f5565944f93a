"""LangGraph Studio's server runs the graph: drawn, configured, chatted with, streamed, forked and resumed.

The server is a real `langgraph dev` with no key; what Studio does in a browser is done here through its API.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from itertools import pairwise

import pytest

from ace_graph import ACEContext
from tests.studio.client import Json, Studio
from tests.studio.server import DevServer

pytestmark = pytest.mark.slow

NODES = ["router", "planner", "solver", "critic", "ace_learning"]
LINE = ["__start__", *NODES, "__end__"]


def ask(text: str, **more: str) -> Json:
    return {"messages": [{"role": "user", "content": text}], **more}


def answer(output: Json) -> str:
    message = output["messages"][-1]
    assert message["type"] == "ai"
    return str(message["content"])


async def test_the_drawing_shows_the_five_nodes(studio: Studio) -> None:
    drawn = await studio.drawing()
    assert [node["id"] for node in drawn["nodes"]] == LINE
    edges = {(edge["source"], edge["target"]) for edge in drawn["edges"]}
    assert edges == {*pairwise(LINE), ("critic", "solver")}


async def test_the_context_is_a_form_with_every_field_explained(studio: Studio) -> None:
    form = (await studio.schemas())["context_schema"]["properties"]
    assert list(form) == list(ACEContext.model_fields)
    assert [name for name, field in form.items() if not field.get("description")] == []
    assert form["reflect_when"]["enum"] == ["auto", "always", "evidence", "never"]


async def test_input_and_output_have_schemas_too(studio: Studio) -> None:
    schemas = await studio.schemas()
    assert set(schemas["input_schema"]["properties"]) == {"messages", "mode", "additional_context"}
    assert {"messages", "mode", "result", "learning"} <= set(schemas["output_schema"]["properties"])


@pytest.mark.parametrize("mode", ["cot", "tot", "react"])
async def test_a_chat_streams_the_answers_text_and_nothing_else(studio: Studio, mode: str) -> None:
    said, final = list[str](), list[Json]()
    async for event, data in studio.stream(
        await studio.thread(),
        ask("What is 1/2 + 1/3?", mode=mode),
        "messages-tuple",
        "values",
        learner_id=f"streaming-{mode}",
    ):
        if event == "messages":
            said.append(data[0]["content"])
        elif event == "values":
            final.append(data)
    assert len(said) > 3, "it comes in pieces"
    assert "".join(said) == answer(final[-1])
    assert "5/6" in answer(final[-1])
    assert final[-1]["mode"] == mode


async def test_the_second_turn_of_a_thread_knows_what_the_first_one_taught(studio: Studio) -> None:
    here, elsewhere = await studio.thread(), await studio.thread()
    first = await studio.run(here, ask("Call me Ada."), learner_id="ada")
    second = await studio.run(here, ask("What is 12*5?"), learner_id="ada")
    assert len(first["learning"]["added"]) == 1
    assert [message["type"] for message in second["messages"]] == ["human", "ai", "human", "ai"]
    assert second["result"]["injected"] == first["learning"]["added"]
    third = await studio.run(elsewhere, ask("What is 12*5?"), learner_id="ada")
    assert "Ada" in answer(third), "the memory is the learner's, not the thread's"
    stranger = await studio.run(await studio.thread(), ask("What is 12*5?"), learner_id="ben")
    assert "Ada" not in answer(stranger)


async def test_a_turn_is_forked_with_another_question(studio: Studio) -> None:
    thread = await studio.thread()
    first = await studio.run(thread, ask("What is 1/2 + 1/3?"), learner_id="forks")
    changed = {"role": "user", "content": "What is 1/5 + 1/5?", "id": first["messages"][0]["id"]}
    before = await studio.state_before(thread, "router")
    fork = await studio.fork(thread, before, {"messages": [changed]}, as_node="__start__")
    second = await studio.run(thread, None, checkpoint=fork, learner_id="forks")
    assert second["messages"][0]["content"] == "What is 1/5 + 1/5?"
    assert "2/5" in answer(second)
    assert second["learning"]["turn_id"] != first["learning"]["turn_id"]


async def test_a_turn_is_run_again_from_any_node(studio: Studio) -> None:
    thread = await studio.thread()
    await studio.run(thread, ask("Remember that my dog is called Rex."), learner_id="again")
    starts = [await studio.state_before(thread, node) for node in NODES[1:]]
    for start in starts:
        again = await studio.run(
            thread, None, checkpoint=await studio.fork(thread, start), learner_id="again"
        )
        assert again["learning"]["error"] is None
        assert [message["type"] for message in again["messages"]] == ["human", "ai"]


@pytest.mark.parametrize("node", ["solver", "ace_learning"])
async def test_a_turn_stops_before_a_node_and_is_resumed(studio: Studio, node: str) -> None:
    thread, learner = await studio.thread(), f"stops-{node}"
    question = ask("Call me Ada. What is 2+2?")
    await studio.run(thread, question, interrupt_before=[node], learner_id=learner)
    assert await studio.next_nodes(thread) == [node]
    out = await studio.run(thread, None, learner_id=learner)
    assert "4" in answer(out)
    assert len(out["learning"]["added"]) == 1
    assert out["learning"]["version"] == 1, "it was learned once"


async def test_a_value_out_of_range_is_an_error_that_names_the_field(studio: Studio) -> None:
    out = await studio.run(await studio.thread(), ask("hi"), retrieval_budget_tokens=-1)
    assert "retrieval_budget_tokens" in json.dumps(out)


async def test_a_misspelt_context_field_is_an_error_that_names_the_right_one(studio: Studio) -> None:
    thread = await studio.thread()
    out = await studio.run(thread, ask("hi"), retreival_budget_tokens=100)
    assert "did you mean retrieval_budget_tokens?" in json.dumps(out)
    assert "InvalidContext" in json.dumps(out)
    assert "messages" not in out
    again = await studio.run(thread, ask("What is 2+2?"), learner_id="spelling", retrieval_budget_tokens=100)
    assert "4" in answer(again), "the thread goes on"


async def test_neither_threads_nor_streams_hold_the_playbook(studio: Studio) -> None:
    thread, shown = await studio.thread(), {"bullets": 1, "version": 1, "problem": None}
    await studio.run(thread, ask("Remember that my code word is otter."), learner_id="private")
    events = studio.stream(thread, ask("What is 2+2?"), "tasks", learner_id="private")
    results = [data["result"] async for _, data in events if "result" in data and data["name"] == "router"]
    assert [result["memory"] for result in results] == [shown]
    assert (await studio.values(thread))["memory"] == shown


async def test_the_memory_is_a_file_of_the_user(studio: Studio, server: DevServer) -> None:
    await studio.run(await studio.thread(), ask("Call me Ada."), learner_id="stored")
    with closing(sqlite3.connect(server.data / "ace-graph" / "ace.db")) as database:
        assert "Ada" in "\n".join(database.iterdump())


async def test_the_log_says_once_who_answers_and_no_call_blocked(studio: Studio, server: DevServer) -> None:
    await studio.drawing()
    await studio.run(await studio.thread(), ask("What is 3*4?"), learner_id="quiet")
    log = server.log()
    assert log.count("the offline tutor answers") == 1
    assert "Blocking" not in log, "a synchronous call was made on the server's event loop"
    assert "Exception in thread" not in log, "the server could not store its threads"
    assert "Failed to get" not in log, "a schema could not be made"
