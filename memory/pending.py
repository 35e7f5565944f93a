"""Pending work: what a turn's commit stores for later, and what a worker claims.

An item's id is the op id of the commit that completes it, so it takes effect once, however often workers
process it. A lease names the worker and ends at a set time; an item with an expired lease can be claimed
again. The items of one learner are processed one after the other, those of different learners in parallel.
The store does not interpret an item's `body`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ace_graph.memory.bullet import Moment, Text
from ace_graph.memory.text import shorten
from ace_graph.memory.turn import TurnRecord

__all__ = [
    "MAX_BODY_CHARS",
    "MAX_ERROR_CHARS",
    "Amend",
    "Pending",
    "PendingCounts",
    "PendingItem",
    "PendingState",
    "bounded_error",
]

MAX_BODY_CHARS = 250_000
MAX_ERROR_CHARS = 500

PendingState = Literal["pending", "dead"]
"""`dead`: a dead letter; it failed too often and waits for a person."""


class Pending(BaseModel):
    """New work, stored atomically with the commit that creates it.

    `pending_id` is the op id of the commit that will complete it; `turn_id` names its turn. Of one learner's
    items the highest priority is next, then the oldest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pending_id: Text
    turn_id: Text
    body: Annotated[Text, Field(max_length=MAX_BODY_CHARS)]
    priority: Annotated[float, Field(allow_inf_nan=False)] = 0.0


class PendingItem(Pending):
    """Work as it is stored. `attempts` counts the claims, including the present one.

    It can be claimed from `free_at` on: while it is leased that is the end of the lease, after a failure the
    time of the retry. `lease` is the token of the newest claim, `error` the reason of the last failure.
    """

    learner_id: Text
    state: PendingState = "pending"
    attempts: Annotated[int, Field(ge=0)] = 0
    created_at: Moment
    free_at: Moment
    lease: Text | None = None
    owner: Text | None = None
    error: Text | None = None

    def leased(self, now: datetime) -> bool:
        """Whether a worker holds its lease at `now`."""
        return self.state == "pending" and self.lease is not None and self.free_at > now


@dataclass(frozen=True)
class PendingCounts:
    """How many items are waiting or leased (`pending`), and how many are dead letters."""

    pending: int = 0
    dead: int = 0


@dataclass(frozen=True)
class Amend:
    """Change the stored record of a turn, under the learner's lock.

    `change` is pure and may be called more than once; what it raises is raised to the caller, and nothing is
    written. Of several attempts at the turn the newest is changed. Without such a turn the store raises
    TrajectoryNotFound, or does nothing with `missing_ok`.
    """

    turn_id: str
    change: Callable[[TurnRecord], TurnRecord]
    missing_ok: bool = False


def bounded_error(error: str) -> str:
    """Return an error as it is stored with an item: at most 500 characters."""
    return shorten(error.replace("\x00", " "), MAX_ERROR_CHARS)
