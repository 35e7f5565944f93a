"""One playbook over HTTP: its bullets, their curation, its content as a whole, its versions, searches.

Each route is there for every playbook, the own memory too, under /api/playbooks/{playbook_id}; most of them
also for the own memory under /api/playbook, where a bullet's id comes at once. An unknown playbook and one
that the learner may not read are the same 404; one that they may read, and not use like this, is 403. For
`If-Match` and keys see `edit`. A merge of bullets that don't say the same is refused; only the command line
can force one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import quote
from uuid import uuid4

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import ConfigDict, Field, JsonValue, TypeAdapter, model_validator

from ace_graph import playbooks
from ace_graph.agent.resources import find_embeddings
from ace_graph.agent.retriever import explain_search
from ace_graph.base.errors import (
    ChangeRefused,
    FormatError,
    NewerFormat,
    PlaybookChanged,
    PlaybookExists,
    PlaybookNotFound,
    RequestRefused,
)
from ace_graph.base.off_loop import off_loop
from ace_graph.learning.curate_reflections import MAX_REFLECTIONS
from ace_graph.learning.curate_reflections import curate as curate_reflections
from ace_graph.learning.dreaming import DecidedDream, accept_dream, dream, last_dream, refuse_dream
from ace_graph.learning.graph_drawing import hides
from ace_graph.memory.audit import Act, Audit, AuditKind, Severity
from ace_graph.memory.bullet import (
    MAX_CONTENT_CHARS,
    MAX_CONTEXT_CHARS,
    MAX_EXAMPLES,
    Bounded,
    Bullet,
    BulletSource,
    BulletTag,
    Day,
    MemoryType,
    Moment,
    Polarity,
    Share,
)
from ace_graph.memory.catalogue import (
    DEFAULT,
    MAX_DESCRIPTION_CHARS,
    MAX_NAME_CHARS,
    Lessons,
    PlaybookEntry,
    Scope,
    Visibility,
)
from ace_graph.memory.commit import Commit, HistoryEntry, operation_id
from ace_graph.memory.confidence import Effectiveness, PlaybookMetadata
from ace_graph.memory.consolidation import ConsolidationWork
from ace_graph.memory.delta import operations
from ace_graph.memory.delta.draft import TAKEN_IDS
from ace_graph.memory.delta.effect import Archived, Merged, Pruned, Put, Rejection, Revived
from ace_graph.memory.delta.operations import Add, Operation
from ace_graph.memory.delta.rollback import archived
from ace_graph.memory.dream import ItemKind, ItemState
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.formats.registry import FormatName, format_named, read_bullets
from ace_graph.memory.retrieval.current_values import filtered
from ace_graph.memory.rights import not_found
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import StoredVersion
from ace_graph.memory.turn import TurnStatus
from ace_graph.memory.views import (
    BulletFilter,
    BulletKind,
    BulletStatus,
    Category,
    StrategyEntry,
    add_of,
    diff,
    entry_of,
    fields_of,
    kind_of,
)
from ace_graph.playbooks import delete as delete_playbook
from ace_graph.playbooks.consolidation import consolidate, enqueue, run_state, undo
from ace_graph.playbooks.content import Change, rescreen, rescreened
from ace_graph.playbooks.handle import PlaybookHandle
from ace_graph.playbooks.templates import TEMPLATES, TemplateName, template
from ace_graph.playbooks.worth import PlaybookFigures, ReaderUse, figures_of, read_worth
from ace_graph.server.auth import Identity
from ace_graph.server.errors import DescribedRoute, error_responses
from ace_graph.server.keyed import KeyedRoute, OpId
from ace_graph.server.middleware import does
from ace_graph.server.routes.edit import (
    Absent,
    ChangeReply,
    Edit,
    OwnEdit,
    OwnerEdit,
    Place,
    PlaybookEdit,
    PlaybookId,
    checked_place,
    declare_playbook_id,
    no_such_bullet,
    refused,
    tag_version,
)
from ace_graph.server.routes.learner import LiftReply
from ace_graph.server.schemas import (
    CAMEL_CASE,
    MOST_VERSION,
    PLAYBOOK_NAME,
    Body,
    BulletFields,
    BulletName,
    Label,
    NewKind,
    RequestBody,
    Text,
    VersionName,
    WhyReply,
)
from ace_graph.server.services import Learner, Sender, Services, ServicesDep, learning_mode

own = APIRouter(
    prefix="/api/playbook", tags=["playbook"], route_class=KeyedRoute, dependencies=[does("change")]
)
named = APIRouter(
    prefix="/api/playbooks/{playbook_id}",
    tags=["playbooks"],
    route_class=KeyedRoute,
    dependencies=[does("change"), Depends(declare_playbook_id), Depends(checked_place)],
)


_OF_A_BULLET = (Put, Archived, Revived)
_WHY: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])

BulletId = Annotated[str, Path(min_length=1, max_length=128, examples=["fil-00042"])]
TtlDays = Annotated[
    float,
    Field(
        strict=True,
        ge=0,
        le=1_000_000,
        description="Days without a change until no prompt holds it; 0: for good.",
    ),
]


class PlaybookQuery(RequestBody):
    """Which bullets."""

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

    as_of: Annotated[
        Moment | Day | None,
        Field(description="As it was known at the end of this day (UTC), or at this moment."),
    ] = None
    valid_on: Annotated[
        Day | None,
        Field(description="Only what was true on this day, and what does not say when it is true."),
    ] = None

    def filter(self) -> BulletFilter:
        every: tuple[BulletStatus, ...] = ("active", "quarantined")
        statuses = every if self.status == "all" else (self.status,)
        kinds = frozenset(self.kind)
        return BulletFilter(
            frozenset(statuses), self.tag, frozenset(self.type), self.words, kinds, self.valid_on
        )


class StoredBullet(BulletFields):
    """A bullet with its kind, the day on which it was last used in a prompt, and the confidence in it.

    `lastUsed` is null for one that never was, and for what is in every prompt. `confidence` is from 0 to 1;
    it follows from the runs behind the bullet, the newer the more.
    """

    kind: BulletKind
    last_used: date | None = None
    confidence: Share


class EffectivenessReply(Effectiveness):
    """How often turns were shown bullets of the playbook, by how many learners, and how these turns ended."""

    model_config = CAMEL_CASE


class MetadataReply(PlaybookMetadata):
    """How many trajectories a reflector has read, and how many commits have merged bullets."""

    model_config = CAMEL_CASE


class PlaybookReply(Body):
    """The bullets in order, and what the playbook was worth; `version` is null while nothing is stored."""

    version: int | None
    bullets: tuple[StoredBullet, ...]
    effectiveness: EffectivenessReply
    metadata: MetadataReply


class NewBullet(RequestBody):
    """A bullet to add. One that says the same as another strengthens that one instead.

    A `kind` decides the type and the polarity, and that of a preference the section as well; without one they
    follow from the text.
    """

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
    tags: Annotated[tuple[Label, ...], Field(max_length=20)] = ()
    examples: Annotated[
        tuple[Label, ...], Field(max_length=MAX_EXAMPLES, description="Trajectories that support it.")
    ] = ()
    importance: Annotated[Share, Field(strict=True)] = 0.5
    pinned: Annotated[bool, Field(strict=True, description="Part of every prompt.")] = False
    ttl_days: TtlDays = 0
    valid_from: Annotated[Day | None, Field(description="The first day on which it is true.")] = None
    valid_until: Annotated[Day | None, Field(description="The last day on which it is true.")] = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        operations.check_days(self.valid_from, self.valid_until)
        return self

    def operation(self) -> Add:
        fields = self.model_dump(exclude={"kind", "ttl_days"})
        given = Add(ref="new", ttl_days=self.ttl_days or None, sources=(BulletSource.HTTP,), **fields)
        if self.kind is None:
            return given
        kind = fields_of(self.kind)
        typed = {"memory_type": kind.memory_type, "polarity": kind.polarity}
        return given.model_copy(update={**typed, "section": kind.section or self.section})


class AddedReply(ChangeReply):
    """The id of the bullet that holds what was added, and what else has changed."""

    id: str


class RunReply(Body):
    """A run that a bullet was learned from, or that followed it."""

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

    model_config = CAMEL_CASE

    version: int
    kind: BulletKind
    importance: Share
    trajectories: list[RunReply]
    bullet: BulletFields


class Patch(RequestBody):
    """The fields to change, at least one, and none to null."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})
    needs: ClassVar[str]

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        given = self.model_fields_set
        if not given or any(getattr(self, name) is None for name in given):
            raise ValueError(f"needs {self.needs}")
        return self


