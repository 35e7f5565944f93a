"""Made-up conversations in the shapes in which other programs keep them: one question about a build, one fix.

Does not: hold a test.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from agents import SQLiteSession
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

QUESTION, COMMAND, RESULT, ANSWER = "Why does the build fail?", "make", "lib.h: not found", "Set CPATH first."
THANKS, WELCOME = "Thanks, it works!", "You are welcome."


def lines(records: Iterable[object]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def _chatgpt(path: Path) -> None:
    def node(name: str, parent: str | None, role: str, text: str, **more: object) -> tuple[str, object]:
        message: dict[str, object] = {
            "id": name,
            "author": {"role": role, "name": more.pop("tool", None), "metadata": None},
            "create_time": 1_700_000_000.5 + int(name),
            "content": {"content_type": "text", "parts": [text]},
            "status": "finished_successfully",
            "metadata": {"model_slug": "gpt-4o"} if role == "assistant" else {},
            "recipient": "all",
            **more,
        }
        return name, {"id": name, "message": message, "parent": parent}

    mapping: dict[str, object] = {
        "root": {"id": "root", "message": None, "parent": None},
        **dict(
            [
                node("1", "root", "user", QUESTION),
                node("2", "1", "assistant", "A first try, asked for again"),
                node("3", "1", "assistant", COMMAND, recipient="python"),
                node("4", "3", "tool", RESULT, tool="python"),
                node("5", "4", "assistant", ANSWER),
                node("6", "5", "user", THANKS),
                node("7", "6", "assistant", WELCOME),
            ]
        ),
    }
    talk = {"title": "Build", "create_time": 1_700_000_000.5, "mapping": mapping, "current_node": "7"}
    path.write_text(json.dumps([{**talk, "conversation_id": "talk"}]))


def _claude(path: Path) -> None:
    def message(sender: str, *content: object) -> object:
        return {"uuid": "m", "sender": sender, "text": "", "content": content, "created_at": TIME}

    call = {"type": "tool_use", "name": "shell", "input": {"command": COMMAND}}
    result = {"type": "tool_result", "name": "shell", "content": [{"type": "text", "text": RESULT}]}
    said = [
        message("human", {"type": "text", "text": QUESTION}),
        message("assistant", {"type": "thinking", "thinking": "Hm."}, call, result, _part(ANSWER)),
        message("human", _part(THANKS)),
        message("assistant", _part(WELCOME)),
    ]
    talk = {"uuid": "talk", "name": "Build", "account": {"uuid": "ada"}, "chat_messages": said}
    path.write_text(json.dumps([talk]))


TIME = "2025-10-29T00:59:38.317Z"


def _part(text: str, type_: str = "text") -> dict[str, object]:
    return {"type": type_, "text": text}


def _claude_code(path: Path) -> None:
    def entry(type_: str, content: object, **more: object) -> object:
        about = {
            "parentUuid": None,
            "isSidechain": False,
            "sessionId": "talk",
            "cwd": "/srv/shop",
            "uuid": "u",
        }
        return {
            **about,
            "type": type_,
            "message": {"role": type_, "content": content},
            "timestamp": TIME,
            **more,
        }

    call = {"type": "tool_use", "id": "t1", "name": "shell", "input": {"command": COMMAND}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": RESULT, "is_error": True}
    path.write_text(
        lines(
            [
                {"type": "summary", "summary": "The build", "leafUuid": "u"},
                entry("user", "Caveat: what follows was made by commands", isMeta=True),
                entry("user", "<command-name>/clear</command-name>"),
                entry("user", QUESTION),
                entry("assistant", [{"type": "thinking", "thinking": "Hm.", "signature": ""}]),
                entry("assistant", [call]),
                entry("user", "Look at lib.h", isSidechain=True),
                entry("user", [result]),
                entry("assistant", [_part(ANSWER)]),
                entry("user", THANKS),
                entry("assistant", [_part(WELCOME)]),
            ]
        )
    )


def _codex(path: Path) -> None:
    def entry(type_: str, **payload: object) -> object:
        return {"timestamp": TIME, "type": type_, "payload": payload}

    def message(role: str, text: str) -> object:
        type_ = "output_text" if role == "assistant" else "input_text"
        return entry("response_item", type="message", role=role, content=[_part(text, type_)])

    path.write_text(
        lines(
            [
                entry("session_meta", id="talk", cwd="/srv/shop", cli_version="0.98.0"),
                message("developer", "Be brief."),
                message("user", "<environment_context>...</environment_context>"),
                entry("turn_context", model="gpt-5-codex"),
                message("user", QUESTION),
                entry("event_msg", type="user_message", message=QUESTION),
                entry("response_item", type="reasoning", summary=[], encrypted_content="x"),
                entry("response_item", type="ghost_snapshot", ghost_commit={}),
                entry("response_item", type="function_call", name="shell", arguments=COMMAND, call_id="c1"),
                entry("response_item", type="function_call_output", call_id="c1", output=RESULT),
                message("assistant", ANSWER),
                message("user", THANKS),
                message("assistant", WELCOME),
            ]
        )
    )


MESSAGES: list[dict[str, object]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": QUESTION, "timestamp": TIME},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": COMMAND}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": RESULT},
    {"role": "assistant", "content": ANSWER},
    {"role": "user", "content": THANKS},
    {"role": "assistant", "content": WELCOME},
]


def _messages(path: Path) -> None:
    path.write_text(lines({**each, "thread_id": "talk", "user_id": "ada"} for each in MESSAGES))


async def _openai_agents(path: Path) -> None:
    session = SQLiteSession("talk", path)
    await session.add_items(
        [
            {"role": "user", "content": QUESTION},
            {"type": "function_call", "name": "shell", "arguments": COMMAND, "call_id": "c1"},
            {"type": "function_call_output", "call_id": "c1", "output": RESULT},
            {
                "type": "message",
                "id": "m1",
                "status": "completed",
                "role": "assistant",
                "content": [{"type": "output_text", "text": ANSWER, "annotations": []}],
            },
            {"role": "user", "content": THANKS},
            {"role": "assistant", "content": WELCOME},
        ]
    )
    session.close()


def _langgraph(path: Path) -> None:
    def agent(state: MessagesState) -> dict[str, object]:
        if len(state["messages"]) > 1:
            return {"messages": [AIMessage(WELCOME)]}
        call = AIMessage("", tool_calls=[{"name": "shell", "args": {"command": COMMAND}, "id": "c1"}])
        return {"messages": [call, ToolMessage(RESULT, tool_call_id="c1"), AIMessage(ANSWER)]}

    connection = sqlite3.connect(path, check_same_thread=False)
    builder = StateGraph(MessagesState).add_node("agent", agent).add_edge(START, "agent")
    graph = builder.compile(checkpointer=SqliteSaver(connection))
    for text in (QUESTION, THANKS):
        graph.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "talk"}})
    connection.close()


async def write_sample(name: str, path: Path) -> None:
    """Write the conversation as the program of that format does."""
    if name == "openai-agents":
        await _openai_agents(path)
    else:
        _WRITERS[name](path)


_WRITERS: dict[str, Callable[[Path], None]] = {
    "chatgpt": _chatgpt,
    "claude": _claude,
    "claude-code": _claude_code,
    "codex": _codex,
    "langgraph": _langgraph,
    "messages": _messages,
}
SAMPLES = (*_WRITERS, "openai-agents")
