"""The bullets of a playbook: show, add, edit and remove them.

Each route is there for the own memory under /api/playbook, and for every playbook, the own memory too, under
/api/playbooks/{playbook_id}/bullets.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from ace_graph.errors import RequestRefused
from ace_graph.memory.bullet import (
    MAX_CONTENT_CHARS,
    MAX_CONTEXT_CHARS,
    MAX_EXAMPLES,
    Bounded,
    Bullet,
    MemoryType,
    Moment,
    Share,
)
from ace_graph.memory.delta.operations import Add, Operation, Pin, Remove, Unpin, Update
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.turn import TurnRecord, TurnStatus
from ace_graph.memory.views.bullet_filter import BulletFilter, BulletStatus
from ace_graph.memory.views.effectiveness import Effectiveness, Metadata
from ace_graph.memory.views.kinds import BulletKind, fields_of, kind_of
from ace_graph.memory.views.strategy import StrategyEntry, entry_of
from ace_graph.playbooks.worth import read_worth
from ace_graph.server.dependencies import Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.keyed import KeyedRoute
from ace_graph.server.middleware.access_control import does
from ace_graph.server.routes.change_reply import ChangeReply
from ace_graph.server.routes.edit import Place, PlaybookEdit, checked_place, declare_playbook_id, tag_version
from ace_graph.server.schemas import Text

__all__ = ["BulletId", "named", "own"]

own = APIRouter(
    prefix="/api/playbook",
    tags=["playbook"],
    route_class=KeyedRoute,
    dependencies=[does("change")],
)
named = APIRouter(
    prefix="/api/playbooks/{playbook_id}/bullets",
    tags=["playbooks"],
    route_class=KeyedRoute,
    dependencies=[does("change"), Depends(declare_playbook_id), Depends(checked_place)],
)

BulletId = Annotated[str, Path(min_length=1, max_length=128, examples=["fil-00042"])]
Label = Annotated[Text, Field(min_length=1, max_length=128)]
NewKind = Literal["fact", "preference", "experience", "strategy", "anti_pattern", "observation"]
TtlDays = Annotated[
    float,
    Field(
        strict=True,
        ge=0,
        le=1_000_000,
        description="Days without a change until no prompt holds it; 0: for good.",
    ),
]


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

    words: Annotated[
        str, Field(max_length=500, description="Only bullets whose text holds all of these words.")
    ] = ""

    def filter(self) -> BulletFilter:
        """Return the filter for bullets."""
        every: tuple[BulletStatus, ...] = ("active", "quarantined")
        statuses = every if self.status == "all" else (self.status,)
        kinds = frozenset(self.kind)
        return BulletFilter(frozenset(statuses), self.tag, frozenset(self.type), self.words, kinds)


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


class NewBullet(BaseModel):
    """A bullet to add. One that says the same as another strengthens that one instead.

    A `kind` decides the type and the polarity, and that of a preference the section as well; without one they
    follow from the text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    content: Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS), Bounded]
    kind: NewKind | None = None
    section: Annotated[
        Label, Field(description="Bullets in profile, preferences and misconceptions are in every prompt.")
    ] = "lessons"
    topic: Label | None = None
    context: (
        Annotated[Text, Field(min_length=1, max_length=MAX_CONTEXT_CHARS, description="When it applies.")]
        | None
    ) = None
    tags: Annotated[list[Label], Field(max_length=20)] = []
    examples: Annotated[
        list[Label], Field(max_length=MAX_EXAMPLES, description="Trajectories that support it.")
    ] = []
    importance: Annotated[Share, Field(strict=True)] = 0.5
    pinned: Annotated[bool, Field(strict=True, description="Part of every prompt.")] = False
    ttl_days: TtlDays = 0

    def operation(self) -> Add:
        """Return the operation that adds it."""
        given = Add(
            ref="new",
            content=self.content,
            section=self.section,
            topic=self.topic,
            context=self.context,
            tags=tuple(self.tags),
            examples=tuple(self.examples),
            importance=self.importance,
            pinned=self.pinned,
            ttl_days=self.ttl_days or None,
            sources=("http",),
        )
        if self.kind is None:
            return given
        fields = fields_of(self.kind)
        typed = {"memory_type": fields.memory_type, "polarity": fields.polarity}
        return given.model_copy(update={**typed, "section": fields.section or self.section})


class AddedReply(ChangeReply):
    """The id of the bullet that holds what was added, and what else has changed."""

    id: str


