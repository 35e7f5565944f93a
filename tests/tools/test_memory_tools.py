"""The memory tools on their own: any store, any graph, and never another learner's data.

Does not: run them inside a turn; tests/graph does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.graph import StateGraph
from langgraph.prebuilt import ToolNode

from ace_graph import ACEContext
from ace_graph.agent.tools.memory_tools import memory_tools
from ace_graph.base import StoreUnavailable
from ace_graph.memory import Snapshot
from ace_graph.memory.delta import Add, Merge, Operation, Quarantine, Supersede
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing.conformance import rewriting, write
from tests.plugins.sizes import HEAVY

_TOOLS = ("memory_list", "memory_search", "memory_by_topic", "memory_lineage")


class _State(TypedDict):
    messages: list[AnyMessage]


class _Unreadable(SQLiteStore):
    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        raise StoreUnavailable("the server db.internal:7687 is away")


async def ask(store: Store, context: object, name: str, /, **args: object) -> str:
    """Return what a model is told that calls the tool in somebody's own graph, without our state."""
    graph = StateGraph(_State, context_schema=ACEContext)
    graph.add_node("tools", ToolNode(memory_tools(store)))  # pyright: ignore[reportUnknownMemberType] langgraph's own types
    graph.set_entry_point("tools")
    call = AIMessage(content="", tool_calls=[{"name": name, "args": args, "id": "c", "type": "tool_call"}])
    given_context: Any = context  # Any: also contexts that the types forbid
    out = await graph.compile().ainvoke({"messages": [call]}, context=given_context)  # pyright: ignore[reportUnknownMemberType] as above
    told = out["messages"][-1]
    assert isinstance(told, ToolMessage)
    return told.text


async def seed(store: Store, learner: str, *operations: Operation) -> None:
    await write(store, learner, rewriting(*operations))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with SQLiteStore(tmp_path / "ace.db") as opened:
        await seed(
            opened,
            "alice",
            Add(content="Draw a bar to compare fractions", topic="fraction_addition", section="strategies"),
            Add(content="Shift the point to multiply decimals by ten", topic="decimals"),
            Add(content="Compare decimals place by place", topic="decimals"),
        )
        await seed(opened, "bob", Add(content="Bob hides a secret fractions bar", topic="decimals"))
        yield opened


ALICE = ACEContext(learner_id="alice")


async def test_search_ranks_what_matches_more_words_first(store: Store) -> None:
    told = (await ask(store, ALICE, "memory_search", words="compare decimal places")).splitlines()
    assert "place by place" in told[0]
    assert len(told) == 3
    assert (
        await ask(store, ALICE, "memory_search", words="volcanoes") == "Nothing of that kind is remembered."
    )


async def test_a_topic_lists_its_bullets_and_no_others(store: Store) -> None:
    told = await ask(store, ALICE, "memory_by_topic", topic=" Decimals ")
    assert len(told.splitlines()) == 2
    assert "fractions" not in told


async def test_the_number_of_rows_is_what_was_asked_for_and_at_most_twenty(store: Store) -> None:
    await seed(store, "alice", *(Add(content=f"Fact {n} is about {n * 7}") for n in range(40)))
    assert len((await ask(store, ALICE, "memory_list", limit=2)).splitlines()) == 2
    assert len((await ask(store, ALICE, "memory_list", limit=20)).splitlines()) == 20
    assert "less than or equal to 20" in await ask(store, ALICE, "memory_list", limit=21)


