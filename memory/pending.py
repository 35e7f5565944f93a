"""Work that is left to do after a turn: what the turn's commit stores, and what a worker claims.

An item's id is the op id of the commit that completes it, so its effect happens once, whoever works on
it and however often. A lease says who works on it until when; an item whose lease ran out may be claimed
again. One learner's items are done one after the other, those of different learners side by side.

Does not: say what the work is (`body` is the text that the writer gave) or keep a state of the memory.
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
"""`dead`: it failed too often and waits for a person (a dead letter)."""


class Pending(BaseModel):
    """New work, stored atomically with the commit it comes from.

    `pending_id` is the op id of the commit that will complete it; `turn_id` names the turn it is about.
    Of one learner's items the highest priority goes first, then the oldest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pending_id: Text
    turn_id: Text
    body: Annotated[Text, Field(max_length=MAX_BODY_CHARS)]
    priority: Annotated[float, Field(allow_inf_nan=False)] = 0.0


class PendingItem(Pending):
    """Work as it is stored. `attempts` counts the claims so far, this one included.

    It may be claimed from `free_at` on: while somebody works on it that is the end of the lease, after a
    failure the time of the next try. `lease` is the token of the newest claim, `error` why it failed last.
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
        """Whether somebody works on it at `now`."""
        return self.state == "pending" and self.lease is not None and self.free_at > now


@dataclass(frozen=True)
class PendingCounts:
    """How many items wait or are worked on (`pending`), and how many are dead letters."""

    pending: int = 0
    dead: int = 0


@dataclass(frozen=True)
class Amend:
    """Change the stored record of a turn, under the learner's lock.

    `change` is pure and may be called more than once; what it raises goes to the caller, and nothing is
    written. Of several attempts at the turn the newest is meant. Without such a turn it is
    TrajectoryNotFound, or nothing at all where `missing_ok` says so.
    """

    turn_id: str
    change: Callable[[TurnRecord], TurnRecord]
    missing_ok: bool = False


def bounded_error(error: str) -> str:
    """Return an error as it is stored with an item: at most 500 characters."""
    return shorten(error.replace("\x00", " "), MAX_ERROR_CHARS)