ValidDay = Annotated[
    Day | Literal["unknown"],
    Field(description="The first or the last day on which it is true; unknown: it says no such day."),
]


class BulletPatch(Patch):
    """The fields to change, at least one."""

    needs = "a new content, pinned, ttlDays, validFrom or validUntil"

    content: (
        Annotated[
            Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS, description="Its new text."), Bounded
        ]
        | Absent
    ) = None
    pinned: Annotated[bool, Field(description="Part of every prompt, and never archived.")] | Absent = None
    ttl_days: TtlDays | Absent = None
    valid_from: ValidDay | Absent = None
    valid_until: ValidDay | Absent = None

    def operations(self, bullet: Bullet) -> list[Operation]:
        wanted: list[Operation] = []
        first, last = self.valid_from, self.valid_until
        if first is not None or last is not None:
            wanted.append(operations.Update(bullet_id=bullet.id, valid_from=first, valid_until=last))
        if self.content is not None and self.content != bullet.content:
            wanted.append(operations.Update(bullet_id=bullet.id, content=self.content))
        if self.ttl_days is not None and (self.ttl_days or None) != bullet.ttl_days:
            wanted.append(operations.Update(bullet_id=bullet.id, ttl_days=self.ttl_days or "never"))
        if self.pinned is not None and self.pinned != bullet.pinned:
            pinning = operations.Pin if self.pinned else operations.Unpin
            wanted.append(pinning(bullet_id=bullet.id))
        return wanted


async def _no_bullet() -> None:
    """Keep a name apart from ids of bullets."""
    raise HTTPException(405)


for _name in sorted(TAKEN_IDS):
    own.add_api_route(f"/{_name}", _no_bullet, methods=["PATCH", "DELETE"], include_in_schema=False)


@named.get("/bullets")
@own.get("")
async def show(
    learner: Learner,
    services: ServicesDep,
    playbook: Place,
    query: Annotated[PlaybookQuery, Query()],
    response: Response,
) -> PlaybookReply:
    """Return the bullets in their order, all of them or those that are wanted.

    With `asOf` the bullets are those of that day, without an `ETag`; their figures are today's.
    """
    wanted = query.filter()
    known = None if query.as_of is None else await playbook.load_as_of(query.as_of)

    def chosen(snapshot: Snapshot) -> list[Bullet]:
        return filtered(wanted, (known or snapshot).playbook.bullets())

    found = await read_worth(services.store, playbook, learner, chosen)
    snapshot, evidence, now = found.snapshot, found.evidence, services.clock.now()
    held = known or snapshot
    if known is None:
        tag_version(response, snapshot.version)
    return PlaybookReply.of(
        found,
        version=None if held.absent else held.version.n,
        bullets=tuple(
            StoredBullet(
                **bullet.model_dump(),
                kind=kind_of(bullet),
                last_used=None if bullet.core else snapshot.access.last_used(bullet.id),
                confidence=round(evidence.confidence(bullet, now), 4),
            )
            for bullet in chosen(snapshot)
        ),
    )


@named.post("/bullets", status_code=201)
@own.post("", status_code=201)
async def add(body: NewBullet, edit: PlaybookEdit) -> AddedReply:
    """Add a bullet, or strengthen the one that says the same."""
    done = await edit.make("added over HTTP", lambda _: [body.operation()])
    return AddedReply(**edit.reply(done).model_dump(), id=done.report.refs["new"])


@named.get("/bullets/{bullet_id}", name="get")
async def get_bullet(
    bullet_id: BulletId, learner: Learner, services: ServicesDep, playbook: Place
) -> BulletReply:
    """Return a bullet, or the one that it was merged into, with the runs behind it."""

    def chosen(snapshot: Snapshot) -> list[Bullet]:
        return [_bullet(snapshot, snapshot.playbook.aliases.get(bullet_id, bullet_id))]

    found = await read_worth(services.store, playbook, learner, chosen)
    (bullet,) = chosen(found.snapshot)
    return BulletReply(
        **entry_of(bullet, found.evidence, services.clock.now()).model_dump(),
        version=found.snapshot.version.n,
        kind=kind_of(bullet),
        importance=bullet.importance,
        trajectories=[RunReply.of(turn, trajectory_id=turn.turn_id) for turn in found.turns],
        bullet=BulletFields.model_validate(bullet),
    )


@named.patch("/bullets/{bullet_id}")
@own.patch("/{bullet_id}")
async def change(bullet_id: BulletId, patch: BulletPatch, edit: PlaybookEdit) -> ChangeReply:
    """Change a bullet's text or time to live, pin it or unpin it. Its votes stay."""
    done = await edit.make("changed over HTTP", lambda base: patch.operations(_bullet(base, bullet_id)))
    return edit.reply(done)


