"""A turn that is tried again after a failure is learned from once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from ace_graph import ACEContext
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask, thread

FIRST, SECOND = "Find the least common denominator first", "Draw both fractions as bars first"


def two_tries() -> ScriptedModel:
    """A model that teaches another lesson when the turn is tried again."""
    lessons = [json.dumps({"lessons": [{"content": content}]}) for content in (FIRST, SECOND)]
    return ScriptedModel(solver=["<final>5/6</final>"] * 2, reflector=lessons)


async def learned(store: CountingStore) -> tuple[int, list[str]]:
    """How many turns alice's memory has, and its bullets."""
    playbook = (await store.now("alice")).playbook
    return len(await store.turns("alice", 9)), [bullet.content for bullet in playbook.bullets()]


class Forgetful(InMemorySaver):
    """Keeps of a thread what was there before the first node, as if the process had been killed."""

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        if metadata.get("step", 0) > 0:
            return {"configurable": {**config.get("configurable", {}), "checkpoint_id": checkpoint["id"]}}
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],  # Any: LangGraph's own
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Lose what a node wrote."""


async def test_a_turn_that_is_resumed_after_its_commit_is_learned_from_once(
    build: Build, store: CountingStore
) -> None:
    graph = build(two_tries(), checkpointer=Forgetful(), new_id=None)
    context = ACEContext(learner_id="alice", reflect_when="always")
    first = await graph.ainvoke(ask(), thread("t"), context=context)
    again = await graph.ainvoke(None, thread("t"), context=context)
    assert again["learning"]["turn_id"] == first["learning"]["turn_id"]
    assert await learned(store) == (1, [FIRST])


async def test_a_turn_that_is_repeated_under_its_id_is_learned_from_once(
    build: Build, store: CountingStore
) -> None:
    graph = build(two_tries())
    context = ACEContext(learner_id="alice", reflect_when="always", turn_id="order-17")
    for _ in range(2):
        out = await graph.ainvoke(ask(), context=context)
        assert out["learning"]["turn_id"] == "order-17"
    assert await learned(store) == (1, [FIRST])


async def test_the_same_question_in_a_new_run_is_another_turn(build: Build, store: CountingStore) -> None:
    graph = build(two_tries(), checkpointer=InMemorySaver(), new_id=None)
    context = ACEContext(learner_id="alice", reflect_when="always")
    for name in ("t", "t"):
        await graph.ainvoke(ask(), thread(name), context=context)
    assert await learned(store) == (2, [FIRST, SECOND])


def test_a_turn_id_is_a_short_text() -> None:
    for wrong in ("", "x" * 257):
        with pytest.raises(ValidationError):
            ACEContext(turn_id=wrong)
