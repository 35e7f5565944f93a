"""Curation of the learner's own playbook: restore, merge, supersede, vote, roll back.

A merge of bullets that don't say the same is refused; only the command line can force one.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ace_graph.errors import RequestRefused
from ace_graph.memory.bullet import MAX_CONTENT_CHARS, BulletTag
from ace_graph.memory.delta.operations import Merge, Supersede, Tag
from ace_graph.memory.delta.rollback import archived, restore_of, rollback_to
from ace_graph.server.dependencies import Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.routes.commit_change import ChangeReply, commit_change
from ace_graph.server.routes.playbook import BulletId
from ace_graph.server.schemas import Text

__all__ = ["RollbackBody", "routes"]

routes = APIRouter(prefix="/api/playbook", tags=["playbook"])

Id = Annotated[Text, Field(min_length=1, max_length=128, examples=["fil-00042"])]


def _number(value: object) -> object:
    """Refuse text and booleans, which pydantic would read as numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a whole number")  # noqa: TRY004  pydantic takes a ValueError for a wrong value
    return value


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MergeBody(_Body):
    """Bullets that say the same."""

    ids: Annotated[list[Id], Field(min_length=2, max_length=20, description="Two bullets or more.")]
    content: (
        Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS, description="The new text.")] | None
    ) = None


class SupersedeBody(_Body):
    """What takes the bullet's place."""

    by: Annotated[Id, Field(description="The bullet that corrects it.")]


class TagBody(_Body):
    """One vote."""

    tag: Annotated[BulletTag, Field(description="The counter that goes up by one.")]


class RollbackBody(_Body):
    """Where to go back to."""

    version: Annotated[
        int, Field(ge=0, description="A version that the history still holds."), BeforeValidator(_number)
    ]


@routes.post("/merge", responses=error_responses(404, 408, 409, 413))
async def merge(body: MergeBody, learner: Learner, services: ServicesDep) -> ChangeReply:
    """Make one bullet of several that say the same. Others are refused."""
    base = await services.store.load(learner)
    wanted = Merge(bullet_ids=tuple(body.ids), content=body.content)
    return await commit_change(services, learner, base, [wanted], "merged over HTTP")


@routes.post("/rollback", responses=error_responses(404, 408, 409, 413))
async def rollback(body: RollbackBody, learner: Learner, services: ServicesDep) -> ChangeReply:
    """Go back to an earlier version, votes and all. That is a new version, and can be undone too."""
    base = await services.store.load(learner)
    if body.version == base.version.n:
        raise RequestRefused(409, "refused", f"the playbook is at version {body.version} already")
    wanted = rollback_to(await services.store.history(learner), base, body.version)
    return await commit_change(services, learner, base, [wanted], f"rolled back to {body.version} over HTTP")


@routes.api_route("/merge", methods=["PATCH", "DELETE"], include_in_schema=False)
@routes.api_route("/rollback", methods=["PATCH", "DELETE"], include_in_schema=False)
async def no_bullet() -> None:
    """Keep these two names apart from ids: they can only be posted to."""
    raise HTTPException(405, headers={"Allow": "POST"})


@routes.post("/{bullet_id}/restore", responses=error_responses(404, 408, 409))
async def restore(bullet_id: BulletId, learner: Learner, services: ServicesDep) -> ChangeReply:
    """Bring back a bullet that was removed, merged away, replaced or archived, as it was."""
    base, history = await services.store.load(learner), await services.store.history(learner)
    here = base.playbook.get_bullet(bullet_id) is not None
    if not here and all(left.bullet.id != bullet_id for left in archived(history, base.playbook)):
        raise RequestRefused(404, "not_found", "your history holds no such bullet")
    return await commit_change(
        services, learner, base, [restore_of(history, base, bullet_id)], "restored over HTTP"
    )


@routes.post("/{bullet_id}/supersede", responses=error_responses(404, 408, 409, 413))
async def supersede(
    bullet_id: BulletId, body: SupersedeBody, learner: Learner, services: ServicesDep
) -> ChangeReply:
    """Archive a bullet because another one corrects it."""
    base = await services.store.load(learner)
    wanted = Supersede(bullet_id=bullet_id, by=body.by)
    return await commit_change(services, learner, base, [wanted], "superseded over HTTP")


@routes.post("/{bullet_id}/tag", responses=error_responses(404, 408, 409, 413))
async def tag(bullet_id: BulletId, body: TagBody, learner: Learner, services: ServicesDep) -> ChangeReply:
    """Vote on a bullet, apart from any turn. What does more harm than good is not shown."""
    base = await services.store.load(learner)
    wanted = Tag(bullet_id=bullet_id, tag=body.tag)
    return await commit_change(services, learner, base, [wanted], "tagged over HTTP")
