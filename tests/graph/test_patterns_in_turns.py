"""Execution patterns in real turns: what a sequence of tool calls teaches, what is too uncertain to keep."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool

from ace_graph import ACEContext
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask

ALICE = ACEContext(learner_id="alice")
NOTHING = json.dumps({"lessons": []})


@tool
def run_command(command: str) -> str:
    """Run a command."""
    if command.startswith("frobnicate"):
        raise RuntimeError("exit 127")
    return "done"


@tool
def read_file(path: str) -> str:
    """Read a file."""
    if path == "nope":
        raise FileNotFoundError(path)
    return "text"


@tool
def list_files(path: str) -> str:
    """List a folder."""
    return "a.py"


TOOLS: list[BaseTool] = [run_command, read_file, list_files]


def calling(name: str, **args: str) -> AIMessage:
    return AIMessage(content="", tool_calls=[{"name": name, "args": args, "id": f"{name}{args}"}])


@pytest.mark.parametrize(
    ("calls", "section"),
    [
        ([calling("run_command", command="frobnicate")], "error_handling"),  # .70
        ([calling("read_file", path="nope")], "error_handling"),  # .70
        ([calling("list_files", path="."), calling("read_file", path="a")], "file_operations"),  # .75
        (
            [
                calling("run_command", command="pip install x"),
                calling("run_command", command="python app.py"),
            ],
            "shell_commands",  # .80
        ),
        ([calling("read_file", path="a")], None),
    ],
    ids=["a command failed", "an access failed", "list, then read", "install, then run", "one read"],
)
async def test_only_confident_patterns_are_stored(
    build: Build, store: CountingStore, calls: list[AIMessage], section: str | None
) -> None:
    model = ScriptedModel(solver=[*calls, "<final>done</final>"], reflector=[NOTHING])
    out = await build(model, tools=TOOLS).ainvoke(ask("Please do it", "react"), context=ALICE)
    stored = [(b.section, b.memory_type, b.examples) for b in (await store.now("alice")).playbook.bullets()]
    expected = [(section, "procedural", (out["learning"]["turn_id"],))] if section else []
    assert stored == expected


async def test_a_pattern_is_not_looked_for_where_nothing_is_to_be_learned(
    build: Build, store: CountingStore
) -> None:
    calls = [calling("list_files", path="."), calling("read_file", path="a")]
    for context in ({"reflect_when": "never"}, {"learning": "off"}):
        model = ScriptedModel(solver=[*calls, "<final>done</final>"])
        await build(model, tools=TOOLS).ainvoke(
            ask("Please do it", "react"), context=ALICE.model_copy(update=context)
        )
    assert len((await store.now("alice")).playbook) == 0


async def test_the_reflector_sees_the_end_of_a_long_trace_and_its_errors(build: Build) -> None:
    @tool
    def talk(about: str) -> str:
        """Talk at length."""
        return f"{about} " * 400

    calls = [calling("read_file", path="nope"), *(calling("talk", about=f"word{n}") for n in range(5))]
    model = ScriptedModel(solver=[*calls, "<final>done</final>"], reflector=[NOTHING])
    await build(model, tools=[*TOOLS, talk]).ainvoke(ask("Please do it", "react"), context=ALICE)
    prompt = model.calls_of("reflector")[0].messages[0].text
    trace = prompt.partition("<trace>\n")[2].partition("\n</trace>")[0]
    assert trace.startswith("tool: Error: FileNotFoundError: nope\n… ")
    assert "word4 word4" in trace
    assert "word0" not in trace
    assert len(trace) < 6_500


async def test_a_mistake_and_its_recovery_give_the_lesson_that_would_have_spared_it(
    build: Build, store: CountingStore
) -> None:
    missed, found = calling("read_file", path="nope"), calling("read_file", path="a.py")
    listed = calling("list_files", path=".")
    taught = dict[str, list[str]]()
    for learner, calls in {
        "recovered": [missed, listed, found],
        "stuck": [missed, listed],
        "in luck": [found, listed],
    }.items():
        model = ScriptedModel(solver=[*calls, "<final>done</final>"], reflector=[NOTHING])
        context = ALICE.model_copy(update={"learner_id": learner})
        await build(model, tools=TOOLS).ainvoke(ask("What does a.py do?", "react"), context=context)
        taught[learner] = [b.content for b in (await store.now(learner)).playbook.bullets()]
    assert taught == {
        "recovered": ["List the directory before reading files, to know what is there"],
        "stuck": ["When a file can't be accessed, list its directory to find the right path"],
        "in luck": [],
    }
    recorded = (await store.turns("recovered"))[0].steps
    assert any("FileNotFoundError" in step.text for step in recorded)
