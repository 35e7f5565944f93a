"""ACE_MCP_CONFIG gives a graph the tools of the servers that a file names, from the first turn on."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent import ACEInput
from ace_graph.agent.tools import McpTools, parse_servers
from ace_graph.base import ConfigurationError, Settings
from ace_graph.graph import make_graph
from ace_graph.testing import GeminiServer, ScriptedModel
from tests.cli.commands import Commands
from tests.graph.test_blocking import as_langgraph_dev
from tests.plugins.warm_python import WarmPython, cold_python
from tests.tools.mcp_peers import PROGRAM, Entry, is_running, process_of, stdio

ALICE = ACEContext(learner_id="alice", reflect_when="never")
TRIANGLE = {"base": 3, "height": 4}


def written(folder: Path, **servers: Entry) -> Path:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return path


def question() -> ACEInput:
    return {"messages": [HumanMessage("What is the area of this triangle?")]}


def calling(name: str) -> list[AIMessage | str]:
    call = {"name": name, "args": TRIANGLE, "id": "1", "type": "tool_call"}
    return [AIMessage(content="", tool_calls=[call]), "<final>Six.</final>"]


def test_turns_on_any_loop_call_the_tools_of_one_server(tmp_path: Path, warm_python: WarmPython) -> None:
    settings = Settings().model_copy(update={"mcp_config": written(tmp_path, small=stdio(warm_python))})
    with ScriptedModel([*calling("triangle_area"), *calling("triangle_area")]) as model:
        graph = build_ace_graph(model=model, store="memory://", settings=settings)
        outs = [
            asyncio.run(graph.ainvoke(question(), context=ALICE)),
            graph.invoke(question(), context=ALICE),
        ]
    told = [m.text for out in outs for m in out["messages"] if isinstance(m, ToolMessage)]
    assert [out["mode"] for out in outs] == ["react", "react"], "the tool's name sends the question to react"
    assert len({process_of(text) for text in told}) == 1


async def test_a_server_cannot_take_the_place_of_a_tool_that_is_there(
    tmp_path: Path, warm_python: WarmPython
) -> None:
    settings = Settings().model_copy(update={"mcp_config": written(tmp_path, small=stdio(warm_python))})
    call = {"name": "calculator", "args": {"expression": "6*7"}, "id": "1", "type": "tool_call"}
    with ScriptedModel([AIMessage(content="", tool_calls=[call]), "<final>42</final>"]) as model:
        graph = build_ace_graph(model=model, store="memory://", settings=settings)
        steps = [step async for step in graph.astream(question(), context=ALICE, stream_mode="updates")]
    names = next(step["planner"]["plan"]["tool_names"] for step in steps if "planner" in step)
    assert {"calculator", "small_calculator"} <= set(names)
    assert names.count("calculator") == 1


async def test_a_server_for_graphs_opens_them_without_blocking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm_python: WarmPython
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACE_MODEL", "offline")
    monkeypatch.setenv("ACE_STORE", f"sqlite:///{tmp_path}/ace.db")
    monkeypatch.setenv("ACE_MCP_CONFIG", str(written(tmp_path, small=stdio(warm_python))))
    with blockbuster_ctx() as watch:
        as_langgraph_dev(watch)
        steps = make_graph().astream(question(), context=ALICE, stream_mode="updates")
        plans = [step["planner"]["plan"] async for step in steps if "planner" in step]
    assert "triangle_area" in plans[0]["tool_names"]


async def test_a_server_that_is_down_costs_its_tools_and_not_the_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, warm_python: WarmPython
) -> None:
    broken: Entry = {"url": "http://127.0.0.1:9/mcp"}
    settings = Settings().model_copy(
        update={"mcp_config": written(tmp_path, gone=broken, small=stdio(warm_python))}
    )
    with (
        caplog.at_level(logging.ERROR, "ace_graph"),
        ScriptedModel([*calling("triangle_area"), "<final>Six again.</final>"]) as model,
    ):
        graph = build_ace_graph(model=model, store="memory://", settings=settings)
        first = await graph.ainvoke(question(), context=ALICE)
        await graph.ainvoke(question(), context=ALICE)
    assert [m.status for m in first["messages"] if isinstance(m, ToolMessage)] == ["success"]
    said = [r.getMessage() for r in caplog.records]
    assert len(said) == 1, "it is not tried again at once"
    assert "MCP server gone can't be started or reached" in said[0]


async def test_a_server_that_was_down_is_found_once_it_is_back(tmp_path: Path) -> None:
    seconds, program = 0.0, tmp_path / "server"
    tools = McpTools(parse_servers({"small": {"command": str(program)}}, {}), seconds=lambda: seconds)
    assert await tools.ready() == []
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{PROGRAM}'\n", encoding="utf-8")
    program.chmod(0o700)
    assert await tools.ready() == [], "not yet"
    seconds = 31.0
    assert "triangle_area" in [tool.name for tool in await tools.ready()]
    await tools.close()


def test_a_list_of_servers_that_is_wrong_stops_the_graph_from_being_built(tmp_path: Path) -> None:
    settings = Settings().model_copy(update={"mcp_config": written(tmp_path, small={"comand": "x"})})
    with pytest.raises(ConfigurationError, match="MCP server small"):
        build_ace_graph(model=ScriptedModel([]), store="memory://", settings=settings)


def test_the_command_line_uses_them_and_leaves_no_process_behind(
    tmp_path: Path, warm_python: WarmPython
) -> None:
    with GeminiServer() as server:
        server.answer(call=("triangle_area", {"base": 3, "height": 4}))
        server.answer("<final>Six.</final>")
        payload = {"messages": [{"role": "user", "content": "What is the area of this triangle?"}]}
        done = Commands(tmp_path, warm_python).program(
            "run",
            stdin=json.dumps({**payload, "scratch": {"ace_online_learning": False}}),
            ACE_MCP_CONFIG=str(written(tmp_path, small=stdio(cold_python))),
            ACE_STORE="memory://",
            GEMINI_API_KEY="any",
            GOOGLE_GEMINI_BASE_URL=server.url,
        )
    assert done.code == 0, done.err
    assert json.loads(done.out)["answer"] == "Six."
    assert "Traceback" not in done.err
    told = [part for request in server.requests for part in (request.text,) if "by process" in part]
    assert told, "the tool's result went back to the model"
    assert not is_running(process_of(told[-1]))
