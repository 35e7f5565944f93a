"""Where a bullet comes from: the turns behind it, its votes, and what it replaced or absorbed.

Does not: read the history; what a playbook and its access part still know is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.playbook import Playbook

__all__ = ["Lineage", "lineage_of"]


@dataclass(frozen=True)
class Lineage:
    """The bullet, and the ids that it took the place of (`replaced`) or was merged with (`absorbed`)."""

    bullet: Bullet
    replaced: tuple[str, ...]
    absorbed: tuple[str, ...]


def lineage_of(playbook: Playbook, bullet_id: str) -> Lineage | None:
    """Return the lineage of an active bullet, found by its own id or one it absorbed; None for no such."""
    bullet = playbook.get_bullet(playbook.aliases.get(bullet_id, bullet_id))
    if bullet is None or bullet.status != "active":
        return None
    return Lineage(
        bullet,
        replaced=tuple(old for old, new in playbook.tombstones.items() if new == bullet.id),
        absorbed=tuple(old for old, new in playbook.aliases.items() if new == bullet.id),
    )
