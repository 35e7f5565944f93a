"""How much pending work a worker has reason to expect, so that it does not ask the store in vain.

A turn of the same process says whose item it has stored, which is one reason to look: at once, or when the
worker has ended the item of that learner that it works on, because only the first one can be claimed. Without
such a reason a worker looks until it finds nothing, and again when something else may have become free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["ExpectedWork", "Look"]


class Look(Protocol):
    """One look into the store; `found` is called where it brought an item."""

    def found(self, learner_id: str) -> None: ...


class ExpectedWork:
    """Counts what was announced and what is being worked on. For one event loop."""

    def __init__(self) -> None:
        self._unknown = True
        self._announced = 0
        self._waiting = Counter[str]()
        self._running = Counter[str]()
        self._ended = 0
        self._hidden = False

    @property
    def any(self) -> bool:
        """Whether the store may have an item to claim, as far as this process knows."""
        return self._unknown or self._announced > 0

    def announce(self, learner_id: str | None) -> None:
        """Expect one more item of a learner; None: any number, of anybody."""
        if learner_id is None:
            self._unknown = True
        elif self._running[learner_id]:
            self._waiting[learner_id] += 1
        else:
            self._announced += 1

    @contextmanager
    def look(self) -> Generator[Look]:
        """Around one question to the store. What is announced meanwhile stays expected."""
        announced, unknown, ended = self._announced, self._unknown, self._ended
        self._unknown = False
        outcome = _Outcome()
        try:
            yield outcome
        except BaseException:
            self._unknown = True
            raise
        if outcome.learner is not None:
            self._running[outcome.learner] += 1
            # One that nobody announced is of another process, or older: there may be more.
            self._unknown = self._unknown or unknown or not announced
            self._announced -= min(announced, 1)
        else:
            self._announced -= announced
            self._hidden = bool(self._running)
            self._unknown = self._unknown or self._ended != ended

    def end(self, learner_id: str) -> bool:
        """Count an item as worked on; return whether another may be free now."""
        self._ended += 1
        self._running[learner_id] -= 1
        self._running += Counter()  # without those that are at 0
        self._announced += self._waiting.pop(learner_id, 0)
        self._unknown = self._unknown or self._hidden
        self._hidden = False
        return self.any


class _Outcome:
    learner: str | None = None

    def found(self, learner_id: str) -> None:
        self.learner = learner_id
