"""The difference between two versions of a playbook: which bullets came, went and changed."""

from __future__ import annotations

from dataclasses import dataclass

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.playbook import Playbook

__all__ = ["BulletChange", "PlaybookDiff", "diff"]


@dataclass(frozen=True)
class BulletChange:
    """A bullet that is in both versions, with other fields."""

    before: Bullet
    after: Bullet


@dataclass(frozen=True)
class PlaybookDiff:
    """What only the newer version has, what changed, and what only the older one has."""

    added: tuple[Bullet, ...] = ()
    updated: tuple[BulletChange, ...] = ()
    removed: tuple[Bullet, ...] = ()


def diff(before: Playbook, after: Playbook) -> PlaybookDiff:
    """Return what differs between two playbooks, bullet by bullet, in their order."""
    return PlaybookDiff(
        added=_missing(after, before),
        updated=tuple(
            BulletChange(was, now)
            for was in before.bullets()
            if (now := after.get_bullet(was.id)) is not None and now != was
        ),
        removed=_missing(before, after),
    )


def _missing(here: Playbook, there: Playbook) -> tuple[Bullet, ...]:
    return tuple(bullet for bullet in here.bullets() if there.get_bullet(bullet.id) is None)