@named.delete("/bullets/{bullet_id}")
@own.delete("/{bullet_id}")
async def remove(bullet_id: BulletId, edit: PlaybookEdit) -> ChangeReply:
    """Remove a bullet. It can be restored while the history holds it."""
    return await edit.apply("removed over HTTP", operations.Remove(bullet_id=bullet_id))


SeveralBullets = Annotated[
    list[BulletName], Field(min_length=2, max_length=20, description="Two bullets or more.")
]


class MergeBody(RequestBody):
    """Bullets that say the same."""

    ids: SeveralBullets
    content: (
        Annotated[
            Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS, description="The new text."), Bounded
        ]
        | None
    ) = None


class DistinctBody(RequestBody):
    """Bullets that say different things."""

    ids: SeveralBullets


class SupersedeBody(RequestBody):
    """What takes the bullet's place."""

    by: Annotated[BulletName, Field(description="The bullet that corrects it.")]


class TagBody(RequestBody):
    """One vote."""

    tag: Annotated[BulletTag, Field(description="The counter that goes up by one.")]


class QuarantineBody(RequestBody):
    """Why no prompt may hold it."""

    why: Annotated[Text, Field(min_length=1, max_length=256)]


@named.post("/merge")
@own.post("/merge")
async def merge(body: MergeBody, edit: PlaybookEdit) -> ChangeReply:
    """Make one bullet of several that say the same. Others are refused."""
    return await edit.apply(
        "merged over HTTP", operations.Merge(bullet_ids=tuple(body.ids), content=body.content)
    )


@named.post("/distinct")
async def distinct(body: DistinctBody, edit: OwnEdit) -> ChangeReply:
    """Say that bullets mean different things, so that no consolidation merges them or proposes it."""
    return await edit.apply("called distinct over HTTP", operations.Distinguish(bullet_ids=tuple(body.ids)))


@named.post("/bullets/{bullet_id}/restore", responses=error_responses(408))
@own.post("/{bullet_id}/restore", responses=error_responses(408))
async def restore(bullet_id: BulletId, edit: OwnEdit) -> ChangeReply:
    """Bring back a bullet that was removed, merged away, replaced or archived, as it was."""

    async def bring_back(base: Snapshot) -> Commit:
        history = await edit.playbook.store.history(edit.playbook.key)
        here = base.playbook.get_bullet(bullet_id) is not None
        if not here and all(left.bullet.id != bullet_id for left in archived(history, base.playbook)):
            raise RequestRefused(404, "not_found", "there is no such bullet in your history")
        change = edit.change("restored over HTTP", base)
        return await edit.playbook.restore_bullet(base, bullet_id, change, refused)

    return edit.reply(await edit.once(bring_back))


@named.post("/bullets/{bullet_id}/supersede")
@own.post("/{bullet_id}/supersede")
async def supersede(bullet_id: BulletId, body: SupersedeBody, edit: PlaybookEdit) -> ChangeReply:
    """Archive a bullet because another one corrects it."""
    return await edit.apply("superseded over HTTP", operations.Supersede(bullet_id=bullet_id, by=body.by))


@named.post("/bullets/{bullet_id}/tag")
@own.post("/{bullet_id}/tag")
async def tag(bullet_id: BulletId, body: TagBody, edit: PlaybookEdit) -> ChangeReply:
    """Vote on a bullet, apart from any turn. What does more harm than good is not shown."""
    return await edit.apply("tagged over HTTP", operations.Tag(bullet_id=bullet_id, tag=body.tag))


@named.post("/bullets/{bullet_id}/quarantine")
@own.post("/{bullet_id}/quarantine")
async def quarantine(bullet_id: BulletId, body: QuarantineBody, edit: PlaybookEdit) -> ChangeReply:
    """Keep a bullet out of every prompt."""
    return await edit.apply("quarantined over HTTP", operations.Quarantine(bullet_id=bullet_id, why=body.why))


@named.post("/bullets/{bullet_id}/release", responses=error_responses(408))
@own.post("/{bullet_id}/release", responses=error_responses(408))
async def release(bullet_id: BulletId, edit: PlaybookEdit) -> ChangeReply:
    """Let a bullet out of quarantine, into prompts. Read it first: `?status=quarantined`."""
    return await edit.apply("released over HTTP", operations.Release(bullet_id=bullet_id))


def _bullet(base: Snapshot, bullet_id: str) -> Bullet:
    found = base.playbook.get_bullet(bullet_id)
    if found is None:
        raise no_such_bullet()
    return found


class BulletBody(RequestBody):
    """A bullet to add. One that is there already, with the same fields, stays as it is, votes and all."""

    content: Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS), Bounded]
    id: BulletName | None = None
    section: Label | None = None
    memory_type: MemoryType | None = None
    polarity: Polarity | None = None
    topic: Label | None = None

    def add(self) -> Add:
        """Return the operation that adds it."""
        return Add(**self.model_dump(exclude_none=True), sources=(BulletSource.HTTP,))


class StrategyBody(RequestBody):
    """A strategy to add: helpful is what to do, harmful what to avoid, neutral what was seen."""

    pattern: Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS), Bounded]
    category: Category = "helpful"
    context: Annotated[Text, Field(max_length=MAX_CONTEXT_CHARS)] | None = None
    confidence: Annotated[Share, Field(strict=True)] | None = None
    evidence_count: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 0

    def add(self, now: datetime) -> Add:
        """Return the operation that adds it; its confidence is stated `now`."""
        strategy = StrategyEntry(**self.model_dump())
        return add_of(strategy, now).model_copy(update={"sources": (BulletSource.HTTP,)})


MOST_BULLETS = 1_000


class ContentBody(RequestBody):
    """What a playbook is to hold."""

    bullets: Annotated[tuple[BulletBody, ...], Field(max_length=MOST_BULLETS)] = ()
    strategies: Annotated[tuple[StrategyBody, ...], Field(max_length=MOST_BULLETS)] = ()

    def adds(self, now: datetime) -> list[Add]:
        """Return the operations that add it; confidences are stated `now`."""
        return [*(each.add() for each in self.bullets), *(each.add(now) for each in self.strategies)]


class AboutPatch(Patch):
    """The fields to change, at least one."""

    needs = "a description, a scope or a rule for lessons"

    description: Annotated[Text, Field(max_length=MAX_DESCRIPTION_CHARS)] | Absent = None
    scope: Scope | Absent = None
    lessons: Annotated[Lessons, Field(description="What becomes of lessons of runs.")] | Absent = None


