"""Curation of a playbook: restore, merge, supersede, vote, quarantine, release, roll back.

Each route is there for the own memory under /api/playbook, and for every playbook under
/api/playbooks/{playbook_id}. A merge of bullets that don't say the same is refused; only the command line can
force one.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, HTTPException
from pydantic import BaseModel, ConfigDict, Field

from ace_graph.errors import RequestRefused
from ace_graph.learning.curate_reflections import MAX_REFLECTIONS, curate_target
from ace_graph.memory.bullet import MAX_CONTENT_CHARS, Bounded, BulletTag
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.operations import Distinguish, Merge, Quarantine, Release, Supersede, Tag
from ace_graph.memory.delta.rollback import archived
from ace_graph.playbooks.versions import version_number
from ace_graph.server.errors import error_responses
from ace_graph.server.keyed import KeyedRoute
from ace_graph.server.middleware.access_control import does
from ace_graph.server.routes.change_reply import ChangeReply
from ace_graph.server.routes.edit import (
    Edit,
    OwnEdit,
    PlaybookEdit,
    PlaybookId,
    checked_place,
    declare_playbook_id,
    refused,
    tag_version,
)
from ace_graph.server.routes.playbooks.bullets import BulletId
from ace_graph.server.schemas import Text, VersionName

__all__ = ["RollbackBody", "go_back", "named", "own"]

own = APIRouter(
    prefix="/api/playbook",
    tags=["playbook"],
    route_class=KeyedRoute,
    dependencies=[does("change")],
)
named = APIRouter(
    prefix="/api/playbooks/{playbook_id}",
    tags=["playbooks"],
    route_class=KeyedRoute,
    dependencies=[does("change"), Depends(declare_playbook_id), Depends(checked_place)],
)

Id = Annotated[Text, Field(min_length=1, max_length=128, examples=["fil-00042"])]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MergeBody(_Body):
    """Bullets that say the same."""

    ids: Annotated[list[Id], Field(min_length=2, max_length=20, description="Two bullets or more.")]
    content: (
        Annotated[
            Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS, description="The new text."), Bounded
        ]
        | None
    ) = None


class DistinctBody(_Body):
    """Bullets that say different things."""

    ids: Annotated[list[Id], Field(min_length=2, max_length=20, description="Two bullets or more.")]


class SupersedeBody(_Body):
    """What takes the bullet's place."""

    by: Annotated[Id, Field(description="The bullet that corrects it.")]


class TagBody(_Body):
    """One vote."""

    tag: Annotated[BulletTag, Field(description="The counter that goes up by one.")]


class QuarantineBody(_Body):
    """Why no prompt may hold it."""

    why: Annotated[Text, Field(min_length=1, max_length=256)]


class RollbackBody(_Body):
    """Where to go back to."""

    version: Annotated[VersionName, Field(description="A version that is kept, by its number or its label.")]


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


@named.post("/merge", responses=error_responses(404, 408, 409, 412, 413))
@own.post("/merge", responses=error_responses(404, 408, 409, 412, 413))
async def merge(body: MergeBody, edit: PlaybookEdit) -> ChangeReply:
    """Make one bullet of several that say the same. Others are refused."""
    wanted = Merge(bullet_ids=tuple(body.ids), content=body.content)
    return await edit.commit(await edit.load(), [wanted], "merged over HTTP")


@named.post("/distinct", responses=error_responses(404, 408, 409, 412, 413))
async def distinct(body: DistinctBody, edit: OwnEdit) -> ChangeReply:
    """Say that bullets mean different things, so that no consolidation merges them or proposes it."""
    wanted = Distinguish(bullet_ids=tuple(body.ids))
    return await edit.commit(await edit.load(), [wanted], "called distinct over HTTP")


@own.post("/rollback", responses=error_responses(404, 408, 409, 412, 413))
async def rollback(body: RollbackBody, edit: OwnEdit) -> ChangeReply:
    """Go back to an earlier version, votes and all. That is a new version, and can be undone too."""
    done = await go_back(edit, body.version)
    return edit.reply(done.version, done.report)


@own.api_route("/merge", methods=["PATCH", "DELETE"], include_in_schema=False)
@own.api_route("/rollback", methods=["PATCH", "DELETE"], include_in_schema=False)
@own.api_route("/history", methods=["PATCH", "DELETE"], include_in_schema=False)
@own.api_route("/diff", methods=["PATCH", "DELETE"], include_in_schema=False)
@own.api_route("/archived", methods=["PATCH", "DELETE"], include_in_schema=False)
@own.api_route("/versions", methods=["PATCH", "DELETE"], include_in_schema=False)
async def no_bullet() -> None:
    """Keep these names apart from ids of bullets."""
    raise HTTPException(405)


