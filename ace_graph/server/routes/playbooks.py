"""The learner's playbooks: the own memory under the id `default`, and the named ones.

A reply with content has an ETag; a change with `If-Match` is made to that content only, else it is 412. An
unknown playbook and one of somebody else are the same 404.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from ace_graph import playbooks
from ace_graph.errors import PlaybookChanged, PlaybookNotFound
from ace_graph.learning.curate_reflections import MAX_REFLECTIONS, curate_target
from ace_graph.memory.bullet import MAX_CONTENT_CHARS, Bullet, MemoryType, Polarity
from ace_graph.memory.catalogue.entry import MAX_DESCRIPTION_CHARS, PlaybookEntry, Scope, Visibility
from ace_graph.memory.catalogue.name import DEFAULT, MAX_NAME_CHARS
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.snapshot import Version
from ace_graph.memory.stores.base import Store
from ace_graph.playbooks import Change
from ace_graph.playbooks.manage import Written, read, write
from ace_graph.playbooks.target import Target, not_found, target_by_id, target_of
from ace_graph.playbooks.templates import TemplateName
from ace_graph.playbooks.versions import restore_target
from ace_graph.server.dependencies import Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.routes.commit_change import AUTHOR
from ace_graph.server.routes.playbook_curation import RollbackBody
from ace_graph.server.schemas import PLAYBOOK_NAME, Text

__all__ = ["PlaybookId", "playbook_of_learner", "routes"]

routes = APIRouter(prefix="/api/playbooks", tags=["playbooks"])

PlaybookId = Annotated[str, Path(min_length=1, max_length=128, description="An id, or `default`.")]
IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=1_000, description="The ETag that the change is for.")
]
_MOST_BULLETS = 1_000


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BulletBody(_Body):
    """A bullet to add. One that is there already, with the same fields, stays as it is, votes and all."""

    content: Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS)]
    id: Annotated[Text, Field(min_length=1, max_length=128, examples=["fil-00042"])] | None = None
    section: Annotated[Text, Field(min_length=1, max_length=128)] | None = None
    memory_type: MemoryType | None = None
    polarity: Polarity | None = None
    topic: Annotated[Text, Field(min_length=1, max_length=128)] | None = None

    def add(self) -> Add:
        """Return the operation that adds it."""
        return Add(**self.model_dump(exclude_none=True))


Bullets = Annotated[list[BulletBody], Field(max_length=_MOST_BULLETS)]


class CreateBody(_Body):
    """A new playbook. No slash and no control characters in the name; case makes no difference.

    `template` fills it, with `bullets` after it; its description is taken where none is given.
    """

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS, pattern=f"^{PLAYBOOK_NAME}$")]
    description: Annotated[Text, Field(max_length=MAX_DESCRIPTION_CHARS)] = ""
    scope: Scope = "agent"
    visibility: Visibility = "private"
    bullets: Bullets = []
    template: TemplateName | None = None


class UpdateBody(_Body):
    """The new content, or with `merge` what is added to it."""

    bullets: Bullets
    merge: Annotated[bool, Field(strict=True, description="Add to what is there, replace nothing.")] = False
    increment_version: Annotated[
        bool, Field(strict=True, description="False: an amendment, the version keeps its label.")
    ] = True
    reason: Annotated[Text, Field(max_length=500)] = ""


class PageQuery(_Body):
    """Which page of the list."""

    limit: Annotated[int, Field(ge=1, le=200)] = 100
    after: Annotated[Text, Field(max_length=1_024, description="`next` of the page before.")] = ""


class EntryReply(_Body):
    """A playbook without its content. `label` is the version for people."""

    playbook_id: str
    name: str
    description: str
    scope: Scope
    visibility: Visibility
    version: int
    label: str
    created_at: datetime
    updated_at: datetime


class PlaybooksReply(_Body):
    """A page of playbooks; `next` is what `after` of the next page is, null after the last."""

    playbooks: list[EntryReply]
    next: str | None


class ContentReply(EntryReply):
    """A playbook with its bullets."""

    bullets: tuple[Bullet, ...]


class WrittenReply(_Body):
    """The version after a change, and what was refused of the content."""

    playbook_id: str
    version: int
    label: str
    refused: list[Rejection]


class VersionReply(_Body):
    """One version; without `readable` its content was dropped."""

    version: int
    label: str
    at: datetime
    author: str
    reason: str
    readable: bool


class VersionsReply(_Body):
    """The versions, the newest first."""

    versions: list[VersionReply]


class CurateBody(_Body):
    """The ids of reflections, as trajectories have them."""

    reflections: Annotated[
        list[Annotated[Text, Field(min_length=1, max_length=128)]],
        Field(min_length=1, max_length=MAX_REFLECTIONS),
    ]


class BulletTextReply(_Body):
    """A bullet's id and its text."""

    id: str
    text: str