class UpdateBody(ContentBody):
    """The new content, or with `merge` what is added to it: bullets, strategies, or both."""

    model_config = ConfigDict(
        json_schema_extra={"if": {"required": ["bullets"]}, "else": {"required": ["strategies"]}}
    )

    merge: Annotated[bool, Field(strict=True, description="Add to what is there, replace nothing.")] = False
    increment_version: Annotated[
        bool, Field(strict=True, description="False: an amendment, the version keeps its label.")
    ] = True
    reason: Annotated[Text, Field(max_length=500)] = ""

    @model_validator(mode="after")
    def _says_its_content(self) -> Self:
        """An empty body would empty the playbook."""
        if self.model_fields_set.isdisjoint({"bullets", "strategies"}):
            raise ValueError("needs bullets or strategies")
        return self


class EntryReply(Body):
    """A playbook without its content. `label` is the version for people; the host's have no owner."""

    playbook_id: str
    owner: str | None
    name: str
    description: str
    scope: Scope
    visibility: Visibility
    lessons: Lessons
    version: int
    label: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def about(cls, entry: PlaybookEntry, **more: object) -> Self:
        return cls.of(entry, version=entry.version.n, label=str(entry.version.label), **more)


class ContentReply(EntryReply):
    """A playbook with its bullets."""

    bullets: tuple[BulletFields, ...]


class WrittenReply(Body):
    """The version after a change, what was refused of the content, and what was kept out of prompts."""

    playbook_id: str
    version: int
    label: str
    refused: list[Rejection]
    quarantined: list[str]

    @classmethod
    def about(cls, playbook_id: str, edit: Edit, done: Commit, refused: Sequence[Rejection] = ()) -> Self:
        tag_version(edit.response, done.version)
        more = {"version": done.version.n, "label": str(done.version.label), "refused": refused}
        return cls.of(done.report, playbook_id=playbook_id, **more)


class ImportBody(RequestBody):
    """The text of a file in one of the formats; `auto` finds out which."""

    text: Annotated[Text, Field(min_length=1)]
    format: Literal[FormatName, "auto"] = "auto"


class RefusalReply(Body):
    """A bullet of the file that was not taken, and why."""

    what: str
    why: str


class ImportReply(Body):
    """What became of each bullet: read = kept + merged + refused.

    `renamed` asked for an id and got another. `core` are always candidates for the prompt, `quarantined` are
    in no prompt, `displaced` were there before and made room or were replaced. `leftOut` counts the fields
    that have no place in a bullet.
    """

    version: int | None
    read: int
    kept: int
    merged: int
    refused: list[RefusalReply]
    renamed: int
    core: list[str]
    quarantined: list[str]
    displaced: list[str]
    left_out: dict[str, int]


class RescreenBody(RequestBody):
    """Whether to change anything."""

    dry_run: Annotated[bool, Field(strict=True, description="Say what would move, change nothing.")] = False


class RescreenReply(Body):
    """What was kept back, each with the reason, and what was released."""

    version: int
    quarantined: dict[str, str]
    released: list[str]


class CurateBody(RequestBody):
    """The ids of reflections, as trajectories have them; `ID#2` is the second lesson of one alone."""

    reflections: Annotated[list[Label], Field(min_length=1, max_length=MAX_REFLECTIONS)]


class BulletTextReply(Body):
    """A bullet's id and its text."""

    id: str
    text: str


class OutdatedReply(Body):
    """A bullet that a person may want to remove, and why; `by` is what would take its place."""

    id: str
    text: str
    why: str
    by: str | None


class CuratedReply(Body):
    """The difference that curating made. `byRules`: the model curator failed, so the rules have decided.

    `outdated` are bullets that stay until somebody removes them: they did more harm than good, or say
    something else than a lesson that was added.
    """

    playbook_id: str
    status: Literal["curated", "unchanged", "repeated"]
    version: int
    label: str
    added: list[BulletTextReply]
    updated: list[BulletTextReply]
    removed: list[BulletTextReply]
    refused: list[Rejection]
    by_rules: bool
    outdated: list[OutdatedReply]


@named.get("")
async def get(playbook: Place, response: Response) -> ContentReply:
    """Return a playbook with its bullets; one of the learner's own with those in quarantine, too."""
    found = await playbook.read()
    tag_version(response, found.entry.version)
    return ContentReply.about(found.entry, bullets=found.playbook.bullets())


@named.put("")
async def update(playbook_id: PlaybookId, body: UpdateBody, edit: PlaybookEdit) -> WrittenReply:
    """Replace the content in one version, or with `merge` add to it. The version before can be restored.

    In somebody else's playbook what the learner does not see stays.
    """
    reason = body.reason or ("added over HTTP" if body.merge else "replaced over HTTP")
    kept = list[Rejection]()

    async def write(base: Snapshot) -> Commit:
        change = replace(edit.change(reason, base), keeps_label=not body.increment_version)
        adds = body.adds(edit.services.clock.now())
        embeddings = find_embeddings(edit.services.resources.settings)
        done = await edit.playbook.write(adds, merge=body.merge, change=change, embeddings=embeddings)
        kept.extend(done.refused)
        return done.commit

    return WrittenReply.about(playbook_id, edit, await edit.once(write), kept)


@named.patch("", dependencies=[does("own")])
async def edit_about(body: AboutPatch, edit: OwnerEdit) -> EntryReply:
    """Give a named playbook another description, scope, or rule for lessons. That makes no version."""
    version = (await edit.load()).version
    entry = await edit.playbook.edit_fields(body.description, body.scope, body.lessons)
    tag_version(edit.response, version)
    return EntryReply.about(replace(entry, version=version))


@named.delete("", status_code=204, dependencies=[does("own")])
async def delete(playbook_id: PlaybookId, edit: OwnerEdit) -> None:
    """Delete a named playbook for good. The own memory is deleted with the learner only."""
    etag = await edit.expected_etag()
    key, user = DEFAULT if edit.playbook.entry is None else edit.playbook.key, edit.sender.user
    if not await delete_playbook(edit.services.store, key, user=user, expected_etag=etag):
        raise not_found(playbook_id)


class ReaderUseReply(ReaderUse):
    """How one reader, who lets the owners see it, used the playbook."""

    model_config = CAMEL_CASE


class FiguresReply(PlaybookFigures):
    """The counts, and how the playbook was used: to an owner by all who may read it, to others by them.

    `readers` are those who show an owner their use; nobody else is named.
    `lift` is that of the unproven bullets, null until turns with and without them were judged. Means are null
    where nothing is counted.
    """

    model_config = CAMEL_CASE

    lift: LiftReply | None  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleVariableOverride]  # the same, with its names
    readers: tuple[ReaderUseReply, ...]  # pyright: ignore[reportIncompatibleVariableOverride]  # the same, with its names


class ActReply(Body):
    """The request that mends a finding."""

    method: Literal["DELETE", "POST"]
    path: str
    body: dict[str, JsonValue] | None = None


