"""A model lists and searches the playbooks that are attached to its run, and the result names them."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from ace_graph import ACEContext, playbooks
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask

BARS = "Draw a bar for each fraction before adding them"
ZOO = "Otters hold hands while they sleep"


class Told(NamedTuple):
    """What the model was told by its tools, and the playbooks that the result names."""

    texts: list[str]
    playbooks: list[str]


@pytest.fixture
async def seeded(store: CountingStore) -> None:
    await store.seed("ada", Add(content="My own secret bar"))
    await playbooks.create(store, "maths", [BARS], owner="ada")
    await playbooks.create(store, "zoo", [ZOO, *(f"Fact {n} about animals" for n in range(30))], owner="ada")
    await playbooks.create(store, "hidden", ["Nobody attached this bar"], owner="ada")


async def told(
    build: Build, *calls: tuple[str, dict[str, object]], attached: tuple[str, ...] = ("maths", "zoo")
) -> Told:
    """Return what a turn says in which the model makes these calls."""
    replies = [
        AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"c{n}", "type": "tool_call"}])
        for n, (name, args) in enumerate(calls)
    ]
    graph = build(ScriptedModel([*replies, "<final>ok</final>"]))
    context = ACEContext(learner_id="ada", playbooks=attached, reflect_when="never")
    out = await graph.ainvoke(ask("go", "react"), context=context)
    texts = [str(m.text) for m in out["messages"] if isinstance(m, ToolMessage)]
    return Told(texts, out["result"]["playbooks"])


@pytest.mark.usefixtures("seeded")
async def test_attached_playbooks_are_listed_and_searched(build: Build) -> None:
    listed = await told(build, ("playbook_list", {}))
    assert listed == Told(["ada/maths (1 bullets)\nada/zoo (31 bullets)"], [])
    one = await told(build, ("playbook_list", {"playbook": "MATHS"}))
    assert one.texts == [f"[ada/maths:gen-00001] {BARS} (+0/-0, general)"]
    assert one.playbooks == ["ada/maths"]
    found = await told(build, ("playbook_search", {"words": "a bar, or otters"}))
    assert sorted(line.split("]")[0] for line in found.texts[0].splitlines()) == [
        "[ada/maths:gen-00001",
        "[ada/zoo:gen-00001",
    ]
    assert found.playbooks == ["ada/maths", "ada/zoo"]
    within = await told(build, ("playbook_search", {"words": "a bar, or otters", "playbook": "ada/zoo"}))
    assert (ZOO in within.texts[0], BARS in within.texts[0]) == (True, False)
    assert within.playbooks == ["ada/zoo"]


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("name", ["hidden", "ada/hidden", "default", "base", "bob/maths", "*"])
async def test_no_other_playbook_is_reached(build: Build, name: str) -> None:
    asked: list[tuple[str, dict[str, object]]] = [
        (tool, {"playbook": name, "words": "bar"}) for tool in ("playbook_list", "playbook_search")
    ]
    found = await told(build, *asked)
    assert all("no attached playbook of that name" in text for text in found.texts)
    assert len(found.texts) == 2
    assert found.playbooks == []


@pytest.mark.usefixtures("seeded")
async def test_what_is_told_is_bounded(build: Build, store: CountingStore) -> None:
    await playbooks.create(store, "long", ["word " * 300], owner="ada")
    many = await told(build, ("playbook_list", {"playbook": "zoo", "limit": 20}))
    assert len(many.texts[0].splitlines()) == 20
    refused = await told(build, ("playbook_list", {"playbook": "zoo", "limit": 21}))
    assert "less than or equal to 20" in refused.texts[0]
    long = await told(build, ("playbook_search", {"words": "word"}), attached=("long",))
    assert len(long.texts[0]) < 300


@pytest.mark.usefixtures("seeded")
async def test_without_attached_playbooks_the_tools_are_not_offered(build: Build) -> None:
    found = await told(build, ("playbook_list", {}), attached=())
    assert "not a valid tool" in found.texts[0]


@pytest.mark.usefixtures("seeded")
async def test_playbooks_in_the_prompt_are_named_in_the_result(build: Build) -> None:
    graph = build(ScriptedModel(["<final>ok</final>"]))
    context = ACEContext(learner_id="ada", playbooks=("maths", "zoo"), reflect_when="never")
    out = await graph.ainvoke(ask("How do I draw a bar for each fraction?", "cot"), context=context)
    assert out["result"]["playbooks"] == ["ada/maths"]
