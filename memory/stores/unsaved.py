"""Commits later what a turn could not save: the JSON text in `learning.unsaved` of its output.

The host keeps the text until then.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError

from ace_graph.errors import UsageError
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.pending import Pending
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.base import Store, commit_turn
from ace_graph.memory.turn import TurnRecord

__all__ = ["Unsaved", "commit_unsaved"]


class Unsaved(BaseModel):
    """A turn's delta, record and pending work, and the learner's epoch at the time of the turn."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    learner_id: str
    epoch: str | None
    delta: Delta
    record: TurnRecord | None
    pending: Pending | None = None


async def commit_unsaved(store: Store, unsaved: str) -> Commit:
    """Commit the turn in `learning.unsaved`. A repetition changes nothing, because the op id is the same.

    Raises LearnerForgotten when the learner was forgotten since, UsageError for a text that is no unsaved
    turn, and what the store raises.
    """
    try:
        kept = Unsaved.model_validate_json(unsaved)
    except ValidationError as error:
        raise UsageError("this is no unsaved turn: pass the text of learning['unsaved'] as it was") from error
    # Only the epoch of the base is known, so the store finds a conflict and resolves against its own state.
    base = Snapshot(version=Version(epoch=kept.epoch))
    return await commit_turn(store, kept.learner_id, kept.delta, base, kept.record, kept.pending)
