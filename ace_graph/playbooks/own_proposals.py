"""What became of the proposals that a learner has made."""

from __future__ import annotations

from ace_graph.memory.sharing.proposal import Proposal
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.playbooks import keeps_playbooks

__all__ = ["own_proposals"]

_PAGE = 200


async def own_proposals(store: Store, learner: str) -> tuple[Proposal, ...]:
    """Return what a learner has proposed, to any playbook, the newest first, and what became of it.

    Also where the learner may not read the playbook any more. Who decided is left out.
    """
    if not keeps_playbooks(store):
        return ()
    made, page = list[Proposal](), await store.proposals_by(learner, _PAGE)
    while page:
        made += page
        page = await store.proposals_by(learner, _PAGE, page[-1].proposal_id)
    newest_first = sorted(made, key=lambda each: (each.at, each.proposal_id), reverse=True)
    return tuple(each.model_copy(update={"decided_by": ""}) for each in newest_first)
