"""The scripted model fails a test whenever the script and the calls differ."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

from ace_graph.testing import BrokenStream, ScriptedModel, UnexpectedModelCall


class Lessons(BaseModel):
    lessons: list[str]


@tool
def calculator(expression: str) -> str:
    """Compute."""
    return expression


def test_replies_come_in_order_and_calls_are_recorded() -> None:
    with ScriptedModel(["one", AIMessage("two")]) as model:
        assert model.invoke("first").text == "one"
        assert model.invoke([HumanMessage("second")]).text == "two"
    assert [call.prompt for call in model.calls] == ["first", "second"]


def test_a_call_without_a_reply_fails_even_when_its_error_is_swallowed() -> None:
    model = ScriptedModel(["one"])
    model.invoke("first")
    with pytest.raises(UnexpectedModelCall, match="second"):
        model.invoke("second")
    with pytest.raises(AssertionError, match="without a reply"):
        model.assert_done()


def test_replies_that_nobody_asked_for_fail() -> None:
    with pytest.raises(AssertionError, match="nobody asked"), ScriptedModel(solver=["one"]):
        pass


def test_an_error_inside_the_block_is_not_hidden_by_the_leftovers() -> None:
    with pytest.raises(KeyError), ScriptedModel(["one"]):
        raise KeyError("the real problem")


def test_each_role_has_its_own_script() -> None:
    with ScriptedModel(["any"], solver=["s"], reflector=["r"]) as model:
        reflector: Any = {"metadata": {"ace_role": "reflector"}}
        solver: Any = {"metadata": {"ace_role": "solver"}}
        assert model.invoke("x", reflector).text == "r"
        assert model.invoke("x", solver).text == "s"
        assert model.invoke("x").text == "any"
    assert [call.role for call in model.calls] == ["reflector", "solver", None]
    assert len(model.calls_of("solver")) == 1


def test_a_role_keeps_its_script_through_bound_tools_and_schemas() -> None:
    config: Any = {"metadata": {"ace_role": "reflector"}}
    with ScriptedModel(reflector=['{"lessons": ["a"]}', "no tool"]) as model:
        assert model.with_structured_output(Lessons).invoke("x", config) == Lessons(lessons=["a"])
        assert model.bind_tools([calculator]).invoke("x", config).text == "no tool"
    first, second = model.calls
    assert first.schema is not None
    assert first.schema["required"] == ["lessons"]
    assert second.tool_names == ("calculator",)


def test_a_function_makes_the_reply_from_the_messages() -> None:
    def echo(messages: list[BaseMessage]) -> str:
        return f"you said {messages[-1].text}"

    with ScriptedModel([echo]) as model:
        assert model.invoke("hello").text == "you said hello"


def test_errors_are_raised() -> None:
    with ScriptedModel([ValueError("down"), BrokenStream("half", ValueError("cut"))]) as model:
        with pytest.raises(ValueError, match="down"):
            model.invoke("x")
        with pytest.raises(ValueError, match="cut"):
            model.invoke("x")


def test_a_stream_comes_in_small_pieces_and_adds_up() -> None:
    call = {"name": "calculator", "args": {"expression": "2+2"}, "id": "1", "type": "tool_call"}
    whole = AIMessage("the answer is four", tool_calls=[call])
    with ScriptedModel([whole, whole], chunk_size=3) as model:
        chunks = list(model.stream("x"))
        invoked = model.invoke("x")
    total = sum(chunks[1:], chunks[0])
    assert max(len(chunk.text) for chunk in chunks) == 3
    assert total.text == invoked.text == "the answer is four"
    assert total.tool_calls == invoked.tool_calls
    assert total.usage_metadata == invoked.usage_metadata
    assert invoked.usage_metadata is not None
    assert invoked.usage_metadata["input_tokens"] == 1


async def test_async_calls_take_from_the_same_script() -> None:
    with ScriptedModel(["one", "two"]) as model:
        assert (await model.ainvoke("x")).text == "one"
        assert "".join([chunk.text async for chunk in model.astream("x")]) == "two"


def test_structured_output_that_is_no_json_is_an_error_or_a_parsing_error() -> None:
    with ScriptedModel(["nothing", "nothing", '{"lessons": 3}']) as model:
        with pytest.raises(ValueError, match="JSON"):
            model.with_structured_output(Lessons).invoke("x")
        for _ in range(2):
            raw: Any = model.with_structured_output(Lessons, include_raw=True).invoke("x")
            assert raw["parsed"] is None
            assert raw["parsing_error"] is not None


def test_threads_and_loops_share_a_script_without_losing_a_reply() -> None:
    with ScriptedModel([str(number) for number in range(80)]) as model:

        def one_loop() -> list[str]:
            async def ten() -> list[str]:
                return [(await model.ainvoke("x")).text for _ in range(10)]

            return asyncio.run(ten())

        with ThreadPoolExecutor(8) as pool:
            texts = [text for future in [pool.submit(one_loop) for _ in range(8)] for text in future.result()]
    assert sorted(texts, key=int) == [str(number) for number in range(80)]


async def test_a_role_is_known_in_a_streaming_graph_and_does_not_leak() -> None:
    config: Any = {"metadata": {"ace_role": "solver"}, "tags": ["nostream"]}
    with ScriptedModel(solver=["a secret thought"]) as model:

        async def node(state: MessagesState) -> MessagesState:
            reply = await model.ainvoke(state["messages"], config)
            return {"messages": [AIMessage(f"{len(reply.text)} letters")]}

        built = StateGraph(MessagesState)
        built.add_node(node)  # pyright: ignore[reportUnknownMemberType]  # LangGraph's overloads
        built.add_edge(START, "node")
        graph: Any = built.compile()  # pyright: ignore[reportUnknownMemberType]  # LangGraph's overloads
        events = [event async for event in graph.astream({"messages": ["x"]}, stream_mode="messages")]
    assert [message.text for message, _ in events] == ["16 letters"]
    assert model.calls[0].role == "solver"