class CuratedReply(_Body):
    """The difference that curating made. `by_rules`: the model curator failed, so the rules have decided."""

    playbook_id: str
    status: Literal["curated", "unchanged", "repeated"]
    version: int
    label: str
    added: list[BulletTextReply]
    updated: list[BulletTextReply]
    removed: list[BulletTextReply]
    refused: list[Rejection]
    by_rules: bool


@routes.get("", responses=error_responses())
async def list_all(
    learner: Learner,
    services: ServicesDep,
    page_query: Annotated[PageQuery, Query()],
) -> PlaybooksReply:
    """Return the learner's playbooks: the own memory, once there is one, then the named ones by name."""
    limit = page_query.limit
    found = await playbooks.list_playbooks(services.store, learner, limit=limit + 1, after=page_query.after)
    page = found[:limit]
    following = page[-1].name_key if len(found) > limit else None
    return PlaybooksReply(playbooks=[_entry(entry) for entry in page], next=following)


@routes.post("", status_code=201, responses=error_responses(408, 409, 413))
async def create(body: CreateBody, learner: Learner, services: ServicesDep, response: Response) -> EntryReply:
    """Create a playbook at version 1.0. A name that the learner has is 409."""
    given = None if body.template is None else playbooks.template(body.template)
    await playbooks.create(
        services.store,
        body.name,
        [*(given.bullets if given else ()), *_adds(body.bullets)],
        owner=learner,
        description=body.description or (given.description if given else ""),
        scope=body.scope,
        visibility=body.visibility,
        change=Change(author=AUTHOR, reason="created over HTTP", now=services.clock.now()),
    )
    made = await playbooks.get_playbook(services.store, body.name, learner)
    _tag(response, made.entry.version)
    return _entry(made.entry)


@routes.get("/{playbook_id}", responses=error_responses(404))
async def get(
    playbook_id: PlaybookId, learner: Learner, services: ServicesDep, response: Response
) -> ContentReply:
    """Return a playbook with its bullets, those in quarantine, too."""
    found = await read(services.store, await playbook_of_learner(services.store, playbook_id, learner))
    _tag(response, found.entry.version)
    return ContentReply(**_entry(found.entry).model_dump(), bullets=found.playbook.bullets())


@routes.put("/{playbook_id}", responses=error_responses(404, 408, 409, 412, 413))
async def update(
    playbook_id: PlaybookId,
    body: UpdateBody,
    learner: Learner,
    services: ServicesDep,
    response: Response,
    if_match: IfMatch = None,
) -> WrittenReply:
    """Replace the content in one version, or with `merge` add to it. The version before can be restored."""
    target = await playbook_of_learner(services.store, playbook_id, learner)
    change = Change(
        author=AUTHOR,
        reason=body.reason or ("added over HTTP" if body.merge else "replaced over HTTP"),
        now=services.clock.now(),
        keeps_label=not body.increment_version,
        expected_etag=await _expected(target, if_match),
    )
    done = await write(services.store, target, _adds(body.bullets), merge=body.merge, change=change)
    return _written(playbook_id, done, response)


@routes.delete("/{playbook_id}", status_code=204, responses=error_responses(404, 409, 412))
async def delete(
    playbook_id: PlaybookId, learner: Learner, services: ServicesDep, if_match: IfMatch = None
) -> None:
    """Delete a named playbook for good. The own memory is deleted with the learner only."""
    target = await playbook_of_learner(services.store, playbook_id, learner)
    await _expected(target, if_match)
    key = DEFAULT if target.entry is None else target.key
    if not await playbooks.delete(services.store, key):
        raise not_found(playbook_id)


