"""The reply to a change of bullets: what was changed, in ids."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ace_graph.memory.delta.effect import Merged, Report
from ace_graph.memory.snapshot import Version

__all__ = ["ChangeReply", "change_reply"]


class ChangeReply(BaseModel):
    """What was changed, in ids, and the playbook's version after it.

    Of two ids, `kept` is the one that stays and `gone` the one that it absorbed or replaced. What was
    quarantined or released is among `updated`, too, and `quarantined` bullets are in no prompt.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Annotated[int, Field(ge=0)]
    added: list[str] = []
    reinforced: list[str] = []
    updated: list[str] = []
    tagged: list[str] = []
    removed: list[str] = []
    restored: list[str] = []
    merged: list[Merged] = []
    superseded: list[Merged] = []
    quarantined: list[str] = []
    released: list[str] = []


def change_reply(version: Version, report: Report) -> ChangeReply:
    """Return what a commit changed."""
    updated = list(dict.fromkeys([*report.updated, *report.quarantined, *report.released]))
    return ChangeReply(
        version=version.n,
        added=list(report.added),
        reinforced=list(report.reinforced),
        updated=updated,
        tagged=list(report.tagged),
        removed=list(report.removed),
        restored=list(report.restored),
        merged=list(report.merged),
        superseded=list(report.superseded),
        quarantined=list(report.quarantined),
        released=list(report.released),
    )
