"""How far one turn may reach: what it learned changes a few bullets, and removes nothing on an opinion.

A turn's operations come from a model that read untrusted text. Whatever it was talked into, a turn can add
and reinforce a bounded number of bullets, correct advice that failed on evidence, and take back what the
learner said of themselves when they ask for it. Of the bullets that are there it can change very few: give
one a text that is more exact, merge those that say the same, remove what did more harm than good. The
learner's yes to forgetting everything clears the memory, in a delta of its own. The core and everything else
are for people.

Does not: bound the host, whose deltas may do anything.
"""

from __future__ import annotations

from ace_graph.memory.delta.draft import Draft, Refused
from ace_graph.memory.delta.operations import (
    Add,
    Judge,
    Merge,
    Operation,
    Reflect,
    Remove,
    Reset,
    Touch,
    Update,
)

__all__ = ["Bounds"]

_UNBOUNDED = (Touch, Judge, Reflect)
"""They change no bullet's text, and are bounded elsewhere."""


class Bounds:
    """Counts the changes of one delta of a turn; `alone`: it holds one operation."""

    def __init__(self, draft: Draft, *, alone: bool = False) -> None:
        self._draft = draft
        self._alone = alone
        self._left = draft.policy.max_turn_changes
        self._rewrites = draft.policy.max_turn_rewrites

    def check(self, operation: Operation) -> None:
        """Raise Refused for an operation that goes too far."""
        if isinstance(operation, _UNBOUNDED):
            return
        match operation:
            case Add():
                if operation.pinned:
                    raise Refused("only a person pins a bullet")
            case Update():
                self._rewrite(operation.bullet_id)
            case Merge():
                if operation.force or operation.content is not None:
                    raise Refused("only a person merges what does not say the same, or under another text")
                self._rewrite(*operation.bullet_ids)
            case Remove():
                bullet = self._draft.present(operation.bullet_id)
                if bullet is not None and not bullet.profile:
                    if bullet.harmful <= bullet.helpful:
                        raise Refused("only evidence or a person removes a bullet")
                    self._rewrite(bullet.id)
            case Reset(confirmed=True, bullets=()) if self._alone:
                return
            case _:
                raise Refused(f"a turn may not {operation.op}")
        if self._left == 0:
            raise Refused(f"more than {self._draft.policy.max_turn_changes} changes in one turn")
        self._left -= 1

    def _rewrite(self, *names: str) -> None:
        """Count bullets that won't be the same. Raises Refused for the core and for too many."""
        for name in names:
            bullet = self._draft.present(name)
            if bullet is not None and bullet.core:
                raise Refused("only a person changes what is in every prompt")
        if len(names) > self._rewrites:
            raise Refused(f"more than {self._draft.policy.max_turn_rewrites} bullets rewritten in one turn")
        self._rewrites -= len(names)
