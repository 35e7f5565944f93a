"""The learner's own playbook: show it, edit a bullet, remove one.

Bullets are added in the chat only.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from ace_graph.errors import RequestRefused
from ace_graph.memory.bullet import MAX_CONTENT_CHARS, Bullet, MemoryType, Share
from ace_graph.memory.delta.operations import Operation, Pin, Remove, Unpin, Update
from ace_graph.memory.retrieval.bullet_filter import BulletFilter, BulletStatus
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.memories import trajectories_behind
from ace_graph.memory.views.confidence import EvidenceIndex
from ace_graph.memory.views.effectiveness import Effectiveness, Metadata, effectiveness_of, metadata_of
from ace_graph.memory.views.kinds import BulletKind, kind_of
from ace_graph.server.dependencies import Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.routes.commit_change import ChangeReply, commit_change
from ace_graph.server.schemas import Text

__all__ = ["routes"]

routes = APIRouter(prefix="/api/playbook", tags=["playbook"])

BulletId = Annotated[str, Path(min_length=1, max_length=128, examples=["fil-00042"])]


class PlaybookQuery(BaseModel):
    """Which bullets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Annotated[
        Literal["active", "quarantined", "all"],
        Field(description="Quarantined bullets are in no prompt; each says why."),
    ] = "active"
    tag: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=64)], ...],
        Field(max_length=10, description="Only bullets with all of these tags."),
    ] = ()
    kind: Annotated[
        tuple[BulletKind, ...],
        Field(max_length=7, description="Only memories of one of these kinds; each bullet has one."),
    ] = ()
    type: Annotated[
        tuple[MemoryType, ...], Field(max_length=3, description="Only bullets of one of these memory types.")
    ] = ()

    def filter(self) -> BulletFilter:
        """Return the filter for bullets."""
        every: tuple[BulletStatus, ...] = ("active", "quarantined")
        statuses = every if self.status == "all" else (self.status,)
        kinds = frozenset(self.kind)
        return BulletFilter(frozenset(statuses), self.tag, frozenset(self.type), kinds=kinds)


class StoredBullet(Bullet):
    """A bullet with its kind, the day on which it was last used in a prompt, and the confidence in it.

    `last_used` is null for one that never was, and for what is in every prompt. `confidence` is from 0 to 1;
    it follows from the runs behind the bullet, the newer the more.
    """

    kind: BulletKind
    last_used: date | None = None
    confidence: Share


class PlaybookReply(BaseModel):
    """The bullets in order, and what the playbook was worth; `version` is null while nothing is stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int | None
    bullets: tuple[StoredBullet, ...]
    effectiveness: Effectiveness = Effectiveness()
    metadata: Metadata = Metadata()


class BulletPatch(BaseModel):
    """The fields to change, at least one."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"anyOf": [{"required": ["content"]}, {"required": ["pinned"]}]},
    )

    content: Annotated[
        Text | None,
        Field(min_length=1, max_length=MAX_CONTENT_CHARS),
        WithJsonSchema(
            {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_CONTENT_CHARS,
                "description": "Its new text.",
            }
        ),
    ] = None
    pinned: Annotated[
        bool | None,
        WithJsonSchema({"type": "boolean", "description": "Part of every prompt, and never archived."}),
    ] = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        given = self.model_fields_set
        if not given or any(getattr(self, name) is None for name in given):
            raise ValueError("must say a new content, or pinned true or false")
        return self

    def operations(self, bullet: Bullet) -> list[Operation]:
        """Return the operations that make the bullet so."""
        wanted: list[Operation] = []
        if self.content is not None and self.content != bullet.content:
            wanted.append(Update(bullet_id=bullet.id, content=self.content))
        if self.pinned is not None and self.pinned != bullet.pinned:
            wanted.append(Pin(bullet_id=bullet.id) if self.pinned else Unpin(bullet_id=bullet.id))
        return wanted


@routes.get("", responses=error_responses())
async def show(
    learner: Learner,
    services: ServicesDep,
    query: Annotated[PlaybookQuery, Query()],
) -> PlaybookReply:
    """Return the learner's bullets."""
    found = await services.store.load(learner)
    wanted = query.filter()
    bullets = [b for b in found.playbook.bullets() if wanted.passes(b)]
    turns = await trajectories_behind(services.store, learner, found, bullets)
    evidence, now = EvidenceIndex(found, turns), services.clock.now()
    return PlaybookReply(
        version=None if found.absent else found.version.n,
        bullets=tuple(_stored(b, found, evidence.confidence(b, now)) for b in bullets),
        effectiveness=effectiveness_of(found),
        metadata=metadata_of(found),
    )


@routes.patch("/{bullet_id}", responses=error_responses(404, 408, 409, 413))
async def change(
    bullet_id: BulletId, patch: BulletPatch, learner: Learner, services: ServicesDep
) -> ChangeReply:
    """Change a bullet's text, pin it or unpin it. Its votes stay."""
    base = await services.store.load(learner)
    wanted = patch.operations(_bullet(base, bullet_id))
    if not wanted:
        return ChangeReply(version=base.version.n)
    return await commit_change(services, learner, base, wanted, "changed over HTTP")


@routes.delete("/{bullet_id}", responses=error_responses(404, 409))
async def remove(bullet_id: BulletId, learner: Learner, services: ServicesDep) -> ChangeReply:
    """Remove a bullet. The history keeps it until it is compacted."""
    base = await services.store.load(learner)
    wanted = Remove(bullet_id=_bullet(base, bullet_id).id)
    return await commit_change(services, learner, base, [wanted], "removed over HTTP")


def _stored(bullet: Bullet, found: Snapshot, confidence: float) -> StoredBullet:
    used = None if bullet.core else found.access.last_used(bullet.id)
    return StoredBullet(
        **bullet.model_dump(), kind=kind_of(bullet), last_used=used, confidence=round(confidence, 4)
    )


def _bullet(base: Snapshot, bullet_id: str) -> Bullet:
    found = base.playbook.get_bullet(bullet_id)
    if found is None:
        raise RequestRefused(404, "not_found", "there is no such bullet in your playbook")
    return found
