"""`memory="off"`: a turn that neither reads nor stores anything of its learner."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage, ToolCall
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from ace_graph import ACEContext
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask, thread

OFF = ACEContext(learner_id="alice", memory="off", reflect_when="always")


class RecordingStore(CountingStore):
    """Notes the name of everything that is asked of the store about a learner."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def __getattribute__(self, name: str) -> object:
        found: object = super().__getattribute__(name)
        if callable(found) and not name.startswith("_") and name not in ("seed", "now"):
            super().__getattribute__("__dict__").setdefault("asked", []).append(name)
        return found


@pytest.fixture
def store() -> RecordingStore:
    return RecordingStore()


async def test_a_temporary_turn_asks_nothing_of_the_store(build: Build, store: RecordingStore) -> None:
    await store.seed("alice", Add(content="Learner says: Call me Sam", section="profile", slot="name"))
    before = await store.now("alice")
    with ScriptedModel(solver=["<final>5/6</final>"]) as model:
        graph = build(model)
        store.asked.clear()
        out = await graph.ainvoke(ask("What is 1/2 + 1/3?"), context=OFF)
        assert store.asked == []
        assert "Sam" not in str([call.messages for call in model.calls])
    assert await store.now("alice") == before
    assert (out["result"]["memory"], out["result"]["injected"]) == ("off", [])
    assert out["learning"]["skipped"] == "memory is off: nothing is read or kept in a temporary chat"
    assert (out["learning"]["version"], out["learning"]["pending"]) == (None, None)


async def test_with_memory_on_the_same_turn_asks_the_store(build: Build, store: RecordingStore) -> None:
    graph = build(ScriptedModel(solver=["<final>5/6</final>"]))
    store.asked.clear()
    out = await graph.ainvoke(ask(), context=OFF.model_copy(update={"memory": "on", "reflect_when": "never"}))
    assert {"load", "commit"} <= set(store.asked)
    assert out["result"]["memory"] == "on"


@pytest.mark.parametrize("learning", ["inline", "background"])
async def test_what_is_to_be_remembered_is_refused(
    build: Build, store: RecordingStore, learning: str
) -> None:
    model = ScriptedModel(solver=["<final>fine</final>"])
    context = OFF.model_copy(update={"learning": learning})
    await build(model).ainvoke(ask("Remember that my cat is called Kim."), context=context)
    system = model.calls_of("solver")[0].messages[0].text
    _, _, rest = system.partition("<memory_changes>\n")
    told = json.loads(rest.partition("\n</memory_changes>")[0])
    assert told["why"] == "nothing is kept in a temporary chat"
    assert len((await store.now("alice")).playbook) == 0


@pytest.mark.parametrize(("memory", "reached"), [("off", False), ("on", True)])
async def test_the_tools_of_a_temporary_turn_reach_no_memory(
    build: Build, store: RecordingStore, memory: str, reached: bool
) -> None:
    await store.seed("alice", Add(content="Otters hold hands", section="zoo"))
    call: ToolCall = {"name": "memory_list", "args": {"limit": 5}, "id": "c", "type": "tool_call"}
    model = ScriptedModel(solver=[AIMessage(content="", tool_calls=[call]), "<final>none</final>"])
    context = OFF.model_copy(update={"memory": memory, "reflect_when": "never"})
    graph = build(model)
    store.asked.clear()
    await graph.ainvoke(ask("Tell me of yourself", "react"), context=context)
    answer = model.calls_of("solver")[-1].messages[-1].text
    assert ("Otters hold hands" in answer, "load" in store.asked) == (reached, reached)
    assert ("no learner" in answer) is not reached


async def test_a_temporary_turn_does_not_stop_the_next_one_from_learning(
    build: Build, store: RecordingStore
) -> None:
    graph = build(
        ScriptedModel(solver=["<final>a</final>", "<final>b</final>"]), checkpointer=InMemorySaver()
    )
    await graph.ainvoke(ask("Call me Sam."), thread("t"), context=OFF)
    on = ACEContext(learner_id="alice", reflect_when="never")
    out = await graph.ainvoke(ask("I prefer pictures."), thread("t"), context=on)
    assert out["result"]["memory"] == "on"
    kept = [bullet.content for bullet in (await store.now("alice")).playbook.bullets()]
    assert kept == ["Learner says: I prefer pictures"]


def test_a_temporary_chat_names_no_playbooks() -> None:
    with pytest.raises(ValidationError, match="no playbooks are read"):
        ACEContext(learner_id="alice", memory="off", playbooks=("api",))
    with pytest.raises(ValidationError):
        ACEContext.model_validate({"memory": "sometimes"})
