"""What became of the proposals that a learner has made."""

from __future__ import annotations

from ace_graph.memory.sharing.proposal import Proposal
from ace_graph.memory.stores.base import Store

__all__ = ["own_proposals"]


async def own_proposals(store: Store, learner: str) -> tuple[Proposal, ...]:
    """Return what a learner has proposed, to any playbook, the newest first, and what became of it.

    Also where the learner may not read the playbook any more. Who decided is left out.
    """
    made = (await store.export(learner)).sharing.proposals
    newest_first = sorted(made, key=lambda each: (each.at, each.proposal_id), reverse=True)
    return tuple(each.model_copy(update={"decided_by": ""}) for each in newest_first)
