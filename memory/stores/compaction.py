"""When old effects of a history are dropped: pure arithmetic on version numbers.

A store keeps the content of two versions beside the history: its base, from which effects are kept, and
a later one that becomes the base once enough effects follow it. So compacting never folds anything, and
between `kept` and twice as many effects stay readable.

Does not: hold content or effects.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Marks"]


@dataclass(frozen=True)
class Marks:
    """`base` is the version before the oldest effect kept, `next` the one that becomes the base, if any."""

    base: int = 0
    next: int | None = None

    def after(self, n: int, kept: int) -> Marks:
        """Return the marks once version `n` is written under a policy that keeps `kept` effects.

        Where `next` is `n`, the content of this version is to be kept; where `base` has moved, effects up
        to it and the content of the old base are to be dropped.
        """
        if n - (self.base if self.next is None else self.next) < kept:
            return self
        return Marks(self.base if self.next is None else self.next, n)