class RunReply(BaseModel):
    """A run that a bullet was learned from, or that followed it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trajectory_id: str
    task: str
    agent: str
    task_type: str | None
    status: TurnStatus
    verdict: Verdict
    score: float | None
    started_at: Moment
    completed_at: Moment | None


class BulletReply(StrategyEntry):
    """A bullet as a strategy, with the confidence in it and the runs behind it."""

    version: int
    kind: BulletKind
    importance: Share
    trajectories: list[RunReply]
    bullet: Bullet


class BulletPatch(BaseModel):
    """The fields to change, at least one."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"anyOf": [{"required": [name]} for name in ("content", "pinned", "ttl_days")]},
    )

    content: Annotated[
        Text | None,
        Field(min_length=1, max_length=MAX_CONTENT_CHARS),
        Bounded,
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

    ttl_days: Annotated[
        TtlDays | None,
        WithJsonSchema(
            {
                "type": "number",
                "minimum": 0,
                "maximum": 1_000_000,
                "description": "Days without a change until no prompt holds it; 0: for good.",
            }
        ),
    ] = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        given = self.model_fields_set
        if not given or any(getattr(self, name) is None for name in given):
            raise ValueError("must say a new content, pinned or ttl_days")
        return self

    def operations(self, bullet: Bullet) -> list[Operation]:
        """Return the operations that make the bullet so."""
        wanted: list[Operation] = []
        if self.content is not None and self.content != bullet.content:
            wanted.append(Update(bullet_id=bullet.id, content=self.content))
        if self.ttl_days is not None and (self.ttl_days or None) != bullet.ttl_days:
            wanted.append(Update(bullet_id=bullet.id, ttl_days=self.ttl_days or "never"))
        if self.pinned is not None and self.pinned != bullet.pinned:
            wanted.append(Pin(bullet_id=bullet.id) if self.pinned else Unpin(bullet_id=bullet.id))
        return wanted


@named.get("", responses=error_responses(404))
@own.get("", responses=error_responses())
async def show(
    learner: Learner,
    services: ServicesDep,
    target: Place,
    query: Annotated[PlaybookQuery, Query()],
    response: Response,
) -> PlaybookReply:
    """Return the bullets in their order, all of them or those that are wanted."""
    wanted = query.filter()

    def chosen(snapshot: Snapshot) -> list[Bullet]:
        return [b for b in snapshot.playbook.bullets() if wanted.passes(b)]

    found = await read_worth(services.store, target, learner, chosen)
    evidence, now = found.evidence, services.clock.now()
    tag_version(response, found.snapshot.version)
    return PlaybookReply(
        version=None if found.snapshot.absent else found.snapshot.version.n,
        bullets=tuple(
            _stored(b, found.snapshot, evidence.confidence(b, now)) for b in chosen(found.snapshot)
        ),
        effectiveness=found.effectiveness,
        metadata=found.metadata,
    )


@named.post("", status_code=201, responses=error_responses(404, 408, 409, 412, 413))
@own.post("", status_code=201, responses=error_responses(404, 408, 409, 412, 413))
async def add(body: NewBullet, edit: PlaybookEdit) -> AddedReply:
    """Add a bullet, or strengthen the one that says the same."""
    base = await edit.load()
    version, report = await edit.make(base, [body.operation()], "added over HTTP")
    return AddedReply(**edit.reply(version, report).model_dump(), id=report.refs["new"])


@named.get("/{bullet_id}", responses=error_responses(404))
async def get(bullet_id: BulletId, learner: Learner, services: ServicesDep, target: Place) -> BulletReply:
    """Return a bullet, or the one that it was merged into, with the runs behind it."""

    def chosen(snapshot: Snapshot) -> list[Bullet]:
        return [_bullet(snapshot, snapshot.playbook.aliases.get(bullet_id, bullet_id))]

    found = await read_worth(services.store, target, learner, chosen)
    (bullet,) = chosen(found.snapshot)
    entry = entry_of(bullet, found.evidence, services.clock.now())
    return BulletReply(
        **entry.model_dump(),
        version=found.snapshot.version.n,
        kind=kind_of(bullet),
        importance=bullet.importance,
        trajectories=[_run(turn) for turn in found.turns],
        bullet=bullet,
    )


@named.patch("/{bullet_id}", responses=error_responses(404, 408, 409, 412, 413))
@own.patch("/{bullet_id}", responses=error_responses(404, 408, 409, 412, 413))
async def change(bullet_id: BulletId, patch: BulletPatch, edit: PlaybookEdit) -> ChangeReply:
    """Change a bullet's text or time to live, pin it or unpin it. Its votes stay."""
    base = await edit.load()
    wanted = patch.operations(_bullet(base, bullet_id))
    return await edit.commit(base, wanted, "changed over HTTP")


@named.delete("/{bullet_id}", responses=error_responses(404, 409, 412))
@own.delete("/{bullet_id}", responses=error_responses(404, 409, 412))
async def remove(bullet_id: BulletId, edit: PlaybookEdit) -> ChangeReply:
    """Remove a bullet. It can be restored while the history holds it."""
    base = await edit.load()
    return await edit.commit(base, [Remove(bullet_id=bullet_id)], "removed over HTTP")


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


def _run(turn: TurnRecord) -> RunReply:
    fields = turn.model_dump(include=set(RunReply.model_fields))
    return RunReply(trajectory_id=turn.turn_id, **fields)
