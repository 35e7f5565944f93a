"""A claimed item that asks for a consolidation: run it under the item's id, then complete the item.

Every batch is a commit of its own under an id that follows from the run's. A worker that is killed in between
leaves the item; whoever claims it next goes on after the last batch that was stored.
"""

from __future__ import annotations

from ace_graph.consolidation.run import consolidate
from ace_graph.errors import LearnerForgotten, PlaybookChanged, PlaybookNotFound
from ace_graph.memory.commit import Commit
from ace_graph.memory.consolidation.plan import Options
from ace_graph.memory.consolidation.schedule import ConsolidationWork
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.pending import PendingItem
from ace_graph.memory.stores.base import PendingStore
from ace_graph.resources import Resources
from ace_graph.runtime import logger

__all__ = ["complete_consolidation", "consolidate_item"]

_AUTHOR = "ace_worker"


async def consolidate_item(
    item: PendingItem, work: ConsolidationWork, store: PendingStore, resources: Resources
) -> None:
    """Run the consolidation, by rules. A playbook that was deleted meanwhile, or has another version than
    the one that was asked for, leaves nothing to do.

    Raises LearnerForgotten, and what the store raises.
    """
    if (await store.load(item.learner_id)).absent:
        raise LearnerForgotten("the learner was forgotten before the work began")
    options = Options(
        work.kind,
        work.topic,
        work.section,
        below=min(work.below, work.keep_above),
        keep_above=work.keep_above,
        batch=store.policy.consolidate_batch,
    )
    try:
        done = await consolidate(
            store,
            work.name,
            item.learner_id,
            options,
            run_id=item.pending_id,
            now=resources.clock(),
            expected_etag=work.expected_etag,
        )
    except PlaybookChanged:
        logger.info("[ACE Worker] consolidation %s: the playbook has another version by now", item.pending_id)
        return
    except PlaybookNotFound:
        logger.info("[ACE Worker] consolidation %s: the playbook is not there any more", item.pending_id)
        return
    logger.info(
        "[ACE Worker] consolidation %s: merged %d into %d, refused %d, left %d",
        item.pending_id,
        done.merged,
        len(done.groups),
        len(done.refused),
        done.left,
    )


async def complete_consolidation(item: PendingItem, store: PendingStore, resources: Resources) -> Commit:
    """Complete the item in a commit that changes nothing else. Raises what the store raises."""
    delta = Delta(
        op_id=item.pending_id,
        now=resources.clock(),
        operations=(),
        author=_AUTHOR,
        reason="consolidated in the background",
        source=item.turn_id,
    )
    base = await store.load(item.learner_id)
    commit = await store.commit(item.learner_id, delta, base, None, item)
    resources.cache.put(item.learner_id, commit.snapshot)
    return commit
