"""The operation Rescreen: screens stored bullets again after the rules have changed.

What a person has decided is not changed. Source words in which the rules find something are dropped, and the
bullet stays. The three recent insights are not screened again.
"""

from __future__ import annotations

from collections.abc import Collection

from ace_graph.memory.bullet import Bullet, Danger
from ace_graph.memory.delta.draft import Draft
from ace_graph.memory.delta.operations import Rescreen
from ace_graph.memory.delta.screening import is_refused, screen_bullet
from ace_graph.memory.screening.screen import is_screen_reason
from ace_graph.off_loop import Steps

__all__ = ["rescreen"]

_LEARNER = "learner"
"""The source of a learner's own statements, which may contain links."""


def rescreen(draft: Draft, operation: Rescreen) -> Steps[None]:
    """Resolve one Rescreen: quarantine or release bullets that the rules now judge differently."""
    for held in tuple(draft.entries.values()):
        yield
        bullet = _with_screened_words(held)
        draft.put(bullet)
        if bullet.status == "active" and bullet.id not in operation.kept:
            _quarantine(draft, bullet)
        elif bullet.status == "quarantined" and is_screen_reason(bullet.quarantine_reason):
            _release(draft, bullet)


def _with_screened_words(bullet: Bullet) -> Bullet:
    """The bullet without source words where the rules find something in them, alone or together."""
    refused = bullet.source_words and is_refused(" ".join(bullet.source_words))
    return bullet.model_copy(update={"source_words": ()}) if refused else bullet


def _quarantine(draft: Draft, bullet: Bullet) -> None:
    why = screen_bullet(bullet, _vouched(bullet))
    if why is not None:
        draft.put(bullet.model_copy(update={"status": "quarantined", "quarantine_reason": why}))
        draft.note("quarantined", bullet.id)


def _release(draft: Draft, bullet: Bullet) -> None:
    moved = bullet.model_copy(update={"status": "active", "quarantine_reason": None})
    if screen_bullet(bullet, _vouched(bullet)) is None and draft.slot_occupant(moved) is None:
        draft.put(moved)
        draft.note("released", bullet.id)


def _vouched(bullet: Bullet) -> Collection[Danger]:
    own: tuple[Danger, ...] = ("link",)
    return own if bullet.profile and _LEARNER in bullet.sources else ()
