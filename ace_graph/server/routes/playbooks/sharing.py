"""Who a playbook is shared with, over HTTP: its owners list the grants, make them and take them away."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from ace_graph.errors import RequestRefused
from ace_graph.memory.sharing.grant import Grant, Granted, Relation
from ace_graph.playbooks.sharing import Sharing
from ace_graph.server.dependencies import ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.keyed import KeyedRoute
from ace_graph.server.middleware.access_control import does
from ace_graph.server.routes.edit import Place, checked_place, declare_playbook_id
from ace_graph.server.schemas import Text

__all__ = ["routes"]

routes = APIRouter(
    prefix="/api/playbooks/{playbook_id}",
    tags=["sharing"],
    route_class=KeyedRoute,
    dependencies=[Depends(declare_playbook_id), Depends(checked_place)],
)

Kind = Annotated[Literal["user", "team"], Field(description="A user is a learner.")]
Name = Annotated[
    Text, Field(min_length=1, max_length=256, description="Compared exactly.", examples=["bob", "ops"])
]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GrantBody(_Body):
    """A viewer reads, a contributor proposes changes, an editor makes them, an owner grants and deletes."""

    kind: Kind
    name: Name
    relation: Granted = "viewer"


class SubjectQuery(_Body):
    """Whose grant."""

    kind: Kind
    name: Name


class GrantsQuery(_Body):
    """Which page of the grants."""

    limit: Annotated[int, Field(ge=1, le=1_000)] = 100
    after: Annotated[Text, Field(max_length=1_024, description="`next` of the page before.")] = ""


class GrantReply(_Body):
    """One grant. `by` is empty when who made it was forgotten. `declined`: the user has left the playbook."""

    kind: Kind
    name: str
    relation: Relation
    by: str
    at: datetime


class GrantsReply(_Body):
    """A page of grants; `next` is what `after` of the next page is, null after the last."""

    grants: list[GrantReply]
    next: str | None


@routes.get("/grants", responses=error_responses(404, 409))
async def list_grants(target: Place, page_query: Annotated[GrantsQuery, Query()]) -> GrantsReply:
    """Return the grants of a playbook, in the order of the subjects. Its owners only."""
    found = await Sharing(target).grants(page_query.limit + 1, page_query.after)
    page = found[: page_query.limit]
    following = str(page[-1].subject) if len(found) > len(page) else None
    return GrantsReply(grants=[_reply(each) for each in page], next=following)


@routes.post(
    "/grants", status_code=201, responses=error_responses(404, 408, 409, 413), dependencies=[does("share")]
)
async def grant(target: Place, body: GrantBody, services: ServicesDep) -> GrantReply:
    """Share a playbook with a user or a team. It takes the place of the grant that the subject had."""
    return _reply(
        await Sharing(target).grant(f"{body.kind}:{body.name}", body.relation, services.clock.now())
    )


@routes.delete("/grants", status_code=204, responses=error_responses(404, 409), dependencies=[does("share")])
async def revoke(target: Place, whose: Annotated[SubjectQuery, Query()]) -> None:
    """Take a grant away. It holds from the next request on; one that is not there is 404."""
    if not await Sharing(target).revoke(f"{whose.kind}:{whose.name}"):
        raise RequestRefused(404, "not_found", "there is no such grant")


@routes.post("/leave", status_code=204, responses=error_responses(404, 409), dependencies=[does("share")])
async def leave(target: Place, services: ServicesDep) -> None:
    """Decline a playbook that was shared with the learner. A new grant brings it back."""
    await Sharing(target).leave(services.clock.now())


def _reply(grant: Grant) -> GrantReply:
    return GrantReply(
        kind=grant.subject.kind, name=grant.subject.name, relation=grant.relation, by=grant.by, at=grant.at
    )
