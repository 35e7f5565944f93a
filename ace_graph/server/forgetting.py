"""What a turn brought of a learner who was forgotten while it was being stored, taken back.

A commit that began a learner's memory can't tell that it came too late: there was nothing before it, and
there is nothing before it now. Whose conversations are gone by then was forgotten.

Does not: touch a memory that holds anything but this one turn.
"""

from __future__ import annotations

from ace_graph.memory.stores.base import Store
from ace_graph.server.conversations import Accepted, Conversations

__all__ = ["taken_back"]


async def taken_back(store: Store, conversations: Conversations, turn: Accepted, turn_id: str) -> bool:
    """Forget the learner of whom the turn `turn_id` is all there is, where they have no conversation.

    Return whether it did. Raises what the store and the conversations raise.
    """
    if await conversations.of(turn.learner_id):
        return False
    known = await store.turns(turn.learner_id, 2)
    if [each.turn_id for each in known] != [turn_id]:
        return False
    return await store.forget(turn.learner_id)
