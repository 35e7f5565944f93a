"""Reads what a plan is made of: the playbook, bullets merged earlier, and the questions of its turns."""

from __future__ import annotations

from datetime import datetime

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.commit import History
from ace_graph.memory.consolidation.plan import Outlook
from ace_graph.memory.consolidation.questions import questions_of
from ace_graph.memory.delta.consolidate import merged_away
from ace_graph.memory.delta.rollback import archived
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.sharing.asked import not_found
from ace_graph.memory.stores.base import Store
from ace_graph.playbooks.handle import PlaybookHandle

__all__ = ["read_outlook"]

TURNS_READ = 200
"""How many of the newest turns the questions are taken from."""


async def read_outlook(store: Store, target: PlaybookHandle, now: datetime) -> Outlook:
    """Return the outlook on the playbook at a target. Raises PlaybookNotFound where nothing is stored."""
    snapshot = await target.load()
    if snapshot.absent:
        raise not_found(target.ref.name)
    originals: dict[str, Bullet] = {}
    if any(merged_away(bullet) for bullet in snapshot.playbook.entries.values()):
        originals = _archived_bullets(await target.store.history(target.key), snapshot.playbook)
    owner = target.ref.owner
    turns = () if owner is None else await store.turns(owner, TURNS_READ)
    return Outlook(
        snapshot,
        target.store.policy,
        now,
        originals.get,
        questions_of(turns, snapshot.playbook),
    )


def _archived_bullets(history: History, playbook: Playbook) -> dict[str, Bullet]:
    return {left.bullet.id: left.bullet for left in archived(history, playbook)}