class FindingReply(Body):
    """One thing that is rotten, and what to do about it. Of two bullets the first should go for the second.

    `texts` are those of the bullets, and empty for secrets, orders and what is in quarantine. `act` is null
    where the caller may not do it.
    """

    kind: AuditKind
    severity: Severity
    ids: list[str]
    why: str
    do: str
    act: ActReply | None
    texts: list[str]


class AuditReply(Body):
    """What is rotten in a playbook, the worst first; `clean` bullets are in no finding."""

    version: int | None
    bullets: int
    clean: int
    clean_share: Share
    counts: dict[AuditKind, int]
    findings: list[FindingReply]


@named.get("/audit")
@own.get("/audit")
async def audit(playbook: Place, sender: Sender, services: ServicesDep) -> AuditReply:
    """Return what is rotten in a playbook, each finding with the request that mends it."""
    found = await audited(playbook, sender, services)
    name = DEFAULT if playbook.entry is None else playbook.entry.playbook_id
    findings = [FindingReply.of(each, act=_request_of(each.act, name)) for each in found.findings]
    return AuditReply.of(found, findings=findings)


async def audited(playbook: PlaybookHandle, sender: Identity, services: Services) -> Audit:
    """Return what is rotten in a playbook; what the sender may not do is no act."""
    consolidates, now = sender.may("consolidate"), services.clock.now()
    return await playbooks.audit(playbook, consolidates=consolidates, hides=hides, now=now)


def _request_of(act: Act | None, playbook_id: str) -> ActReply | None:
    under = f"/api/playbooks/{playbook_id}"
    match act:
        case None:
            return None
        case operations.Merge():
            return ActReply(method="POST", path=f"{under}/merge", body={"ids": list(act.bullet_ids)})
        case ConsolidationWork():
            return ActReply(method="POST", path=f"{under}/consolidate", body={})
        case _:
            at = f"{under}/bullets/{quote(act.bullet_id, safe='')}"
    if isinstance(act, operations.Remove):
        return ActReply(method="DELETE", path=at)
    if isinstance(act, operations.Supersede):
        return ActReply(method="POST", path=f"{at}/supersede", body={"by": act.by})
    return ActReply(method="POST", path=f"{at}/quarantine", body={"why": act.why})


@named.get("/stats")
async def stats(learner: Learner, services: ServicesDep, playbook: Place) -> FiguresReply:
    """Return counts, votes, strength and confidence; how often the playbook was used, and its worth."""
    found = figures_of(await read_worth(services.store, playbook, learner), services.clock.now())
    return FiguresReply.model_validate(found.model_dump())


@named.get(
    "/export",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The file."}},
)
async def export(
    playbook: Place,
    file_format: Annotated[FormatName, Query(alias="format", description="The format of the file.")] = "json",
) -> PlainTextResponse:
    """Return the bullets as a file, which `import` reads."""
    found = await playbook.load()
    response = PlainTextResponse(await off_loop(format_named(file_format).write, found.playbook))
    tag_version(response, found.version)
    return response


@named.post("/import")
async def import_(body: ImportBody, edit: PlaybookEdit) -> ImportReply:
    """Add the bullets of a file; what is known already is merged. It is an error when none is taken."""
    try:
        reading = await off_loop(read_bullets, body.text, body.format)
    except (FormatError, NewerFormat) as error:
        raise RequestRefused(409, "unreadable", f"the file can't be read: {error}"[:300]) from error
    base = await edit.load()
    change = edit.change("imported over HTTP", base)
    outcome, after = await edit.playbook.import_bullets(base, reading, change)
    if outcome.read and len(outcome.refused) == outcome.read:
        why = outcome.refused[0].why
        raise RequestRefused(409, "refused", f"every bullet was refused: {why}"[:300])
    tag_version(edit.response, after.version)
    return ImportReply.of(
        outcome, version=None if after.absent else after.version.n, left_out=dict(outcome.left_out)
    )


@named.post("/clear", responses=error_responses(408))
async def clear(edit: PlaybookEdit) -> ChangeReply:
    """Archive all bullets. A rollback brings them back."""

    def everything(base: Snapshot) -> list[Operation]:
        if base.absent:
            raise RequestRefused(409, "refused", "nothing is stored yet")
        return [operations.Reset()]

    return edit.reply(await edit.make("cleared over HTTP", everything))


@named.post("/rescreen")
async def screen_again(body: RescreenBody, edit: OwnEdit) -> RescreenReply:
    """Screen all bullets again by the present rules. What a person has decided stays."""
    if (before := await edit.made_before()) is not None:
        done = rescreened(before)
    else:
        base, store, key = await edit.load(), edit.playbook.store, edit.playbook.key
        done = await rescreen(store, key, base, edit.change("", base), dry_run=body.dry_run)
    return RescreenReply(version=done.version, quarantined=done.kept_back, released=list(done.released))


@named.post("/curate")
async def curate(playbook_id: PlaybookId, body: CurateBody, edit: OwnEdit) -> CuratedReply:
    """Take what reflections found into a playbook, in one version. The same ones again change nothing."""
    done = await curate_reflections(
        *(edit.services.store, edit.sender.learner, body.reflections, edit.playbook.ref.name),
        resources=edit.services.resources,
        embeddings=edit.services.resources.embeddings,
        author=edit.sender.author,
        clock=edit.services.clock.now,
        expected_etag=await edit.expected_etag(),
    )
    tag_version(edit.response, done.version)
    return CuratedReply.of(
        done,
        playbook_id=playbook_id,
        version=done.version.n,
        label=str(done.version.label),
        by_rules=done.problem is not None,
    )


class VersionReply(Body):
    """One version; without `readable` its content was dropped."""

    version: int
    label: str
    at: datetime
    author: str
    reason: str
    readable: bool

    @classmethod
    def about(cls, stored: StoredVersion) -> Self:
        return cls.of(stored, version=stored.n, label=str(stored.label))


class VersionsReply(Body):
    """The versions, the newest first."""

    versions: list[VersionReply]


