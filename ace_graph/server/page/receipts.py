"""Receipts: what an answer was given with, why, and what was learned from it.

The reasons are in the reply of a turn that this server has just ended; the record of the turn, which is kept,
names the bullets alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.turn import TurnRecord
from ace_graph.server.conversations.receipts import Receipt
from ace_graph.server.page.session import Visitor
from ace_graph.server.routes.conversations import ReadConversation
from ace_graph.server.schemas import learned_from

__all__ = ["ShownReceipt", "UsedBullet", "shown_receipts"]


@dataclass(frozen=True)
class UsedBullet:
    """A bullet that the prompt had. `bullet` None: it is gone. `words` of the question led to it."""

    id: str
    bullet: Bullet | None
    cited: bool
    kind: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class ShownReceipt:
    """One answer: the bullets used and why, the verdict, and the bullets learned from it (None: gone)."""

    turn_id: str
    used: tuple[UsedBullet, ...]
    learned: tuple[tuple[str, Bullet | None], ...]
    pending: bool
    verdict: Verdict


async def shown_receipts(visitor: Visitor, found: ReadConversation) -> Mapping[str, ShownReceipt]:
    """Return what the page shows of a conversation's receipts, by the ids of the answers' messages."""
    if not found.receipts:
        return {}
    services, learner = visitor.services, visitor.learner
    playbook = (await services.store.load(learner)).playbook
    waiting = {item.turn_id for item in await services.store.list_pending(learner)}
    return {
        name: _shown(visitor, each, playbook, each.turn.turn_id in waiting)
        for name, each in found.receipts.items()
    }


def _shown(visitor: Visitor, receipt: Receipt, playbook: Playbook, pending: bool) -> ShownReceipt:
    turn = receipt.turn
    live = visitor.services.turns.find(turn.turn_id, visitor.learner)
    reasons = live.reply.metadata.why_shown if live is not None and live.reply is not None else {}
    learned = learned_from(receipt.reports or ())
    names = dict.fromkeys((*learned.added, *learned.updated))
    return ShownReceipt(
        turn_id=turn.turn_id,
        used=tuple(_used(name, turn, playbook, reasons.get(name, {})) for name in turn.injected),
        learned=tuple((name, playbook.get_bullet(name)) for name in names),
        pending=pending,
        verdict=turn.feedback[-1].verdict if turn.feedback else turn.verdict,
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
