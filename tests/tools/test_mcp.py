"""Tools of real MCP servers: a process spoken to over stdio, and one over streamable HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, ToolException

from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent import ACEInput
from ace_graph.agent.tools import mcp_tools
from ace_graph.base import Settings, ToolServerError
from ace_graph.graph import ACEGraph
from ace_graph.testing import ScriptedModel
from tests.plugins.sizes import PATIENT
from tests.plugins.warm_python import WarmPython, cold_python
from tests.tools.mcp_peers import http_peer, is_running, process_of, stdio

ALICE = ACEContext(learner_id="alice", reflect_when="never")
TRIANGLE: dict[str, object] = {"base": 3, "height": 4}


@asynccontextmanager
async def served(transport: str, python: WarmPython) -> AsyncGenerator[dict[str, BaseTool]]:
    if transport == "stdio":
        async with mcp_tools({"mcpServers": {"small": stdio(python)}}) as tools:
            yield {tool.name: tool for tool in tools}
        return
    with http_peer() as peer:
        async with mcp_tools({"small": peer.entry()}) as tools:
            yield {tool.name: tool for tool in tools}


def calling(name: str, arguments: dict[str, object], *, answer: str = "<final>Six.</final>") -> ScriptedModel:
    call = {"name": name, "args": arguments, "id": "1", "type": "tool_call"}
    return ScriptedModel([AIMessage(content="", tool_calls=[call]), answer])


def graph_of(model: ScriptedModel, tools: Sequence[BaseTool]) -> ACEGraph:
    return build_ace_graph(model=model, store="memory://", tools=tools, settings=Settings())


def question(text: str = "What is the area of this triangle?") -> ACEInput:
    return {"messages": [HumanMessage(text)]}


def results(out: Mapping[str, Any]) -> list[tuple[str, str]]:  # Any: LangGraph says no more of its output
    return [(m.status, m.text) for m in out["messages"] if isinstance(m, ToolMessage)]


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_servers_tool_is_listed_and_called_in_a_turn(transport: str, warm_python: WarmPython) -> None:
    async with served(transport, warm_python) as tools:
        with calling("triangle_area", TRIANGLE) as model:
            graph = graph_of(model, list(tools.values()))
            steps = [step async for step in graph.astream(question(), context=ALICE, stream_mode="updates")]
    plan = next(step["planner"]["plan"] for step in steps if "planner" in step)
    assert plan["mode"] == "react", "the question names what the tool is about"
    assert {"triangle_area", "calculator"} <= set(plan["tool_names"])
    said = next(step["solver"]["messages"] for step in steps if "solver" in step)
    assert [m["content"].split(",")[0] for m in said if m["role"] == "tool"] == ["area 6"]
    bound = model.calls[0].tools
    assert "triangle_area" in str(bound)


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("refuses", {"reason": "too late"}, "refused: too late"),
        ("triangle_area", {"base": "wide"}, "valid number"),
        ("dies", {}, "MCP server small did not answer"),
    ],
)
async def test_an_error_of_the_server_is_a_tool_error_and_the_answer_stands(
    name: str, arguments: dict[str, object], told: str, warm_python: WarmPython
) -> None:
    async with served("stdio", warm_python) as tools:
        with calling(name, arguments) as model:
            out = await graph_of(model, list(tools.values())).ainvoke(question(), context=ALICE)
    assert out["messages"][-1].content == "Six."
    ((status, text),) = results(out)
    assert status == "error"
    assert told in text


async def test_a_server_that_died_is_started_again_by_the_next_call(warm_python: WarmPython) -> None:
    async with served("stdio", warm_python) as tools:
        first = process_of(await tools["triangle_area"].ainvoke(TRIANGLE))
        with pytest.raises(ToolException):
            await tools["dies"].ainvoke({})
        second = process_of(await tools["triangle_area"].ainvoke(TRIANGLE))
    assert first != second


async def test_a_server_that_was_switched_off_costs_its_call_only() -> None:
    with http_peer() as peer:
        async with mcp_tools({"small": peer.entry()}) as tools:
            by_name = {tool.name: tool for tool in tools}
            peer.end()
            with pytest.raises(ToolException, match="MCP server small"):
                await by_name["triangle_area"].ainvoke(TRIANGLE)


async def test_a_call_without_a_reply_ends_at_its_timeout_and_spares_the_others(
    warm_python: WarmPython,
) -> None:
    async with mcp_tools({"small": stdio(warm_python, timeout=0.5)}) as tools:
        by_name = {tool.name: tool for tool in tools}
        before = await _process_in_time(by_name["triangle_area"])
        with pytest.raises(ToolException, match=r"small did not answer within 0\.5 s"):
            await by_name["never_answers"].ainvoke({})
        assert await _process_in_time(by_name["triangle_area"]) == before


async def _process_in_time(tool: BaseTool) -> int:
    """The process that answers, once it does so in time: on a busy machine it may be late."""
    async with asyncio.timeout(PATIENT):
        while True:
            with suppress(ToolException):
                return process_of(await tool.ainvoke(TRIANGLE))


async def test_what_a_server_says_is_bounded(warm_python: WarmPython) -> None:
    async with served("stdio", warm_python) as tools:
        long = await tools["talks_much"].ainvoke({})
        picture = await tools["draws"].ainvoke({})
    assert len(long) < 2_100
    assert long.endswith("... (truncated)")
    assert picture == "a dot\n[image/png]"


async def test_what_a_server_declares_gives_it_no_rights(warm_python: WarmPython) -> None:
    async with served("stdio", warm_python) as tools:
        praising = tools["praises_itself"]
        assert not praising.metadata, "a check is what the caller says it is"
        told = await praising.ainvoke({"config": "a", "run_manager": "b", "runtime": "c"})
        assert told == "a b c"
        foreign = tools["calculator"]
        assert len(foreign.description) <= 1_000
        assert "\n" not in foreign.description


async def test_a_program_gets_none_of_our_keys(
    monkeypatch: pytest.MonkeyPatch, warm_python: WarmPython
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "not-for-servers")
    entry = stdio(warm_python, env={"TOKEN": "${SECRET_OF_MINE}"})
    async with mcp_tools({"small": entry}, environ={"SECRET_OF_MINE": "given"}) as tools:
        ask = next(tool for tool in tools if tool.name == "environment")
        assert await ask.ainvoke({"name": "GEMINI_API_KEY"}) == "not set"
        assert await ask.ainvoke({"name": "TOKEN"}) == "given"


async def test_names_that_two_servers_share_get_the_servers_name_in_front(warm_python: WarmPython) -> None:
    async with mcp_tools({"one": stdio(warm_python), "two": stdio(warm_python)}) as tools:
        names = [tool.name for tool in tools]
    assert {"one_calculator", "two_calculator"} <= set(names)
    assert len(set(names)) == len(names)


def test_one_server_serves_many_loops_threads_and_synchronous_runs(warm_python: WarmPython) -> None:
    said: list[str] = []

    async def use() -> None:
        async with served("stdio", warm_python) as tools:
            tool = tools["triangle_area"]
            said.append(await tool.ainvoke(TRIANGLE))
            said.append(await asyncio.to_thread(lambda: asyncio.run(tool.ainvoke(TRIANGLE))))
            said.append(await asyncio.to_thread(tool.invoke, TRIANGLE))
            with calling("triangle_area", TRIANGLE) as model:
                graph = graph_of(model, [tool])
                out = await asyncio.to_thread(lambda: graph.invoke(question(), context=ALICE))
            said.append(results(out)[0][1])

    asyncio.run(use())
    assert len({process_of(text) for text in said}) == 1, "one session for all of them"
    assert len(said) == 4


async def test_the_program_ends_with_the_block_also_when_it_raises() -> None:
    pids: list[int] = []

    async def use() -> None:
        async with served("stdio", cold_python) as tools:
            pids.append(process_of(await tools["triangle_area"].ainvoke(TRIANGLE)))
            raise KeyError("the caller's own")

    with pytest.raises(KeyError):
        await use()
    assert not is_running(pids[0])


async def test_a_call_after_the_block_starts_nothing(warm_python: WarmPython) -> None:
    async with served("stdio", warm_python) as tools:
        tool = tools["triangle_area"]
    with pytest.raises(ToolException, match="MCP server small is closed"):
        await tool.ainvoke(TRIANGLE)


async def test_a_caller_that_is_cancelled_leaves_the_session_usable(warm_python: WarmPython) -> None:
    async with served("stdio", warm_python) as tools:
        before = process_of(await tools["triangle_area"].ainvoke(TRIANGLE))
        waiting = asyncio.ensure_future(tools["never_answers"].ainvoke({}))
        await asyncio.wait([waiting], timeout=0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert process_of(await tools["triangle_area"].ainvoke(TRIANGLE)) == before


async def test_a_server_of_the_older_protocol_is_called_and_its_session_ended() -> None:
    with http_peer("old") as peer:
        async with mcp_tools({"small": peer.entry()}) as tools:
            named = {tool.name: tool for tool in tools}
            assert process_of(await named["triangle_area"].ainvoke(TRIANGLE))
        peer.end()
    assert "DELETE /mcp" in peer.log


async def test_opening_and_calling_block_no_loop(warm_python: WarmPython) -> None:
    async with asyncio.timeout(PATIENT):
        entry = stdio(warm_python)
        with blockbuster_ctx():
            async with mcp_tools({"small": entry}) as tools:
                named = {tool.name: tool for tool in tools}
                assert process_of(await named["triangle_area"].ainvoke(TRIANGLE))


@pytest.mark.parametrize(
    "entry",
    [{"command": "no-such-program-anywhere"}, {"command": "false"}, {"url": "http://127.0.0.1:9/mcp"}],
    ids=["absent", "ends", "refuses"],
)
async def test_a_server_that_cannot_be_reached_is_named(
    entry: dict[str, object], warm_python: WarmPython
) -> None:
    with pytest.raises(ToolServerError, match="MCP server broken can't be started or reached"):
        async with mcp_tools({"broken": entry, "fine": stdio(warm_python)}):
            pass


async def test_secrets_of_the_configuration_stay_out_of_errors() -> None:
    entry = {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "plain-token-1234\n"}}
    with pytest.raises(ToolServerError) as told:
        async with mcp_tools({"broken": entry}):
            pass
    assert "plain-token" not in str(told.value)


async def test_what_a_program_complains_about_is_logged_for_debugging(
    caplog: pytest.LogCaptureFixture, warm_python: WarmPython
) -> None:
    with caplog.at_level(logging.DEBUG, "ace_graph"):
        async with mcp_tools({"small": stdio(warm_python, timeout=0.5)}) as tools:
            waiting = next(tool for tool in tools if tool.name == "never_answers")
            with pytest.raises(ToolException):
                await waiting.ainvoke({})
            async with asyncio.timeout(PATIENT):
                while not caplog.records:  # noqa: ASYNC110  another process makes it
                    await asyncio.sleep(0)
    assert [r.levelname for r in caplog.records if r.getMessage() == "[ACE MCP] small: waiting"] == ["DEBUG"]
