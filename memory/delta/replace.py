"""Operations on a whole playbook: Reset replaces all bullets, Rollback restores an earlier version."""

from __future__ import annotations

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.delta.draft import Draft
from ace_graph.memory.delta.effect import Archived, Cleared, Rewound
from ace_graph.memory.delta.operations import Reset, Rollback
from ace_graph.memory.delta.uses import Uses, differences
from ace_graph.memory.playbook import id_number

__all__ = ["reset", "rollback"]


def reset(draft: Draft, operation: Reset) -> None:
    """Archive every bullet, delete all links, votes and insights, and add the operation's bullets."""
    draft.changes.append(Cleared())
    wanted = {bullet.id for bullet in operation.bullets}
    held_back = {bullet.id for bullet in draft.entries.values() if bullet.status == "quarantined"}
    for bullet in list(draft.entries.values()):
        draft.archive(Archived(bullet=bullet, why="reset"))
        if bullet.id not in wanted:
            draft.note("removed", bullet.id)
    draft.forget_links()
    added: dict[str, Bullet] = {}
    for bullet in operation.bullets:
        if bullet.id in added:
            draft.reject("reset", bullet.id, "two bullets have this id")
            continue
        added[bullet.id] = bullet
        draft.put(bullet)
        draft.note("restored", bullet.id)
        if bullet.status == "quarantined" and bullet.id not in held_back:
            draft.note("quarantined", bullet.id)
    draft.reserve(max(map(id_number, added), default=0))
    draft.access_reset = not added


def rollback(draft: Draft, operation: Rollback) -> None:
    """Restore everything but the id counter; only bullets that differ are written."""
    wanted = {bullet.id: bullet for bullet in operation.bullets}
    for bullet in list(draft.entries.values()):
        if bullet.id not in wanted:
            draft.archive(Archived(bullet=bullet, why="reset"))
            draft.note("removed", bullet.id)
    for bullet in wanted.values():
        known = draft.entries.get(bullet.id)
        if known is None:
            draft.revive(bullet)
            draft.note("restored", bullet.id)
        elif known != bullet:
            draft.put(bullet)
            draft.note("updated", bullet.id)
    draft.rewind(_rewound(draft, operation, tuple(wanted)))
    draft.access_reset = False
    stamps = differences(operation.uses.stamps, draft.access.stamps)
    draft.restamp(Uses(clock=operation.uses.clock, stamps=stamps))


def _rewound(draft: Draft, operation: Rollback, order: tuple[str, ...]) -> Rewound:
    return Rewound(
        order=() if order == tuple(draft.entries) else order,
        aliases=operation.aliases,
        tombstones=operation.tombstones,
        reflections=operation.reflections,
        votes=operation.votes,
        base_votes=operation.base_votes,
        consolidations=operation.consolidations,
    )
