"""The one read of a turn, and what happens when it fails.

Who runs the graph may begin to read before it: then the run's config has the reading under `READ_AHEAD`.

Does not: keep anything; the snapshot travels in the state, and the cache belongs to the resources.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import cast

from langgraph.config import get_config

from ace_graph.audit import shown_learner
from ace_graph.errors import StoreError
from ace_graph.memory.snapshot import Snapshot
from ace_graph.run import Run
from ace_graph.state import ACEState, Memory

__all__ = ["READ_AHEAD", "ensure_memory", "load_memory"]

READ_AHEAD = "__ace_read_ahead"
"""A key of `configurable`: an awaitable of the learner's snapshot, begun for this turn on the same loop."""

logger = logging.getLogger("ace_graph")


async def load_memory(run: Run) -> Memory:
    """Return the learner's memory. Without a learner id there is none, and a log line says so.

    Raises StoreError when it can't be read and `on_memory_error` is `fail`; with `answer` the turn goes on
    without memory and without learning, so that nothing is ever learned onto an empty base.
    """
    learner_id = run.learner_id
    if learner_id is None:
        logger.warning(
            "[ACE Memory] no learner_id in the context: this turn has no memory and stores nothing"
        )
        return Memory(problem="no learner_id in the context")
    store, cache = run.resources.store, run.resources.cache
    begun = cast("Awaitable[Snapshot] | None", get_config().get("configurable", {}).get(READ_AHEAD))
    try:
        snapshot = await (begun or store.load(learner_id, known=cache.get(learner_id)))
    except StoreError as error:
        if run.context.on_memory_error == "fail":
            raise
        logger.error("[ACE Memory] could not be read, answering without it: %s", error)  # noqa: TRY400  expected
        return Memory(problem=str(error))
    cache.put(learner_id, snapshot)
    logger.info(
        "[ACE Memory] Loaded %d bullets from %s for learner=%s",
        len(snapshot.playbook),
        store.name,
        shown_learner(learner_id),
    )
    return Memory(snapshot)


async def ensure_memory(state: ACEState, run: Run) -> Memory:
    """Return the memory the router loaded; after an interrupt or a fork it is gone, so load it once."""
    return state.get("memory") or await load_memory(run)
