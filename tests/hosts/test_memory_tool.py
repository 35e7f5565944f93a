"""Anthropic's memory tool over a playbook: the replies of the SDK's own tool, and its runner."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from ace_graph.hosts import MemoryFiles, MemoryTool, MemoryToolError, as_anthropic_tool
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing.conformance import contents
from tests.listening import listening

Command = dict[str, object]
NOTES, DEEP = "/memories/notes.md", "/memories/team/rules.md"


def command(name: str, path: str = NOTES, **fields: object) -> Command:
    return {"command": name, "path": path, **fields}


COMMANDS: list[Command] = [
    command("view"),
    command("view", "/memories"),
    command("create", file_text="- Use tabs\n- Ship on Friday\n"),
    command("create", file_text="again"),
    command("create", DEEP, file_text="- Name every unit\n"),
    command("view", "/memories"),
    command("view", "/memories/team"),
    command("view"),
    command("view", view_range=[2, -1]),
    command("view", view_range=[1, 1]),
    command("str_replace", old_str="Friday", new_str="Monday"),
    command("str_replace", old_str="Sunday", new_str="Monday"),
    command("str_replace", old_str="s", new_str="z"),
    command("str_replace", "/memories/none.md", old_str="s", new_str="z"),
    command("str_replace", "/memories/team", old_str="s", new_str="z"),
    command("view"),
    command("insert", insert_line=2, insert_text="- Ask Ben about the harbour\n"),
    command("insert", insert_line=99, insert_text="- Far"),
    command("insert", "/memories/none.md", insert_line=0, insert_text="- Far"),
    command("view"),
    {"command": "rename", "old_path": DEEP, "new_path": NOTES},
    {"command": "rename", "old_path": DEEP, "new_path": "/memories/team/habits.md"},
    {"command": "rename", "old_path": DEEP, "new_path": "/memories/else.md"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/else"},
    command("view", "/memories"),
    command("delete", "/memories/none.md"),
    command("delete", "/memories/team"),
    command("delete", "/memories"),
    command("view", "/memories"),
    command("view", "/etc/passwd"),
    command("view", "/memories/../../etc/passwd"),
]


async def test_replies_are_those_of_the_sdks_own_tool(tmp_path: Path) -> None:
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path))
    async with SQLiteStore() as store:
        ours = as_anthropic_tool(MemoryTool(MemoryFiles(store, "ada")))
        for each in COMMANDS:
            told = list[str]()
            for tool in (theirs, ours):
                try:
                    reply = tool.call(each)
                    told.append(str(reply if isinstance(reply, str) else await reply))  # type: ignore[misc]
                except ToolError as error:
                    told.append(f"error: {error}")
            expected, found = (_without_folders(text) for text in told)
            assert found == expected, each


def _without_folders(text: str) -> list[str]:
    """The lines without the sizes of folders, which are the disk's own."""
    folders, lines = ("/", "/memories", "/team"), text.split("\n")
    return [line.partition("\t")[2] if line.endswith(folders) else line for line in lines]


async def test_a_wrong_command_is_an_error_that_says_what_to_do() -> None:
    async with SQLiteStore() as store:
        tool = MemoryTool(MemoryFiles(store, "ada"))
        for wrong, why in (
            ({"command": "format"}, "Use one of view, create"),
            (command("create", file_text=7), "Invalid `file_text`"),
            (command("create", "/memories/notes", file_text="x"), "name it notes.md"),
            (command("view", "/memories/none.md"), "does not exist"),
            (command("create", "/memories/AGENTS.md", file_text="x"), "choose another file"),
        ):
            with pytest.raises(MemoryToolError, match=why):
                await tool.call(wrong)


def _reply(name: str, given: Command | None) -> dict[str, object]:
    """What the API answers: a call of the tool with this input, or a text."""
    use = {"type": "tool_use", "id": name, "name": "memory", "input": given}
    return {
        "id": f"m{name}",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [use if given is not None else {"type": "text", "text": "Done."}],
        "stop_reason": "tool_use" if given is not None else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


async def test_the_sdks_runner_remembers_by_it() -> None:
    """Against a double of Anthropic's API, which says what the model would."""
    inputs: list[Command] = [
        command("view", "/memories"),
        command("create", file_text="Prefers pictures\n"),
        command("create", file_text="Prefers pictures\n"),
    ]
    asked = list[dict[str, Any]]()  # Any: what the SDK sends

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.readuntil(b"\r\n\r\n")).lower():
            length = int(head.partition(b"content-length:")[2].split()[0])
            asked.append(json.loads(await reader.readexactly(length)))
            place = len(asked) - 1
            body = json.dumps(_reply(f"t{place}", inputs[place] if place < len(inputs) else None)).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
            writer.write(b"content-length: %d\r\n\r\n%s" % (len(body), body))
            await writer.drain()

    async with SQLiteStore() as store, listening(serve) as port:
        client = AsyncAnthropic(api_key="none", base_url=f"http://127.0.0.1:{port}", max_retries=0)
        async with client:
            runner = client.beta.messages.tool_runner(
                model="claude-test",
                max_tokens=100,
                messages=[{"role": "user", "content": "I like pictures."}],
                tools=[as_anthropic_tool(MemoryTool(MemoryFiles(store, "ada")))],
            )
            last = await runner.until_done()
        assert last.content[0].type == "text"
        assert contents(await store.load("ada")) == ["Prefers pictures"]
    told = [json.dumps(each["messages"][-1]["content"]) for each in asked[1:]]
    assert "up to 2 levels deep in /memories" in told[0]
    assert "File created successfully at: /memories/notes.md" in told[1]
    assert "already exists" in told[2]
    assert '"is_error": true' in told[2]
    assert asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
