"""Saving later what a turn could not save: the `learning.unsaved` of its output.

Does not: keep it anywhere; the host does, as the plain JSON text that it is.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError

from ace_graph.errors import UsageError
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.pending import Pending
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.base import Store, keeps_pending
from ace_graph.memory.turn import TurnRecord

__all__ = ["Unsaved", "commit_unsaved"]


class Unsaved(BaseModel):
    """A turn's delta, record and pending work, and the life of the learner (`epoch`) that they are from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    learner_id: str
    epoch: str | None
    delta: Delta
    record: TurnRecord | None
    pending: Pending | None = None


async def commit_unsaved(store: Store, unsaved: str) -> Commit:
    """Commit what `learning.unsaved` holds; doing it again changes nothing, the op id sees to that.

    Raises LearnerForgotten when the learner was forgotten since, UsageError for a text that is no
    unsaved turn, and whatever the store raises.
    """
    try:
        kept = Unsaved.model_validate_json(unsaved)
    except ValidationError as error:
        raise UsageError("this is no unsaved turn: pass the text of learning['unsaved'] as it was") from error
    # Only the epoch is known of the base, so the store finds a conflict and resolves against its state.
    base = Snapshot(version=Version(epoch=kept.epoch))
    if kept.pending is not None and keeps_pending(store):
        return await store.commit(kept.learner_id, kept.delta, base, kept.record, kept.pending)
    return await store.commit(kept.learner_id, kept.delta, base, kept.record)
