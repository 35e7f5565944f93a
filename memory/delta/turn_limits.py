"""Limits what one turn may change, because its operations come from a model that read untrusted text.

A turn may add and reinforce a limited number of bullets, correct advice that failed on evidence, and remove
what the learner said about themselves. It may change very few of the existing bullets: give one a more exact
text, merge bullets that say the same, remove one that did more harm than good. After the learner's
confirmation a delta of its own may clear the memory. Only people change the core, and everything else.
Deltas of a host are not limited.
"""

from __future__ import annotations

from ace_graph.memory.delta.draft import Draft, Refused
from ace_graph.memory.delta.operations import (
    Add,
    Analyze,
    Judge,
    Merge,
    Operation,
    Reflect,
    Remove,
    Reset,
    Touch,
    Update,
)

__all__ = ["TurnLimits"]

_UNLIMITED = (Touch, Judge, Reflect, Analyze)
"""They change no bullet's text, and are limited elsewhere."""


class TurnLimits:
    """Counts the changes of one delta of a turn; `alone`: it has one operation."""

    def __init__(self, draft: Draft, *, alone: bool = False) -> None:
        self._draft = draft
        self._alone = alone
        self._left = draft.policy.max_turn_changes
        self._rewrites = draft.policy.max_turn_rewrites

    def check(self, operation: Operation) -> None:
        """Raise Refused for an operation that a turn may not make, or that exceeds a limit."""
        if isinstance(operation, _UNLIMITED):
            return
        match operation:
            case Add():
                if operation.pinned:
                    raise Refused("only a person pins a bullet")
            case Update():
                self._count_rewrites(operation.bullet_id)
            case Merge():
                if operation.force or operation.content is not None:
                    raise Refused("only a person merges what does not say the same, or under another text")
                self._count_rewrites(*operation.bullet_ids)
            case Remove():
                bullet = self._draft.present(operation.bullet_id)
                if bullet is not None and not bullet.profile:
                    if bullet.harmful <= bullet.helpful:
                        raise Refused("only evidence or a person removes a bullet")
                    self._count_rewrites(bullet.id)
            case Reset(confirmed=True, bullets=()) if self._alone:
                return
            case _:
                raise Refused(f"a turn may not {operation.op}")
        if self._left == 0:
            raise Refused(f"more than {self._draft.policy.max_turn_changes} changes in one turn")
        self._left -= 1

    def _count_rewrites(self, *names: str) -> None:
        """Count bullets that are changed. Raises Refused for the core and for too many."""
        for name in names:
            bullet = self._draft.present(name)
            if bullet is not None and bullet.core:
                raise Refused("only a person changes what is in every prompt")
        if len(names) > self._rewrites:
            raise Refused(f"more than {self._draft.policy.max_turn_rewrites} bullets rewritten in one turn")
        self._rewrites -= len(names)
