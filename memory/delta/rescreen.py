"""A new look at stored bullets after the rules of the screen have changed, both ways.

Does not: overrule a person, or look at the insights of recent turns, of which only three are kept.
"""

from __future__ import annotations

from collections.abc import Collection

from ace_graph.memory.bullet import Bullet, Danger
from ace_graph.memory.delta.draft import Draft
from ace_graph.memory.delta.operations import Rescreen
from ace_graph.memory.delta.screening import screen_bullet
from ace_graph.memory.screening.screen import is_reason

__all__ = ["rescreen"]

_LEARNER = "learner"
"""The source of what a learner said of themselves, where a link is theirs."""


def rescreen(draft: Draft, operation: Rescreen) -> None:
    """Resolve one Rescreen: move what the rules now judge otherwise."""
    for bullet in tuple(draft.entries.values()):
        if bullet.status == "active" and bullet.id not in operation.kept:
            _keep_back(draft, bullet)
        elif bullet.status == "quarantined" and is_reason(bullet.quarantine_reason):
            _let_in(draft, bullet)


def _keep_back(draft: Draft, bullet: Bullet) -> None:
    why = screen_bullet(bullet, _vouched(bullet))
    if why is not None:
        draft.put(bullet.model_copy(update={"status": "quarantined", "quarantine_reason": why}))
        draft.note("quarantined", bullet.id)


def _let_in(draft: Draft, bullet: Bullet) -> None:
    moved = bullet.model_copy(update={"status": "active", "quarantine_reason": None})
    if screen_bullet(bullet, _vouched(bullet)) is None and draft.slot_occupant(moved) is None:
        draft.put(moved)
        draft.note("released", bullet.id)


def _vouched(bullet: Bullet) -> Collection[Danger]:
    own: tuple[Danger, ...] = ("link",)
    return own if bullet.profile and _LEARNER in bullet.sources else ()
