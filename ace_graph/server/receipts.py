"""The receipts of a conversation's answers: what each was given with, and what was learned from it, in ids.

An answer's message names its turn, so equal answers have their own receipts. API and page show the same ones;
only the page looks up the texts.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from langchain_core.messages import AnyMessage

from ace_graph.agent.reasoning.attempt import turn_of_answer
from ace_graph.memory.commit import History
from ace_graph.memory.delta.effect import Report
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.stores.store import Store
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import GRAPH_AGENT, TurnRecord
from ace_graph.server.conversations.repository import Conversation
from ace_graph.server.schemas import Learned, learned_from

MAX_TURNS = 1_000
"""The most records that are read for a conversation, the newest of its time; older answers have none."""


_AFTER_LAST_USE = timedelta(hours=2)
"""The longest time, generously, from a message until its turn is recorded."""


@dataclass(frozen=True)
class Receipt:
    """The turn of an answer, and what the changes that came from it so far came to.

    `learned` is None for a turn from before the changes that are kept.
    """

    turn: TurnRecord
    learned: Learned | None

    @property
    def verdict(self) -> Verdict:
        """What was said last of the answer, else how the turn ended."""
        return self.turn.feedback[-1].verdict if self.turn.feedback else self.turn.verdict


async def read_receipts(
    store: Store, learner_id: str, conversation: Conversation, messages: Sequence[AnyMessage]
) -> Mapping[str, Receipt]:
    """Return the receipts of a conversation's answers by the ids of their messages; some answers have none.

    The records of the turns are read with one query, and the history with another one.
    """
    began = datetime.fromisoformat(conversation.created_at)
    used = datetime.fromisoformat(conversation.used_at or conversation.created_at)
    wanted = TrajectoryFilter(agent=GRAPH_AGENT, since=began, until=used + _AFTER_LAST_USE)
    found = await store.find_turns(learner_id, wanted, limit=MAX_TURNS)
    turns = [turn for turn in found if turn.conversation_id == conversation.id]
    return await asyncio.to_thread(receipts, messages, turns, await store.history(learner_id))


def receipts(
    messages: Sequence[AnyMessage], records: Sequence[TurnRecord], history: History
) -> dict[str, Receipt]:
    """Return the receipts from the records of the turns and the changes of the learner's memory."""
    turns = {turn.turn_id: turn for turn in records if not turn.deleted}
    reports = defaultdict[str, list[Report]](list)
    for entry in history.entries:
        reports[entry.source].append(entry.report)
    kept_since = min((entry.at for entry in history.entries), default=None) if history.base_n else None
    found = dict[str, Receipt]()
    for message in messages:
        turn = turns.get(turn_of_answer(message.id or "") or "")
        if turn is not None and message.id is not None:
            own = reports.get(turn.turn_id, ())
            known = own or kept_since is None or (turn.completed_at or turn.started_at) >= kept_since
            found[message.id] = Receipt(turn, learned_from(own) if known else None)
    return found
