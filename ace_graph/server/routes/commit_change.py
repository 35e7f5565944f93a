"""Commits one change of a learner's memory over HTTP, and reports it in ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from ace_graph.errors import RequestRefused
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.effect import Merged, Rejection
from ace_graph.memory.delta.operations import Delta, Operation
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.change import commit_checked
from ace_graph.server.dependencies import Services

__all__ = ["AUTHOR", "ChangeReply", "change_reply", "commit_change"]

AUTHOR = "learner"
_UNKNOWN_ID = frozenset({"unknown id", "not in the playbook"})


class ChangeReply(BaseModel):
    """What was changed, in ids, and the playbook's version after it.

    Of two ids, `kept` is the one that stays and `gone` the one that it absorbed or replaced.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Annotated[int, Field(ge=0)]
    updated: list[str] = []
    tagged: list[str] = []
    removed: list[str] = []
    restored: list[str] = []
    merged: list[Merged] = []
    superseded: list[Merged] = []


async def commit_change(
    services: Services, learner_id: str, base: Snapshot, operations: Sequence[Operation], reason: str
) -> ChangeReply:
    """Commit the operations as one delta.

    Raises RequestRefused when one of them can't be applied (404 for an unknown id, else 409); then nothing
    is written.
    """
    delta = Delta(
        op_id=f"http-{uuid4().hex}",
        now=services.clock.now(),
        operations=tuple(operations),
        author=AUTHOR,
        reason=reason,
    )
    return change_reply(await commit_checked(services.store, learner_id, delta, base, _refused))


def change_reply(done: Commit) -> ChangeReply:
    """Return what a commit changed."""
    report = done.report
    updated = list(dict.fromkeys([*report.updated, *report.quarantined, *report.released]))
    return ChangeReply(
        version=done.version.n,
        updated=updated,
        tagged=list(report.tagged),
        removed=list(report.removed),
        restored=list(report.restored),
        merged=list(report.merged),
        superseded=list(report.superseded),
    )


def _refused(rejection: Rejection) -> RequestRefused:
    if rejection.why in _UNKNOWN_ID:
        return RequestRefused(404, "not_found", "there is no such bullet in your playbook")
    return RequestRefused(409, "refused", f"this change can't be made: {rejection.why}")