@named.post("/bullets/{bullet_id}/restore", responses=error_responses(404, 408, 409, 412))
@own.post("/{bullet_id}/restore", responses=error_responses(404, 408, 409, 412))
async def restore(bullet_id: BulletId, edit: OwnEdit) -> ChangeReply:
    """Bring back a bullet that was removed, merged away, replaced or archived, as it was."""
    base = await edit.load()
    done = await edit.before(base)
    if done is None:
        history = await edit.target.store.history(edit.target.key)
        here = base.playbook.get_bullet(bullet_id) is not None
        if not here and all(left.bullet.id != bullet_id for left in archived(history, base.playbook)):
            raise RequestRefused(404, "not_found", "your history holds no such bullet")
        change = edit.change("restored over HTTP", base)
        done = await edit.target.restore_bullet(base, bullet_id, change, refused)
    return edit.reply(done.version, done.report)


@named.post("/bullets/{bullet_id}/supersede", responses=error_responses(404, 408, 409, 412, 413))
@own.post("/{bullet_id}/supersede", responses=error_responses(404, 408, 409, 412, 413))
async def supersede(bullet_id: BulletId, body: SupersedeBody, edit: PlaybookEdit) -> ChangeReply:
    """Archive a bullet because another one corrects it."""
    wanted = Supersede(bullet_id=bullet_id, by=body.by)
    return await edit.commit(await edit.load(), [wanted], "superseded over HTTP")


@named.post("/bullets/{bullet_id}/tag", responses=error_responses(404, 408, 409, 412, 413))
@own.post("/{bullet_id}/tag", responses=error_responses(404, 408, 409, 412, 413))
async def tag(bullet_id: BulletId, body: TagBody, edit: PlaybookEdit) -> ChangeReply:
    """Vote on a bullet, apart from any turn. What does more harm than good is not shown."""
    wanted = Tag(bullet_id=bullet_id, tag=body.tag)
    return await edit.commit(await edit.load(), [wanted], "tagged over HTTP")


@named.post("/bullets/{bullet_id}/quarantine", responses=error_responses(404, 408, 409, 412, 413))
@own.post("/{bullet_id}/quarantine", responses=error_responses(404, 408, 409, 412, 413))
async def quarantine(bullet_id: BulletId, body: QuarantineBody, edit: PlaybookEdit) -> ChangeReply:
    """Keep a bullet out of every prompt."""
    wanted = Quarantine(bullet_id=bullet_id, why=body.why)
    return await edit.commit(await edit.load(), [wanted], "quarantined over HTTP")


@named.post("/bullets/{bullet_id}/release", responses=error_responses(404, 408, 409, 412))
@own.post("/{bullet_id}/release", responses=error_responses(404, 408, 409, 412))
async def release(bullet_id: BulletId, edit: PlaybookEdit) -> ChangeReply:
    """Let a bullet out of quarantine, into prompts. Read it first: `?status=quarantined`."""
    wanted = Release(bullet_id=bullet_id)
    return await edit.commit(await edit.load(), [wanted], "released over HTTP")


@named.post("/curate", responses=error_responses(404, 408, 409, 412, 413))
async def curate(playbook_id: PlaybookId, body: CurateBody, edit: OwnEdit) -> CuratedReply:
    """Take what reflections found into a playbook, in one version. The same ones again change nothing."""
    etag = await edit.expected_etag()
    done = await curate_target(
        edit.services.store,
        edit.target,
        edit.learner,
        body.reflections,
        resources=edit.services.resources,
        author=edit.author,
        clock=edit.services.clock.now,
        expected_etag=etag,
    )
    tag_version(edit.response, done.version)
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


async def go_back(edit: Edit, version: int | str) -> Commit:
    """Roll the playbook back to a version."""
    base = await edit.load()
    done = await edit.before(base)
    if done is not None:
        return done
    n = version_number(await edit.target.store.versions(edit.target.key), version)
    if n == base.version.n:
        raise RequestRefused(409, "refused", f"the playbook is at version {version} already")
    change = edit.change(f"rolled back to {version} over HTTP", base)
    return await edit.target.restore(n, change)
