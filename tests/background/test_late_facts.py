"""Facts about the learner that a worker finds: kept late, and never over what was said since."""

from __future__ import annotations

import json

from langchain_core.messages import HumanMessage

from ace_graph import ACEContext
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel
from tests.background.conftest import Build, Hire

ALICE = ACEContext(learner_id="alice")


def _reply(*quotes: tuple[str, str]) -> str:
    facts = [{"quote": quote, "kind": kind} for quote, kind in quotes]
    return json.dumps({"lessons": [], "learner_facts": facts})


async def test_a_worker_keeps_facts_but_not_over_newer_ones(
    store: SQLiteStore, build: Build, hire: Hire
) -> None:
    graph = build(ScriptedModel(solver=["<final>fine</final>"] * 2))
    for message in ("I play chess. I now stay in Rome.", "I live in Oslo."):
        await graph.ainvoke({"messages": [HumanMessage(message)]}, context=ALICE)
    replies = [_reply(("I play chess", "hobby"), ("I now stay in Rome", "home")), _reply()]
    await hire(ScriptedModel(reflector=replies)).drain()
    kept = [bullet.content for bullet in (await store.load("alice")).playbook.bullets()]
    assert sorted(kept) == ["Learner says: I live in Oslo", "Learner says: I play chess"]
