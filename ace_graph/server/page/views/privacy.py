"""Privacy: what is kept and for how long, a copy of all, an end of all, and a pause of learning."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Response

from ace_graph.server.middleware import does
from ace_graph.server.page.session import Flash, PageRoute, VisitorDep
from ace_graph.server.routes import learner as api

routes = APIRouter(prefix="/privacy", route_class=PageRoute)


@routes.get("")
async def show(visitor: VisitorDep, query: Annotated[Flash, Query()]) -> Response:
    """Show what is kept, and what the learner can do about it."""
    services, learner = visitor.services, visitor.learner
    return visitor.show(
        "privacy.html",
        query=query,
        bullets=len((await services.store.load(learner)).playbook.entries),
        talks=len(await services.conversations.of(learner)),
        paused=await services.conversations.paused(learner),
        settings=services.settings,
        can_forget=visitor.identity.may("forget"),
    )


@routes.get("/export")
async def export(visitor: VisitorDep) -> Response:
    """Return everything that is stored about the learner as a file."""
    response = await api.export(visitor.learner, visitor.services)
    response.headers["content-disposition"] = 'attachment; filename="memory.json"'
    return response


@routes.post("/learning", dependencies=[does("converse")])
async def pause(visitor: VisitorDep, paused: Annotated[bool, Form()] = False) -> Response:
    """Pause learning, or let it go on."""
    await visitor.services.conversations.pause(visitor.learner, paused)
    return visitor.lead_to("/privacy", said="paused" if paused else "resumed")


@routes.post("/delete", dependencies=[does("forget")])
async def delete(visitor: VisitorDep, sure: Annotated[bool, Form()] = False) -> Response:
    """Delete everything that is stored about the learner, for good."""
    if not sure:
        return visitor.lead_to("/privacy", said="unsure")
    await api.forget(visitor.learner, visitor.services)
    return visitor.lead_to("/privacy", said="forgotten")
