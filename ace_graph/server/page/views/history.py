"""The page of a playbook's history: its versions, the difference of two, and the way back to one."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Form, Query, Response
from pydantic import Field

from ace_graph.server.middleware import does
from ace_graph.server.page.session import Flash, OpenedDep, PageForm, PageRoute
from ace_graph.server.routes import playbook as api
from ace_graph.server.schemas import VersionName

routes = APIRouter(prefix="/playbooks/{playbook_id}", route_class=PageRoute)


class VersionsQuery(Flash):
    """Which page of the versions."""

    older: Annotated[int | None, Field(ge=0, le=2_147_483_647)] = None


class RollbackForm(PageForm):
    """The version to go back to."""

    version: VersionName
    etag: Annotated[str, Field(max_length=128)] = ""


@routes.get("/history")
async def show_history(opened: OpenedDep, query: Annotated[VersionsQuery, Query()]) -> Response:
    """Show the versions, the newest first, and the bullets that have left."""
    found = await api.history(opened.handle, api.HistoryQuery(limit=30, before=query.older))
    snapshot = await opened.visitor.services.store.load(opened.handle.key)
    return opened.visitor.show(
        "history.html",
        playbook_id=opened.playbook_id,
        query=query,
        found=found,
        present=snapshot.version.n,
        present_ids=frozenset(snapshot.playbook.entries),
        etag=snapshot.version.etag or "",
        left=(await api.archive(opened.handle, 50)).bullets if query.older is None else [],
    )


@routes.get("/diff")
async def show_difference(opened: OpenedDep, query: Annotated[api.DiffQuery, Query()]) -> Response:
    """Show what came, went and changed between two versions."""
    found = await api.differences(opened.handle, query)
    return opened.visitor.show("diff.html", playbook_id=opened.playbook_id, asked=query, found=found)


@routes.post("/rollback", dependencies=[does("change")])
async def roll_back(opened: OpenedDep, form: Annotated[RollbackForm, Form()]) -> Response:
    """Go back to an earlier version, as a new one."""
    edit, back = await opened.edit(form.etag, own=True), f"/playbooks/{opened.playbook_id}/history"
    return await opened.visitor.after_change(back, "back", edit, partial(api.go_back, edit, form.version))
