"""What a turn leaves to a worker: the votes and statements now, the looking back later.

Does not: store it; both travel in the turn's one commit.
"""

from __future__ import annotations

from ace_graph.learning.looking_back import Learned, votes_at_once
from ace_graph.learning.looks import Looks
from ace_graph.learning.pending_work import PendingWork
from ace_graph.memory.pending import Pending
from ace_graph.run import Run

__all__ = ["set_aside"]


def set_aside(looks: Looks, turn_id: str, pending_id: str, run: Run) -> tuple[Learned, Pending | None]:
    """Return what the turn's commit changes at once, and the work it leaves; None: nothing to look back at.

    `pending_id` is the op id of the commit that will complete the work.
    """
    later = tuple(look for look in looks.all if look.reflects or look.found)
    if not later:
        return votes_at_once(looks), None
    work = PendingWork(
        looks=later,
        max_reflection_rounds=run.context.max_reflection_rounds,
        model=run.context.model,
        temperature=run.context.temperature,
    )
    return votes_at_once(looks), Pending(pending_id=pending_id, turn_id=turn_id, body=work.text())