class HistoryQuery(RequestBody):
    """Which page of the history."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: (
        Annotated[int, Field(ge=0, le=MOST_VERSION, description="`next` of the page before.")] | Absent
    ) = None


class HistoryEntryReply(Body):
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


class HistoryReply(Body):
    """The newest first. `oldest` is the oldest version to go back to; `next` is null at the end."""

    oldest: int
    versions: list[HistoryEntryReply]
    next: int | None


class DiffQuery(RequestBody):
    """Which two versions, by number or by label; 0 is the empty playbook."""

    before: Annotated[VersionName, Field(alias="from")]
    after: Annotated[VersionName, Field(alias="to")]


class ChangedReply(Body):
    """A bullet that is in both versions, with other fields."""

    before: BulletFields
    after: BulletFields


class DiffReply(Body):
    """What only the second version has, what only the first one has, and what changed."""

    added: tuple[BulletFields, ...]
    removed: tuple[BulletFields, ...]
    changed: tuple[ChangedReply, ...]


class LeftReply(Body):
    """In which version a bullet left, when and why; `into` is what it was merged into or replaced by."""

    version: int
    at: Moment
    why: str
    into: str | None


class ArchivedReply(BulletFields):
    """A bullet that is no longer in the playbook."""

    left: LeftReply


class ArchiveReply(Body):
    """The latest first."""

    bullets: list[ArchivedReply]


class RollbackBody(RequestBody):
    """Where to go back to."""

    version: Annotated[VersionName, Field(description="A version that is kept, by its number or its label.")]


@named.get("/versions")
@own.get("/versions", responses=error_responses(404))
async def versions(playbook: Place) -> VersionsReply:
    """Return all versions, the newest first: number, label, author, time and reason."""
    return VersionsReply(versions=[*map(VersionReply.about, await playbook.list_versions())])


@named.get("/history")
@own.get("/history")
async def history(playbook: Place, query: Annotated[HistoryQuery, Query()]) -> HistoryReply:
    """Return the changes of the content, the newest first: who changed what, and why."""
    kept = await playbook.store.history(playbook.key)
    changes = [entry for entry in reversed(kept.entries) if entry.effect is None or entry.effect.changes]
    wanted = [entry for entry in changes if query.before is None or entry.n < query.before]
    page = wanted[: query.limit]
    following = page[-1].n if len(wanted) > len(page) else None
    return HistoryReply(oldest=kept.base_n, versions=[*map(_history_entry, page)], next=following)


@named.get("/diff")
@own.get("/diff", responses=error_responses(404))
async def differences(playbook: Place, query: Annotated[DiffQuery, Query()]) -> DiffReply:
    """Return what came, went and changed between two versions."""
    before = await playbook.content_at(await playbook.version_number(query.before))
    after = await playbook.content_at(await playbook.version_number(query.after))
    found = diff(before, after)
    return DiffReply.of(found, changed=found.updated)


@named.get("/archived")
@own.get("/archived")
async def archive(
    playbook: Place, limit: Annotated[int, Query(ge=1, le=1_000, description="At most so many.")] = 100
) -> ArchiveReply:
    """Return the bullets that have left the playbook and are not back: since when, and why."""
    bullets = [
        ArchivedReply(**gone.bullet.model_dump(), left=LeftReply.of(gone, version=gone.n))
        for gone in (await playbook.archived_bullets())[:limit]
    ]
    return ArchiveReply(bullets=bullets)


@named.post("/rollback", name="rollback")
async def rollback(playbook_id: PlaybookId, body: RollbackBody, edit: OwnEdit) -> WrittenReply:
    """Go back to a version. That is a new major version, and can be undone too."""
    return WrittenReply.about(playbook_id, edit, await go_back(edit, body.version))


@own.post("/rollback", name="rollback")
async def rollback_own(body: RollbackBody, edit: OwnEdit) -> ChangeReply:
    """Go back to an earlier version, votes and all. That is a new version, and can be undone too."""
    return edit.reply(await go_back(edit, body.version))


async def go_back(edit: Edit, version: int | str) -> Commit:
    async def back(base: Snapshot) -> Commit:
        n = await edit.playbook.version_number(version)
        if n == base.version.n:
            raise RequestRefused(409, "refused", f"the playbook is at version {version} already")
        return await edit.playbook.restore(n, edit.change(f"rolled back to {version} over HTTP", base))

    return await edit.once(back)


def _history_entry(entry: HistoryEntry) -> HistoryEntryReply:
    changes = () if entry.effect is None else entry.effect.changes
    return HistoryEntryReply.of(
        entry,
        version=entry.n,
        label=str(entry.label),
        **entry.report.model_dump(exclude={"refs", "rejected"}),
        texts={each.bullet.id: each.bullet.content for each in changes if isinstance(each, _OF_A_BULLET)},
    )


class SearchQuery(RequestBody):
    """What is searched for, and whether each bullet comes with the reason why it is shown or not."""

    words: Annotated[
        Text,
        Field(min_length=1, max_length=4_000, description="Words; with `explain` the question of a turn."),
    ]
    explain: Annotated[
        Literal["true", "false"],
        Field(description="true: every bullet, and why a turn with this question would be shown it or not."),
    ] = "false"
    id: Annotated[Text, Field(min_length=1, max_length=128, description="This bullet only.")] | Absent = None
    type: Annotated[
        tuple[MemoryType, ...], Field(max_length=3, description="Only bullets of one of these memory types.")
    ] = ()
    limit: Annotated[int, Field(ge=1, le=1_000, description="At most so many.")] = 100


class FoundReply(Body):
    """A bullet. `shown`, `why` and `reason` (the same in words) are null without `explain`."""

    id: str
    content: str
    shown: bool | None = None
    why: WhyReply | None = None
    reason: str | None = None


class SearchReply(Body):
    """The bullets, those that are shown first; `left` counts those beyond the limit.

    `wordsOnly` says why embeddings had no part, where they could have had one.
    """

    version: int | None
    bullets: list[FoundReply]
    left: int
    words_only: str | None = None


@named.get("/search")
@own.get("/search", responses=error_responses(404))
async def search(
    playbook: Place,
    learner: Learner,
    services: ServicesDep,
    query: Annotated[SearchQuery, Query()],
    response: Response,
) -> SearchReply:
    """Return the bullets that hold all of the words, or with `explain` why a turn would be shown each one."""
    words_only: str | None = None
    if query.explain == "false":
        snapshot = await playbook.load()
        wanted = BulletFilter(memory_types=frozenset(query.type), words=query.words)
        bullets = [
            FoundReply(id=bullet.id, content=bullet.content)
            for bullet in snapshot.playbook.bullets()
            if wanted.passes(bullet) and query.id in (None, bullet.id)
        ]
    else:
        found = await explain_search(
            *(playbook, learner, query.words),
            now=services.clock.now(),
            meaning=services.resources.meaning,
            bullet_id=query.id,
            memory_types=query.type,
        )
        if query.id is not None and not found.reasons:
            raise no_such_bullet()
        snapshot, words_only = found.snapshot, found.words_only
        bullets = [FoundReply.of(each, why=_WHY.validate_python(each.why)) for each in found.bullets()]
    tag_version(response, snapshot.version)
    return SearchReply(
        version=None if snapshot.absent else snapshot.version.n,
        bullets=bullets[: query.limit],
        left=max(0, len(bullets) - query.limit),
        words_only=words_only,
    )


listed = APIRouter(prefix="/api/playbooks", tags=["playbooks"], route_class=KeyedRoute)
templates = APIRouter(prefix="/api/templates", tags=["playbooks"], route_class=DescribedRoute)

RightName = Literal["read", "propose", "write", "own"]


class CreateBody(ContentBody):
    """A new playbook. No slash and no control characters in the name; case makes no difference.

    `template` fills it, `bullets` and `strategies` come after; its description is taken where none is given.
    """

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS, pattern=f"^{PLAYBOOK_NAME}$")]
    description: Annotated[Text, Field(max_length=MAX_DESCRIPTION_CHARS)] = ""
    scope: Scope = "agent"
    visibility: Visibility = "private"
    lessons: Annotated[Lessons, Field(description="What becomes of lessons of runs.")] = "written"
    template: TemplateName | None = None


class PageQuery(RequestBody):
    """Which page of the list."""

    limit: Annotated[int, Field(ge=1, le=200)] = 100
    after: Annotated[Text, Field(max_length=1_024, description="`next` of the page before.")] = ""
    which: Annotated[
        Literal["own", "shared"], Field(description="shared: those of others that the learner may read.")
    ] = "own"


class ListedReply(EntryReply):
    """A playbook in a list, and what the learner may do with it: read, propose, write or own."""

    right: RightName


class PlaybooksReply(Body):
    """A page of playbooks; `next` is what `after` of the next page is, null after the last."""

    playbooks: list[ListedReply]
    next: str | None


@listed.get("")
async def list_all(
    sender: Sender, services: ServicesDep, page_query: Annotated[PageQuery, Query()]
) -> PlaybooksReply:
    """Return the learner's playbooks: the own memory, once there is one, then the named ones by name.

    With `which=shared` those of others that the learner may read, in the order of their ids.
    """
    store, limit, after = services.store, page_query.limit, page_query.after
    if page_query.which == "shared":
        sender.check("share")
        shared = await playbooks.shared_with(store, sender.user, limit=limit + 1, after=after)
        found = [(each.entry, each.right.name.lower(), each.entry.playbook_id) for each in shared]
    else:
        owned = await playbooks.list_playbooks(store, sender.learner, limit=limit + 1, after=after)
        found = [(entry, "own", entry.name_key) for entry in owned]
    return PlaybooksReply(
        playbooks=[ListedReply.about(entry, right=right) for entry, right, _ in found[:limit]],
        next=found[limit - 1][2] if len(found) > limit else None,
    )


@listed.post("", status_code=201, dependencies=[does("change")])
async def create(
    body: CreateBody, sender: Sender, services: ServicesDep, op_id: OpId, response: Response
) -> EntryReply:
    """Create a playbook at version 1.0. A name that the learner has is 409."""
    if body.visibility == "shared":
        sender.check("share")
    learner, given = sender.learner, None if body.template is None else template(body.template)
    new_id = str(uuid4()) if op_id is None else operation_id("http", learner, op_id)
    now = services.clock.now()
    await playbooks.create(
        *(services.store, body.name, [*(given.bullets if given else ()), *body.adds(now)]),
        owner=learner,
        description=body.description or (given.description if given else ""),
        scope=body.scope,
        visibility=body.visibility,
        lessons=body.lessons,
        user=sender.user,
        change=Change(author=sender.author, reason="created over HTTP", now=now, op_id=op_id),
        new_id=lambda: new_id,
    )
    made = await playbooks.get_playbook(services.store, body.name, learner)
    tag_version(response, made.entry.version)
    return EntryReply.about(made.entry)


class TemplateBulletReply(Body):
    """One bullet of a template."""

    section: str
    polarity: Polarity
    content: str


class TemplateReply(Body):
    """A template with all that it says. `POST /api/playbooks` takes its name."""

    name: TemplateName
    description: str
    bullets: list[TemplateBulletReply]


class TemplatesReply(Body):
    """All templates."""

    templates: list[TemplateReply]


@templates.get("", name="list_all")
async def list_templates(_: Learner) -> TemplatesReply:
    """Return the templates, which are the same for everybody."""
    return TemplatesReply(templates=[TemplateReply.of(template(name)) for name in TEMPLATES])


_BELOW = 0.5
_WITH_AN_OWN_STATUS = (PlaybookNotFound, PlaybookChanged, PlaybookExists)
RunId = Annotated[Text, Path(min_length=1, max_length=128)]


class ConsolidateBody(RequestBody):
    """Which bullets may become one; all of them where nothing is said."""

    dry_run: Annotated[bool, Field(strict=True, description="Only say what would be merged.")] = False
    kind: BulletKind | None = None
    topic: Label | None = None
    section: Label | None = None
    type: Annotated[
        tuple[MemoryType, ...], Field(max_length=3, description="One of these memory types.")
    ] = ()
    tag: Annotated[tuple[Label, ...], Field(max_length=10, description="All of these tags.")] = ()
    keep_above: Annotated[
        Share, Field(strict=True, description="Bullets of at least this importance stay as they are.")
    ] = 0.8
    preserve: Annotated[bool, Field(strict=True, description="False: no importance keeps a bullet.")] = True

    def work(self, name: str, expected_etag: str | None) -> ConsolidationWork:
        return ConsolidationWork(
            name=name,
            **self.model_dump(include={"kind", "topic", "section"}),
            below=_BELOW if self.preserve else 1.0,
            keep_above=self.keep_above if self.preserve else None,
            memory_types=self.type,
            tags=self.tag,
            expected_etag=expected_etag,
        )


class UndoBody(RequestBody):
    """Which run to take back; the newest one where none is named."""

    run_id: Label | None = None


class MergedReply(Body):
    """Bullets that became one. In a dry run there is no `newId`."""

    ids: list[str]
    text: str
    new_id: str | None


class RefusedReply(Body):
    """Bullets that stay although they are alike, and why."""

    ids: list[str]
    why: str


class ConsolidationReply(Body):
    """The report: merged + preserved + untouched = total. No rule can judge the groups in `forModel`."""

    run_id: str | None
    version: int
    total: int
    merged: int
    preserved: int
    untouched: int
    space_saved_bytes: int
    groups: list[MergedReply]
    refused: list[RefusedReply]
    for_model: list[list[str]]
    left: int


class ConsolidationRunReply(Body):
    """A run that a worker does. `groups` is what it merged so far, `error` why its last attempt failed.

    A run that failed too often is `failed`, and waits for an operator.
    """

    run_id: str
    status: Literal["pending", "running", "failed", "done"]
    groups: list[MergedReply]
    error: str | None


class UndoneReply(Body):
    """What is back, and what is gone."""

    run_id: str
    version: int
    restored: list[str]
    removed: list[str]


@named.post(
    "/consolidate",
    response_model=ConsolidationReply,
    responses={
        202: {"model": ConsolidationRunReply, "description": "A worker does it; ask for the run under its id"}
    },
    dependencies=[does("consolidate")],
)
async def consolidate_playbook(
    playbook_id: PlaybookId, body: ConsolidateBody, edit: OwnEdit
) -> ConsolidationReply | JSONResponse:
    """Merge bullets that say the same, or with `dryRun` say which. It can be taken back.

    Where the server learns in the background, a worker does it, and the reply is the run to ask for.
    """
    work = body.work(edit.playbook.ref.name, await edit.expected_etag())
    made = await run_or_leave(edit.services, edit.sender.learner, work, dry_run=body.dry_run)
    if isinstance(made, ConsolidationReply):
        return made
    where = f"/api/playbooks/{playbook_id}/consolidations/{made.run_id}"
    return JSONResponse(made.model_dump(by_alias=True), status_code=202, headers={"Location": where})


async def run_or_leave(
    services: Services, learner: str, work: ConsolidationWork, *, dry_run: bool
) -> ConsolidationReply | ConsolidationRunReply:
    """Consolidate a playbook of the learner's, or leave it to a worker where the server learns later."""
    store, now = services.store, services.clock.now()
    if not dry_run and services.settings.consolidates_later(learning_mode(services.settings)):
        run_id = await enqueue(store, learner, work, now=now)
        return ConsolidationRunReply(run_id=run_id, status="pending", groups=[], error=None)
    done = await consolidate(
        store,
        work.name,
        learner,
        work.options(store.policy.consolidate_batch),
        dry_run=dry_run,
        now=now,
        expected_etag=work.expected_etag,
    )
    return ConsolidationReply.of(
        done, run_id=None if done.dry_run else done.run_id, preserved=len(done.preserved)
    )


