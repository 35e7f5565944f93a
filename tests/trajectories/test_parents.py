"""Runs within runs: a run of the graph says which trajectory it is a part of."""

from __future__ import annotations

from ace_graph import ACEContext
from ace_graph.base import Settings
from ace_graph.graph import build_ace_graph
from ace_graph.learning import start_trajectory
from ace_graph.memory import TrajectoryFilter
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import ask


async def test_a_run_of_the_graph_appears_under_its_parent() -> None:
    store = SQLiteStore()
    parent = await start_trajectory(store, "alice", "Prepare a lesson")
    graph = build_ace_graph(model=ScriptedModel(["<final>5/6</final>"]), store=store, settings=Settings())
    context = ACEContext(learner_id="alice", reflect_when="never", parent_id=parent, task_type="question")
    out = await graph.ainvoke(ask(), context=context)
    (part,) = await store.find_turns("alice", TrajectoryFilter(parent_id=parent))
    assert (part.turn_id, part.task_type) == (out["learning"]["turn_id"], "question")