@routes.get("/{playbook_id}/versions", responses=error_responses(404))
async def versions(playbook_id: PlaybookId, learner: Learner, services: ServicesDep) -> VersionsReply:
    """Return all versions, the newest first: number, label, author, time and reason."""
    target = await playbook_of_learner(services.store, playbook_id, learner)
    found = await playbooks.list_versions(services.store, target.ref.name, learner)
    return VersionsReply(
        versions=[
            VersionReply(
                version=each.n,
                label=str(each.label),
                at=each.at,
                author=each.author,
                reason=each.reason,
                readable=each.readable,
            )
            for each in found
        ]
    )


@routes.post("/{playbook_id}/rollback", responses=error_responses(404, 408, 409, 412, 413))
async def rollback(
    playbook_id: PlaybookId,
    body: RollbackBody,
    learner: Learner,
    services: ServicesDep,
    response: Response,
    if_match: IfMatch = None,
) -> WrittenReply:
    """Go back to a version. That is a new major version, and can be undone too."""
    target = await playbook_of_learner(services.store, playbook_id, learner)
    asked = Change(
        author=AUTHOR,
        reason=f"rolled back to {body.version} over HTTP",
        now=services.clock.now(),
        expected_etag=await _expected(target, if_match),
    )
    done = await restore_target(target, body.version, asked.delta())
    return _written(playbook_id, Written(done), response)


@routes.post("/{playbook_id}/curate", responses=error_responses(404, 408, 409, 413))
async def curate(
    playbook_id: PlaybookId, body: CurateBody, learner: Learner, services: ServicesDep, response: Response
) -> CuratedReply:
    """Take what reflections found into a playbook, in one version. The same ones again change nothing."""
    target = await playbook_of_learner(services.store, playbook_id, learner)
    done = await curate_target(
        services.store,
        target,
        learner,
        body.reflections,
        resources=services.resources,
        author=AUTHOR,
        clock=services.clock.now,
    )
    _tag(response, done.version)
    return CuratedReply(
        playbook_id=playbook_id,
        status=done.status,
        version=done.version.n,
        label=str(done.version.label),
        added=[BulletTextReply(**each._asdict()) for each in done.added],
        updated=[BulletTextReply(**each._asdict()) for each in done.updated],
        removed=[BulletTextReply(**each._asdict()) for each in done.removed],
        refused=list(done.refused),
        by_rules=done.problem is not None,
    )


async def playbook_of_learner(store: Store, playbook_id: str, learner: str) -> Target:
    """Return where a playbook of this learner is. Raises PlaybookNotFound."""
    if playbook_id == DEFAULT:
        return await target_of(store, DEFAULT, learner)
    target = await target_by_id(store, playbook_id)
    if target.ref.owner != learner:
        raise not_found(playbook_id)
    return target


async def _expected(target: Target, if_match: str | None) -> str | None:
    """Return the etag that a change is for, None for any. Raises PlaybookChanged, PlaybookNotFound."""
    if if_match is None:
        return None
    present = (await target.store.load(target.key)).version
    if present.epoch is None:
        raise PlaybookNotFound("there is nothing yet")
    asked = {each.strip() for each in if_match.split(",")}
    if "*" not in asked and f'"{present.etag}"' not in asked:
        raise PlaybookChanged("the playbook has another version by now")
    return present.etag


def _adds(bullets: Sequence[BulletBody]) -> list[Add]:
    return [bullet.add() for bullet in bullets]


def _entry(entry: PlaybookEntry) -> EntryReply:
    return EntryReply(
        playbook_id=entry.playbook_id,
        name=entry.name,
        description=entry.description,
        scope=entry.scope,
        visibility=entry.visibility,
        version=entry.version.n,
        label=str(entry.version.label),
        created_at=entry.created_at,
        updated_at=entry.updated_at,
    )


def _written(playbook_id: str, done: Written, response: Response) -> WrittenReply:
    version = done.commit.version
    _tag(response, version)
    return WrittenReply(
        playbook_id=playbook_id, version=version.n, label=str(version.label), refused=list(done.refused)
    )


def _tag(response: Response, version: Version) -> None:
    response.headers["ETag"] = f'"{version.etag}"'
