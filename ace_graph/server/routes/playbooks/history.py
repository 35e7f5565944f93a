"""What a playbook was: its versions, what differs between two, and the bullets that have left it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from ace_graph.memory.bullet import Bullet, Moment
from ace_graph.memory.commit import HistoryEntry
from ace_graph.memory.delta.effect import Archived, Merged, Pruned, Put, Revived
from ace_graph.memory.views.diff import diff
from ace_graph.playbooks.versions import version_number
from ace_graph.server.errors import error_responses
from ace_graph.server.routes.edit import Place, declare_playbook_id
from ace_graph.server.schemas import VersionName

__all__ = ["named", "own"]

own = APIRouter(prefix="/api/playbook", tags=["playbook"])
named = APIRouter(
    prefix="/api/playbooks/{playbook_id}", tags=["playbooks"], dependencies=[Depends(declare_playbook_id)]
)

_MOST_VERSION = 2_147_483_647
_OF_A_BULLET = (Put, Archived, Revived)


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class HistoryQuery(_Model):
    """Which page of the history."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: (
        Annotated[int, Field(ge=0, le=_MOST_VERSION, description="`next` of the page before.")]
        | SkipJsonSchema[None]
    ) = None


class HistoryEntryReply(_Model):
    """A version: who made it, when and why, and what it changed, in ids.

    `texts` holds what these bullets said in this version; it is empty where the history was compacted.
    """

    version: int
    label: str
    at: Moment
    author: str
    reason: str
    source: str
    added: tuple[str, ...]
    reinforced: tuple[str, ...]
    updated: tuple[str, ...]
    tagged: tuple[str, ...]
    merged: tuple[Merged, ...]
    superseded: tuple[Merged, ...]
    removed: tuple[str, ...]
    pruned: tuple[Pruned, ...]
    restored: tuple[str, ...]
    quarantined: tuple[str, ...]
    released: tuple[str, ...]
    texts: dict[str, str]


class HistoryReply(_Model):
    """The newest first. `oldest` is the oldest version to go back to; `next` is null at the end."""

    oldest: int
    versions: list[HistoryEntryReply]
    next: int | None


class DiffQuery(_Model):
    """Which two versions, by number or by label; 0 is the empty playbook."""

    before: Annotated[VersionName, Field(alias="from")]
    after: Annotated[VersionName, Field(alias="to")]


class ChangedReply(_Model):
    """A bullet that is in both versions, with other fields."""

    before: Bullet
    after: Bullet


class DiffReply(_Model):
    """What only the second version has, what only the first one has, and what changed."""

    added: tuple[Bullet, ...]
    removed: tuple[Bullet, ...]
    changed: tuple[ChangedReply, ...]


class LeftReply(_Model):
    """In which version a bullet left, when and why; `into` is what it was merged into or replaced by."""

    version: int
    at: Moment
    why: str
    into: str | None


class ArchivedReply(Bullet):
    """A bullet that is no longer in the playbook."""

    left: LeftReply


class ArchiveReply(_Model):
    """The latest first."""

    bullets: list[ArchivedReply]


@named.get("/history", responses=error_responses(404))
@own.get("/history", responses=error_responses())
async def history(target: Place, query: Annotated[HistoryQuery, Query()]) -> HistoryReply:
    """Return the changes of the content, the newest first: who changed what, and why."""
    kept = await target.store.history(target.key)
    changes = [each for each in reversed(kept.entries) if each.effect is None or each.effect.changes]
    wanted = [each for each in changes if query.before is None or each.n < query.before]
    page = wanted[: query.limit]
    following = page[-1].n if len(wanted) > len(page) else None
    return HistoryReply(oldest=kept.base_n, versions=[_entry(each) for each in page], next=following)


@named.get("/diff", responses=error_responses(404))
@own.get("/diff", responses=error_responses(404))
async def differences(target: Place, query: Annotated[DiffQuery, Query()]) -> DiffReply:
    """Return what came, went and changed between two versions."""
    versions = await target.store.versions(target.key)
    first, second = (version_number(versions, version) for version in (query.before, query.after))
    found = diff(await target.content_at(first), await target.content_at(second))
    return DiffReply(
        added=found.added,
        removed=found.removed,
        changed=tuple(ChangedReply(before=each.before, after=each.after) for each in found.updated),
    )


@named.get("/archived", responses=error_responses(404))
@own.get("/archived", responses=error_responses())
async def archive(
    target: Place, limit: Annotated[int, Query(ge=1, le=1_000, description="At most so many.")] = 100
) -> ArchiveReply:
    """Return the bullets that have left the playbook and are not back: since when, and why."""
    found = (await target.archived_bullets())[:limit]
    return ArchiveReply(
        bullets=[
            ArchivedReply(
                **each.bullet.model_dump(),
                left=LeftReply(version=each.n, at=each.at, why=each.why, into=each.into),
            )
            for each in found
        ]
    )


def _entry(entry: HistoryEntry) -> HistoryEntryReply:
    return HistoryEntryReply(
        version=entry.n,
        label=str(entry.label),
        at=entry.at,
        author=entry.author,
        reason=entry.reason,
        source=entry.source,
        **entry.report.model_dump(exclude={"refs", "rejected"}),
        texts=_texts(entry),
    )


def _texts(entry: HistoryEntry) -> dict[str, str]:
    changes = () if entry.effect is None else entry.effect.changes
    return {each.bullet.id: each.bullet.content for each in changes if isinstance(each, _OF_A_BULLET)}
