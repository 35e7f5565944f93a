"""Playbooks: the own memory under the id `default`, the learner's named ones, and those shared with them.

An unknown playbook and one that the learner may not read are the same 404; one that they may read, and not
use like this, is 403. For `If-Match` and keys see `edit`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal, Self, cast
from uuid import uuid4

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ace_graph import playbooks
from ace_graph.memory.bullet import MAX_CONTENT_CHARS, Bounded, Bullet, MemoryType, Polarity
from ace_graph.memory.catalogue.entry import MAX_DESCRIPTION_CHARS, PlaybookEntry, Scope, Visibility
from ace_graph.memory.catalogue.name import DEFAULT, MAX_NAME_CHARS
from ace_graph.memory.commit import operation_id
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.sharing.asked import not_found
from ace_graph.playbooks import Change
from ace_graph.playbooks.handle import Written
from ace_graph.playbooks.sharing import SharedEntry, shared_with
from ace_graph.playbooks.templates import TemplateName
from ace_graph.server.dependencies import Sender, ServicesDep, User
from ace_graph.server.errors import error_responses
from ace_graph.server.keyed import IdempotencyKey, KeyedRoute, key_of, request_id_of
from ace_graph.server.middleware.access_control import does
from ace_graph.server.routes.edit import (
    Absent,
    Edit,
    OwnEdit,
    OwnerEdit,
    Place,
    PlaybookEdit,
    PlaybookId,
    checked_place,
    declare_playbook_id,
    tag_version,
)
from ace_graph.server.routes.playbooks.curation import RollbackBody, go_back
from ace_graph.server.schemas import PLAYBOOK_NAME, Text

__all__ = ["named", "own", "routes"]

routes = APIRouter(prefix="/api/playbooks", tags=["playbooks"], route_class=KeyedRoute)
own = APIRouter(prefix="/api/playbook", tags=["playbook"], route_class=KeyedRoute)
named = APIRouter(
    prefix="/api/playbooks/{playbook_id}",
    tags=["playbooks"],
    route_class=KeyedRoute,
    dependencies=[does("change"), Depends(declare_playbook_id), Depends(checked_place)],
)

RightName = Literal["read", "propose", "write", "own"]
_MOST_BULLETS = 1_000


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BulletBody(_Body):
    """A bullet to add. One that is there already, with the same fields, stays as it is, votes and all."""

    content: Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS), Bounded]
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


class AboutPatch(_Body):
    """The fields to change, at least one."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"anyOf": [{"required": ["description"]}, {"required": ["scope"]}]},
    )

    description: Annotated[Text, Field(max_length=MAX_DESCRIPTION_CHARS)] | Absent = None
    scope: Scope | Absent = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        given = self.model_fields_set
        if not given or any(getattr(self, name) is None for name in given):
            raise ValueError("must say a description or a scope")
        return self


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
    which: Annotated[
        Literal["own", "shared"], Field(description="shared: those of others that the learner may read.")
    ] = "own"


class EntryReply(_Body):
    """A playbook without its content. `label` is the version for people; the host's have no owner."""

    playbook_id: str
    owner: str | None
    name: str
    description: str
    scope: Scope
    visibility: Visibility
    version: int
    label: str
    created_at: datetime
    updated_at: datetime


class ListedReply(EntryReply):
    """A playbook in a list, and what the learner may do with it: read, propose, write or own."""

    right: RightName


class PlaybooksReply(_Body):
    """A page of playbooks; `next` is what `after` of the next page is, null after the last."""

    playbooks: list[ListedReply]
    next: str | None


class ContentReply(EntryReply):
    """A playbook with its bullets."""

    bullets: tuple[Bullet, ...]


class WrittenReply(_Body):
    """The version after a change, what was refused of the content, and what was kept out of prompts."""

    playbook_id: str
    version: int
    label: str
    refused: list[Rejection]
    quarantined: list[str]


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


@routes.get("", responses=error_responses())
async def list_all(
    sender: Sender,
    user: User,
    services: ServicesDep,
    page_query: Annotated[PageQuery, Query()],
) -> PlaybooksReply:
    """Return the learner's playbooks: the own memory, once there is one, then the named ones by name.

    With `which=shared` those of others that the learner may read, in the order of their ids.
    """
    limit, after = page_query.limit, page_query.after
    if page_query.which == "shared":
        sender.check("share")
        found = await shared_with(services.store, user, limit=limit + 1, after=after)
        following = found[limit - 1].entry.playbook_id if len(found) > limit else None
        return PlaybooksReply(playbooks=[_shared(each) for each in found[:limit]], next=following)
    owned = await playbooks.list_playbooks(services.store, sender.learner, limit=limit + 1, after=after)
    following = owned[limit - 1].name_key if len(owned) > limit else None
    return PlaybooksReply(playbooks=[_listed(each, "own") for each in owned[:limit]], next=following)