@named.get("/consolidations/{run_id}")
async def consolidation_run(
    playbook: Place, run_id: RunId, learner: Learner, services: ServicesDep
) -> ConsolidationRunReply:
    """What became of a run. One that merged nothing is known until the next run ends."""
    playbook.check_owner()
    found = await run_state(services.store, learner, run_id, playbook.ref.name, now=services.clock.now())
    if found is None:
        raise RequestRefused(404, "not_found", "there is no such consolidation run")
    return ConsolidationRunReply.of(found)


@named.post("/consolidate/undo", dependencies=[does("consolidate")])
async def undo_consolidation(body: UndoBody, edit: OwnEdit) -> UndoneReply:
    """Take back a run. Refused, with the ids, where one of its bullets has changed since."""
    etag = await edit.expected_etag()
    try:
        done = await undo(
            *(edit.services.store, edit.playbook.ref.name, edit.sender.learner),
            run_id=body.run_id,
            now=edit.services.clock.now(),
            expected_etag=etag,
        )
    except _WITH_AN_OWN_STATUS:
        raise
    except ChangeRefused as error:
        raise RequestRefused(409, "refused", str(error)) from error
    return UndoneReply.of(done)


class QuestionsReply(Body):
    """How many pairs of a question and a bullet there are, and in how many the bullet is found."""

    pairs: int
    before: int
    after: int


