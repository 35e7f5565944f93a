"""The history: every version with its author and reason, what differs, and the way back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from ace_graph.server.middleware import does
from ace_graph.server.page.editing import PlaceDep, PlaybookId, after_change, edit_for
from ace_graph.server.page.session import Flash, PageRoute, VisitorDep, view_of
from ace_graph.server.routes.playbook import (
    DiffQuery,
    HistoryQuery,
    archive,
    differences,
    go_back,
    history,
)
from ace_graph.server.schemas import VersionName

routes = APIRouter(prefix="/playbooks/{playbook_id}", route_class=PageRoute)


class VersionsQuery(Flash):
    """Which page of the versions."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    older: Annotated[int | None, Field(ge=0, le=2_147_483_647)] = None


class RollbackForm(BaseModel):
    """The version to go back to."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: VersionName
    etag: Annotated[str, Field(max_length=128)] = ""


@routes.get("/history")
async def show(
    request: Request,
    playbook_id: PlaybookId,
    target: PlaceDep,
    visitor: VisitorDep,
    query: Annotated[VersionsQuery, Query()],
) -> Response:
    """Show the versions, the newest first, and the bullets that have left."""
    found = await history(target, HistoryQuery(limit=30, before=query.older))
    snapshot = await visitor.services.store.load(target.key)
    present = snapshot.version
    values = {
        "playbook_id": playbook_id,
        "query": query,
        "found": found,
        "present": present.n,
        "present_ids": frozenset(snapshot.playbook.entries),
        "etag": present.etag or "",
        "left": (await archive(target, 50)).bullets if query.older is None else [],
    }
    return view_of(request, visitor, "history.html", values)


@routes.get("/diff")
async def show_difference(
    request: Request,
    playbook_id: PlaybookId,
    target: PlaceDep,
    visitor: VisitorDep,
    query: Annotated[DiffQuery, Query()],
) -> Response:
    """Show what came, went and changed between two versions."""
    values = {
        "playbook_id": playbook_id,
        "asked": query,
        "found": await differences(target, query),
    }
    return view_of(request, visitor, "diff.html", values)


@routes.post("/rollback", dependencies=[does("change")])
async def roll_back(
    request: Request,
    playbook_id: PlaybookId,
    target: PlaceDep,
    visitor: VisitorDep,
    form: Annotated[RollbackForm, Form()],
) -> Response:
    """Go back to an earlier version, as a new one."""
    edit = await edit_for(visitor, target, form.etag, own=True)

    async def go() -> object:
        return await go_back(edit, form.version)

    return await after_change(request, f"/playbooks/{playbook_id}/history", "back", edit, go)