@routes.post(
    "",
    status_code=201,
    responses=error_responses(408, 409, 413),
    dependencies=[does("change")],
)
async def create(
    body: CreateBody,
    sender: Sender,
    user: User,
    services: ServicesDep,
    request: Request,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> EntryReply:
    """Create a playbook at version 1.0. A name that the learner has is 409."""
    if body.visibility == "shared":
        sender.check("share")
    learner, given = sender.learner, None if body.template is None else playbooks.template(body.template)
    change = Change(author=sender.author, reason="created over HTTP", now=services.clock.now())
    new_id = str(uuid4())
    if (key := key_of(idempotency_key, learner, sender.author)) is not None:
        asked = await request_id_of(request)
        new_id = operation_id("http", learner, key, asked)
        change = replace(change, op_id=f"{key}-{asked}")
    await playbooks.create(
        services.store,
        body.name,
        [*(given.bullets if given else ()), *_adds(body.bullets)],
        owner=learner,
        description=body.description or (given.description if given else ""),
        scope=body.scope,
        visibility=body.visibility,
        user=user,
        change=change,
        new_id=lambda: new_id,
    )
    made = await playbooks.get_playbook(services.store, body.name, learner)
    tag_version(response, made.entry.version)
    return _entry(made.entry)


@named.get("", responses=error_responses(404))
async def get(target: Place, services: ServicesDep, response: Response) -> ContentReply:
    """Return a playbook with its bullets; one of the learner's own with those in quarantine, too."""
    found = await target.read()
    tag_version(response, found.entry.version)
    return ContentReply(**_entry(found.entry).model_dump(), bullets=found.playbook.bullets())


@named.put("", responses=error_responses(404, 408, 409, 412, 413))
async def update(playbook_id: PlaybookId, body: UpdateBody, edit: PlaybookEdit) -> WrittenReply:
    """Replace the content in one version, or with `merge` add to it. The version before can be restored.

    In somebody else's playbook what the learner does not see stays.
    """
    reason = body.reason or ("added over HTTP" if body.merge else "replaced over HTTP")
    change = edit.change(reason, await edit.load())
    done = await edit.target.write(
        _adds(body.bullets),
        merge=body.merge,
        change=replace(change, keeps_label=not body.increment_version),
    )
    return _written(playbook_id, done, edit)


@named.patch("", responses=error_responses(404, 408, 409, 412, 413), dependencies=[does("own")])
async def edit_about(body: AboutPatch, edit: OwnerEdit) -> EntryReply:
    """Give a named playbook another description or scope. That makes no version."""
    base = await edit.load()
    entry = await edit.target.edit_fields(body.description, body.scope)
    tag_version(edit.response, base.version)
    return _entry(replace(entry, version=base.version))


@named.delete("", status_code=204, responses=error_responses(404, 409, 412), dependencies=[does("own")])
async def delete(playbook_id: PlaybookId, edit: OwnerEdit) -> None:
    """Delete a named playbook for good. The own memory is deleted with the learner only."""
    etag = None if edit.if_match is None else (await edit.load()).version.etag
    key = DEFAULT if edit.target.entry is None else edit.target.key
    store = edit.services.store
    if not await playbooks.delete(store, key, user=edit.user, expected_etag=etag):
        raise not_found(playbook_id)


@named.get("/versions", responses=error_responses(404))
@own.get("/versions", responses=error_responses(404))
async def versions(target: Place) -> VersionsReply:
    """Return all versions, the newest first: number, label, author, time and reason."""
    found = await target.list_versions()
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


@named.post("/rollback", responses=error_responses(404, 408, 409, 412, 413))
async def rollback(playbook_id: PlaybookId, body: RollbackBody, edit: OwnEdit) -> WrittenReply:
    """Go back to a version. That is a new major version, and can be undone too."""
    return _written(playbook_id, Written(await go_back(edit, body.version)), edit)


def _adds(bullets: Sequence[BulletBody]) -> list[Add]:
    return [bullet.add() for bullet in bullets]


def _shared(shared: SharedEntry) -> ListedReply:
    return _listed(shared.entry, cast("RightName", shared.right.name.lower()))


def _listed(entry: PlaybookEntry, right: RightName) -> ListedReply:
    return ListedReply(**_entry(entry).model_dump(), right=right)


def _entry(entry: PlaybookEntry) -> EntryReply:
    return EntryReply(
        playbook_id=entry.playbook_id,
        owner=entry.owner,
        name=entry.name,
        description=entry.description,
        scope=entry.scope,
        visibility=entry.visibility,
        version=entry.version.n,
        label=str(entry.version.label),
        created_at=entry.created_at,
        updated_at=entry.updated_at,
    )


def _written(playbook_id: str, done: Written, edit: Edit) -> WrittenReply:
    version = done.commit.version
    tag_version(edit.response, version)
    return WrittenReply(
        playbook_id=playbook_id,
        version=version.n,
        label=str(version.label),
        refused=list(done.refused),
        quarantined=list(done.commit.report.quarantined),
    )