class DreamItemReply(Body):
    """A change that many runs suggest. `was` are the texts of the bullets that it merges or archives, by id.

    `losses` is what its text lacks of theirs, `questions` what those of other turns find.
    """

    item_id: str
    kind: ItemKind
    text: str
    why: str
    was: dict[str, str]
    runs: list[str]
    reflections: list[str]
    losses: list[str]
    figures: Annotated[QuestionsReply, Field(alias="questions")]
    state: ItemState


class LeftOutReply(Body):
    """A change that is not proposed, or that could not be accepted, and why."""

    text: str
    why: str


class DreamReply(Body):
    """A difference that waits for a decision; without an id there is none. `runs` is how many were read.

    With a `proposalId` the playbook is somebody else's, who decides about that proposal.
    """

    dream_id: str
    runs: int
    items: list[DreamItemReply]
    left_out: list[LeftOutReply]
    proposal_id: str | None


class ItemsBody(RequestBody):
    """Which items to decide; all that are open where nothing is said."""

    items: Annotated[list[Label], Field(min_length=1, max_length=200)] | None = None


class AcceptItemsBody(ItemsBody):
    """Which items to accept, and other texts for some of them, by their ids."""

    texts: Annotated[dict[Label, Text], Field(max_length=200)] = Field(default_factory=dict)


class DecidedDreamReply(Body):
    """The items that are decided, those that could not be and why, and those that are open."""

    version: int
    decided: list[str]
    left_out: list[LeftOutReply]
    open: list[str]

    @classmethod
    def about(cls, done: DecidedDream) -> Self:
        decided, waiting = ([item.item_id for item in items] for items in (done.decided, done.dream.open))
        return cls.of(done, decided=decided, open=waiting)


@named.get("/dream")
async def shown_dream(playbook: Place, learner: Learner, services: ServicesDep) -> DreamReply:
    """What the newest dream suggests, and what was decided about it."""
    playbook.check_owner()
    return DreamReply.of(await last_dream(services.store, learner, playbook.ref.name))


@named.post("/dream", dependencies=[does("consolidate")])
async def make_dream(playbook: Place, sender: Sender, services: ServicesDep) -> DreamReply:
    """Find what many runs suggest, and store it as a proposal; nothing is changed.

    To a playbook of somebody else the lessons are proposed, and its owner decides.
    """
    ref = playbook.ref
    found = await dream(
        services.store,
        sender.learner,
        ref.name if playbook.asked is None else f"{ref.owner}/{ref.name}",
        user=None if playbook.asked is None else sender.user,
        embeddings=services.resources.embeddings,
        clock=services.clock.now,
    )
    return DreamReply.of(found)


@named.post("/dream/accept")
async def accept_items(body: AcceptItemsBody, edit: OwnEdit) -> DecidedDreamReply:
    """Take items of a dream into the playbook. What has changed since is left out; it can be taken back."""
    done = await accept_dream(
        *(edit.services.store, edit.sender.learner, edit.playbook.ref.name, body.items, body.texts),
        author=edit.sender.author,
        clock=edit.services.clock.now,
        expected_etag=await edit.expected_etag(),
    )
    return DecidedDreamReply.about(done)


@named.post("/dream/refuse")
async def refuse_items(body: ItemsBody, edit: OwnEdit) -> DecidedDreamReply:
    """Refuse items of a dream: none proposes them again, and the bullets of a merge count as distinct."""
    whose = (edit.services.store, edit.sender.learner, edit.playbook.ref.name)
    return DecidedDreamReply.about(await refuse_dream(*whose, body.items, clock=edit.services.clock.now))
