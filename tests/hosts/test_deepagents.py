"""A playbook as the file system of a deep agent: its tools edit it, its middleware shows it."""

from __future__ import annotations

from typing import Any

import pytest
from deepagents import create_deep_agent  # pyright: ignore[reportUnknownVariableType]  # its middleware
from deepagents.backends import CompositeBackend, StateBackend
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from ace_graph import playbooks
from ace_graph.hosts import MemoryFiles, PlaybookBackend
from ace_graph.memory.delta import Add
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel
from ace_graph.testing.conformance import contents, rewriting, write


def _call(name: str, **args: object) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{name}"}])


@pytest.mark.parametrize("routed", [False, True])
async def test_a_deep_agent_reads_and_edits_its_memory(routed: bool) -> None:
    async with SQLiteStore() as store:
        await write(store, "ada", rewriting(Add(content="Prefers pictures", section="preferences")))
        files = MemoryFiles(store, "ada")
        backend = (
            CompositeBackend(StateBackend(), {"/memories/": PlaybookBackend(files, root="")})
            if routed
            else PlaybookBackend(files)
        )
        source = "/memories/AGENTS.md" if routed else "/AGENTS.md"
        with ScriptedModel(
            [
                _call("ls", path="/memories"),
                _call("grep", pattern="pictures", output_mode="content"),
                _call("edit_file", file_path=source, old_string="pictures", new_string="long pictures"),
                _call("write_file", file_path="/memories/notes.md", content="# Work\n\nUses tabs\n"),
                "Noted.",
            ]
        ) as model:
            agent: Any = create_deep_agent(  # pyright: ignore[reportUnknownVariableType]  # its own state
                model, backend=backend, memory=[source]
            )
            out = await agent.ainvoke({"messages": [HumanMessage("I like long pictures, and tabs.")]})
        assert "- Prefers pictures" in model.calls[0].messages[0].text
        told = [each.text for each in out["messages"] if isinstance(each, ToolMessage)]
        assert "/memories/preferences.md" in told[0]
        assert "Prefers pictures" in told[1]
        assert contents(await store.load("ada")) == ["Prefers long pictures", "Uses tabs"]


def test_synchronous_calls_do_the_same_and_errors_are_results() -> None:
    store = SQLiteStore()
    backend = PlaybookBackend(MemoryFiles(store, "ada"))
    assert backend.write("/memories/team/rules.md", "Use tabs\nUse tabs\n").path == "/memories/team/rules.md"
    assert [entry["path"] for entry in backend.ls("/memories").entries or []] == ["/memories/team/"]
    assert [match["line"] for match in backend.grep("tabs", "/memories").matches or []] == [1]
    assert [info["path"] for info in backend.glob("*.md", "/memories").matches or []] == [
        "/memories/team/rules.md"
    ]
    read = backend.read("/memories/team/rules.md")
    assert read.file_data is not None
    assert read.file_data["content"] == "- Use tabs\n"
    assert backend.edit("/memories/team/rules.md", "spaces", "x").error
    assert backend.edit("/memories/none.md", "spaces", "x").error
    assert "outside" in (backend.write("/etc/passwd", "x").error or "")
    assert backend.read("/etc/passwd").error
    assert [each.error for each in backend.download_files(["/AGENTS.md", "/none.md"])] == [
        None,
        "file_not_found",
    ]
    assert "UTF-8" in (backend.upload_files([("/memories/a.md", b"\xff")])[0].error or "")
    assert backend.upload_files([("/memories/a.md", b"Name every unit")])[0].error is None
    assert backend.delete("/memories/team").error is None
    assert backend.delete("/memories/team").error


async def test_a_shared_playbook_refuses_writes() -> None:
    async with SQLiteStore() as store:
        await playbooks.create(store, "api", ["Use gzip"], owner="ada")
        await playbooks.grant(store, "api", "user:ben", "viewer", owner="ada")
        backend = PlaybookBackend(MemoryFiles(store, "ben", "ada/api"))
        before = (await backend.adownload_files(["/AGENTS.md"]))[0].content
        assert "only read" in ((await backend.awrite("/AGENTS.md", "- Mine")).error or "")
        assert "only read" in ((await backend.aedit("/AGENTS.md", "gzip", "zip")).error or "")
        assert "only read" in ((await backend.adelete("/AGENTS.md")).error or "")
        assert (await backend.adownload_files(["/AGENTS.md"]))[0].content == before
