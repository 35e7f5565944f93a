"""When a store drops old effects of a history, as arithmetic on version numbers.

A store keeps the content of two versions beside the history: the base, from which effects are kept, and a
later version that becomes the base once enough effects follow it. So compaction never has to fold effects,
and between `kept` and twice as many effects can be read.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CompactionMarks"]


@dataclass(frozen=True)
class CompactionMarks:
    """`base` is the version before the oldest effect kept, `next` the one that becomes the base, if any."""

    base: int = 0
    next: int | None = None

    def after(self, n: int, kept: int) -> CompactionMarks:
        """Return the marks once version `n` is written under a policy that keeps `kept` effects.

        Where `next` is `n`, the store keeps the content of this version; where `base` has moved, it drops the
        effects up to it and the content of the old base.
        """
        if n - (self.base if self.next is None else self.next) < kept:
            return self
        return CompactionMarks(self.base if self.next is None else self.next, n)
