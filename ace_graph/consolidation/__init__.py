"""Consolidation: bullets that say the same become one, nothing is lost, and all of it can be taken back.

from ace_graph import open_store
from ace_graph.consolidation import consolidate, undo

async with open_store() as store:
    planned = await consolidate(store, owner="ada", dry_run=True)
    for group in planned.groups:
        print(group.ids, group.text)
    done = await consolidate(store, owner="ada")
    await undo(store, owner="ada", run_id=done.run_id)
"""

from __future__ import annotations

from ace_graph.consolidation.queue import RunState, enqueue, run_state
from ace_graph.consolidation.report import Consolidation, MergedGroup, Undone
from ace_graph.consolidation.run import (
    consolidate,
    distinguish,
    identify_similar_memories,
    merge_memories,
)
from ace_graph.consolidation.undo_run import undo
from ace_graph.consolidation.writer import Writer, WriterReply
from ace_graph.memory.consolidation.plan import Options
from ace_graph.memory.consolidation.schedule import ConsolidationWork

__all__ = [
    "Consolidation",
    "ConsolidationWork",
    "MergedGroup",
    "Options",
    "RunState",
    "Undone",
    "Writer",
    "WriterReply",
    "consolidate",
    "distinguish",
    "enqueue",
    "identify_similar_memories",
    "merge_memories",
    "run_state",
    "undo",
]
