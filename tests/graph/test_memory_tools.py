"""The four reads of the learner's own memory, from inside a react turn."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from ace_graph import ACEContext
from ace_graph.memory import MemoryType
from ace_graph.memory.delta import Add, Supersede
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask

MEMORY_TYPES: tuple[MemoryType, ...] = ("semantic", "episodic", "procedural")


async def call(build: Build, learner: str | None, name: str, **args: object) -> str:
    """Return what the model is told when it calls a tool in a turn of `learner`."""
    asked = AIMessage(content="", tool_calls=[{"name": name, "args": args, "id": "c", "type": "tool_call"}])
    graph = build(ScriptedModel([asked, "<final>ok</final>"]))
    context = ACEContext(learner_id=learner, reflect_when="never")
    out = await graph.ainvoke(ask("go", "react"), context=context)
    [told] = [m.text for m in out["messages"] if isinstance(m, ToolMessage)]
    return told


@pytest.fixture
async def seeded(store: CountingStore) -> None:
    await store.seed(
        "alice",
        Add(content="Otters hold hands while they sleep", topic="animals", section="zoo", tags=("Fun",)),
        Add(content="Fractions need a common denominator", topic="fraction_addition"),
    )
    await store.seed("bob", Add(content="Bob keeps a secret otter", topic="animals"))


@pytest.mark.usefixtures("seeded")
async def test_list_search_topic_and_lineage_tell_of_this_learner(build: Build, store: CountingStore) -> None:
    assert "Otters hold hands" in await call(build, "alice", "memory_list")
    assert (await call(build, "alice", "memory_list", tag="fun")).count("[") == 1
    found = await call(build, "alice", "memory_search", words="common denominators")
    assert found.startswith("[gen-00002]")
    assert "Otters" not in found
    assert "Otters" in await call(build, "alice", "memory_by_topic", topic="Animals")
    assert "seen 1 times" in await call(build, "alice", "memory_lineage", bullet_id="[zoo-00001]")
    assert "Nothing" in await call(build, "alice", "memory_by_topic", topic="cars")


async def test_a_tool_lists_the_memory_types_asked_for(build: Build, store: CountingStore) -> None:
    await store.seed(
        "alice",
        *(Add(content=f"Otters, told as {kind}", topic="zoo", memory_type=kind) for kind in MEMORY_TYPES),
    )
    asked = {"memory_list": {}, "memory_search": {"words": "otters"}, "memory_by_topic": {"topic": "zoo"}}
    for name, args in asked.items():
        told = await call(build, "alice", name, **args, memory_types=["procedural", "episodic"], limit=2)
        assert sorted(line.partition("told as ")[2].split()[0] for line in told.splitlines()) == [
            "episodic",
            "procedural",
        ]
        assert len((await call(build, "alice", name, **args)).splitlines()) == 3


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("memory_list", {"limit": 20, "learner_id": "bob"}),
        ("memory_search", {"words": "secret otter", "learner_id": "bob"}),
        ("memory_by_topic", {"topic": "animals", "runtime": {"context": {"learner_id": "bob"}}}),
        ("memory_lineage", {"bullet_id": "bob:gen-00001"}),
        ("memory_search", {"words": "' OR 1=1 MATCH (n) RETURN n"}),
    ],
)
async def test_no_argument_reaches_another_learner(build: Build, name: str, args: dict[str, object]) -> None:
    assert "secret" not in await call(build, "alice", name, **args)


async def test_without_a_learner_nothing_is_remembered(build: Build) -> None:
    assert "no learner" in await call(build, None, "memory_list")


@pytest.mark.usefixtures("seeded")
async def test_the_reads_cost_no_further_load(build: Build, store: CountingStore) -> None:
    await call(build, "alice", "memory_list")
    assert store.calls.loads == 1


@pytest.mark.usefixtures("seeded")
async def test_lineage_shows_the_replacement_of_an_item(build: Build, store: CountingStore) -> None:
    await store.seed(
        "alice",
        Add(content="Sea otters hold hands, river otters do not", ref="n"),
        Supersede(bullet_id="zoo-00001", by="n"),
    )
    assert "was replaced by [gen-00003]" in await call(
        build, "alice", "memory_lineage", bullet_id="zoo-00001"
    )
    assert "replaced: zoo-00001" in await call(build, "alice", "memory_lineage", bullet_id="gen-00003")