async def test_lineage_follows_what_was_merged_and_what_was_replaced(store: Store) -> None:
    await seed(store, "alice", Merge(bullet_ids=("gen-00002", "gen-00003"), force=True))
    await seed(
        store, "alice", Add(content="Draw two bars", ref="n"), Supersede(bullet_id="str-00001", by="n")
    )
    told = await ask(store, ALICE, "memory_lineage", bullet_id="gen-00002")
    assert told.startswith("[gen-00003]")
    assert "absorbed: gen-00002" in told
    assert "replaced by [gen-00004]" in await ask(store, ALICE, "memory_lineage", bullet_id="str-00001")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("memory_list", {}),
        ("memory_search", {"words": "decimals point"}),
        ("memory_by_topic", {"topic": "decimals"}),
        ("memory_lineage", {"bullet_id": "gen-00002"}),
    ],
)
async def test_what_is_in_quarantine_is_not_told(store: Store, name: str, args: dict[str, object]) -> None:
    assert "Shift the point" in await ask(store, ALICE, name, **args)
    await seed(store, "alice", Quarantine(bullet_id="gen-00002", why="a link"))
    assert "Shift the point" not in await ask(store, ALICE, name, **args)


NAMES = ("words", "topic", "bullet_id", "limit", "learner_id", "user_id", "runtime", "store", "name")
TEXTS = ("bob", "gen-00001", "bob:gen-00001", "decimals", "secret", "fractions bar", "*")


@settings(max_examples=25 if HEAVY else 10)
@given(
    tool=st.sampled_from(_TOOLS),
    args=st.dictionaries(
        st.sampled_from(NAMES),
        st.one_of(
            st.sampled_from(TEXTS),
            st.text(max_size=20),
            st.integers(-1, 30),
            st.just({"context": {"learner_id": "bob"}}),
        ),
    ),
)
async def test_no_argument_reaches_another_learner(tool: str, args: dict[str, object]) -> None:
    store = SQLiteStore()
    await seed(store, "bob", Add(content="Bob hides a secret fractions bar", topic="decimals"))
    await seed(store, "alice", Add(content="Draw a bar to compare fractions", topic="decimals"))
    assert "hides" not in await ask(store, ALICE, tool, **args)


@pytest.mark.parametrize("context", [None, {}, {"topic": "decimals"}, ACEContext()], ids=repr)
async def test_without_a_learner_nothing_is_remembered(store: Store, context: object) -> None:
    assert "no learner" in await ask(store, context, "memory_list")


async def test_a_context_that_is_a_dict_will_do(store: Store) -> None:
    assert "Draw a bar" in await ask(store, {"learner_id": "alice"}, "memory_list")


async def test_a_memory_that_can_t_be_read_is_said_without_the_reason() -> None:
    told = await ask(_Unreadable(), ALICE, "memory_list")
    assert told == "What is remembered can't be read right now."


def test_the_model_is_offered_nothing_that_names_a_learner() -> None:
    offered = {name for made in memory_tools(SQLiteStore()) for name in made.args}
    assert offered == {"limit", "words", "topic", "bullet_id", "tag", "memory_types", "kind"}


async def test_a_list_holds_only_the_kind_asked_for(store: Store) -> None:
    await seed(
        store,
        "alice",
        Add(content="Adding tops and bottoms", polarity="anti_pattern"),
        Add(content="Learner says: I prefer pictures", section="preferences"),
    )
    assert "Adding tops" in await ask(store, ALICE, "memory_list", kind="anti_pattern")
    told = await ask(store, ALICE, "memory_list", kind="preference")
    assert (told.count("\n"), "I prefer pictures" in told) == (0, True)
    assert await ask(store, ALICE, "memory_list", kind="experience") == "Nothing of that kind is remembered."
    assert "banana" in await ask(store, ALICE, "memory_list", kind="banana"), (
        "the model is told what is wrong"
    )


async def test_a_value_of_the_profile_is_found_by_its_name_in_any_language(store: Store) -> None:
    await seed(
        store,
        "alice",
        Add(content="Learner says: Ich wohne in Bonn", section="profile", slot="home"),
        Add(
            content="Learner says: meine Muttersprache ist Polnisch",
            section="profile",
            slot="native_language",
        ),
    )
    told = await ask(store, ALICE, "memory_search", words="home address")
    assert "Ich wohne in Bonn" in told
    assert "Polnisch" not in told
    assert "Polnisch" in await ask(store, ALICE, "memory_search", words="native language")
