"""Which turn gave each answer of a conversation, and its receipt: what was shown, used and learned, in ids.

An answer's message names its turn, so equal answers have their own receipts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from langchain_core.messages import AnyMessage

from ace_graph.memory.commit import History
from ace_graph.memory.delta.effect import Report
from ace_graph.memory.stores.base import PendingStore
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import GRAPH_AGENT, TurnRecord
from ace_graph.reasoning.attempt import turn_of_answer
from ace_graph.server.conversations.repository import Conversation

__all__ = ["MAX_TURNS", "Receipt", "TurnsOfConversation", "read_turns", "receipts"]

MAX_TURNS = 1_000
"""The most records that are read for a conversation, the newest of its time; older answers have none."""
_AFTER_LAST_USE = timedelta(hours=2)
"""The longest time, generously, from a message until its turn is recorded."""


@dataclass(frozen=True)
class TurnsOfConversation:
    """The records of a conversation's turns, the newest first, and the changes of the learner's memory."""

    turns: tuple[TurnRecord, ...]
    history: History


@dataclass(frozen=True)
class Receipt:
    """The turn of an answer, and the reports of the changes that came from it so far.

    `reports` is None for a turn from before the changes that are kept.
    """

    turn: TurnRecord
    reports: tuple[Report, ...] | None


async def read_turns(store: PendingStore, learner_id: str, conversation: Conversation) -> TurnsOfConversation:
    """Read the records of a conversation's turns with one query, and the history with another one.

    Raises what the store raises.
    """
    began = datetime.fromisoformat(conversation.created_at)
    used = datetime.fromisoformat(conversation.used_at or conversation.created_at)
    wanted = TrajectoryFilter(agent=GRAPH_AGENT, since=began, until=used + _AFTER_LAST_USE)
    found = await store.find_turns(learner_id, wanted, limit=MAX_TURNS)
    turns = tuple(turn for turn in found if turn.conversation_id == conversation.id)
    return TurnsOfConversation(turns, await store.history(learner_id))


def receipts(messages: Sequence[AnyMessage], found: TurnsOfConversation) -> dict[str, Receipt]:
    """Return the receipts of the answers by the ids of their messages; some answers have none."""
    turns = {turn.turn_id: turn for turn in found.turns if not turn.deleted}
    reports = _reports(found.history)
    kept_since = _kept_since(found.history)
    matched = dict[str, Receipt]()
    for message in messages:
        turn = turns.get(turn_of_answer(message.id or "") or "")
        if turn is not None and message.id is not None:
            known = kept_since is None or (turn.completed_at or turn.started_at) >= kept_since
            own = tuple(reports.get(turn.turn_id, ()))
            matched[message.id] = Receipt(turn, own if own or known else None)
    return matched


def _reports(history: History) -> dict[str, list[Report]]:
    reports = defaultdict[str, list[Report]](list)
    for entry in history.entries:
        if entry.source:
            reports[entry.source].append(entry.report)
    return reports


def _kept_since(history: History) -> datetime | None:
    """The time of the oldest change that is kept; None where all of them are."""
    if history.base_n == 0:
        return None
    times: Iterable[datetime] = (entry.at for entry in history.entries)
    return min(times, default=None)
