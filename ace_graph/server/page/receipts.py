"""Receipts: what an answer was given with, why, and what was learned from it.

The reasons are in the reply of a turn that this server has just ended; the record of the turn, which is kept,
names the bullets alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.commit import History
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.turn import TurnRecord, answer_hash
from ace_graph.server.page.session import Visitor

__all__ = ["Receipt", "UsedBullet", "receipts_of"]

_TURNS_READ = 200


@dataclass(frozen=True)
class UsedBullet:
    """A bullet that the prompt had. `bullet` None: it is gone. `words` of the question led to it."""

    id: str
    bullet: Bullet | None
    cited: bool
    kind: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Receipt:
    """One answer: the bullets used and why, the verdict, and the bullets learned from it (None: gone)."""

    turn_id: str
    used: tuple[UsedBullet, ...]
    learned: tuple[tuple[str, Bullet | None], ...]
    pending: bool
    verdict: Verdict
    tokens: int


async def receipts_of(
    visitor: Visitor, conversation_id: str, answers: Sequence[str]
) -> Mapping[str, Receipt]:
    """Return the receipts of a conversation's answers, by the hash of the answer."""
    services, learner = visitor.services, visitor.learner
    records = {
        turn.answer_hash: turn
        for turn in await services.store.turns(learner, _TURNS_READ)
        if turn.conversation_id == conversation_id and not turn.deleted
    }
    wanted = {answer_hash(answer) for answer in answers} & records.keys()
    if not wanted:
        return {}
    snapshot, kept = await services.store.load(learner), await services.store.history(learner)
    waiting = {item.turn_id for item in await services.store.list_pending(learner)}
    return {
        key: _receipt(visitor, records[key], snapshot.playbook, kept, records[key].turn_id in waiting)
        for key in wanted
    }


def _receipt(visitor: Visitor, turn: TurnRecord, playbook: Playbook, kept: History, pending: bool) -> Receipt:
    live = visitor.services.turns.find(turn.turn_id, visitor.learner)
    reasons = live.reply.metadata.why_shown if live is not None and live.reply is not None else {}
    added = [
        name
        for entry in kept.entries
        if entry.source == turn.turn_id
        for name in (*entry.report.added, *entry.report.reinforced, *entry.report.updated)
    ]
    return Receipt(
        turn_id=turn.turn_id,
        used=tuple(_used(name, turn, playbook, reasons.get(name, {})) for name in turn.injected),
        learned=tuple((name, playbook.get_bullet(name)) for name in dict.fromkeys(added)),
        pending=pending,
        verdict=turn.feedback[-1].verdict if turn.feedback else turn.verdict,
        tokens=turn.input_tokens + turn.output_tokens,
    )


def _used(name: str, turn: TurnRecord, playbook: Playbook, why: Mapping[str, object]) -> UsedBullet:
    words = why.get("words")
    listed = cast("list[object]", words) if isinstance(words, list) else []
    return UsedBullet(
        id=name,
        bullet=playbook.get_bullet(playbook.aliases.get(name, name)),
        cited=name in turn.cited,
        kind=str(why.get("kind", "")),
        words=tuple(map(str, listed))[:8],
    )
