"""Playbooks and people: how each is used, a new one, who may do what with it, what is proposed to it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Response
from pydantic import BeforeValidator, Field

from ace_graph.memory.catalogue import DEFAULT
from ace_graph.memory.rights import Right
from ace_graph.memory.sharing import Granted, SubjectKind
from ace_graph.playbooks.templates import TEMPLATES, TemplateName, template
from ace_graph.playbooks.worth import active_bullets, read_worth
from ace_graph.server.middleware import does
from ace_graph.server.page.session import Flash, OpenedDep, PageForm, PageRoute, Visitor, VisitorDep
from ace_graph.server.routes import playbook as api
from ace_graph.server.routes import sharing
from ace_graph.server.schemas import Text

routes = APIRouter(prefix="/playbooks", route_class=PageRoute)
FIGURES_SIZE = 10
"""How many playbooks have their figures on one page: each is asked of all who read it."""


class FiguresQuery(Flash):
    """Which page of the figures; `after` is the name of the last playbook before it."""

    after: Annotated[Text, Field(max_length=1_024)] = ""


class CreateForm(PageForm):
    """A new playbook, perhaps from a template."""

    name: Annotated[Text, Field(max_length=200)]
    description: Annotated[Text, Field(max_length=2_000)] = ""
    template: Annotated[TemplateName | None, BeforeValidator(lambda name: name or None)] = None


class GrantForm(PageForm):
    """Who gets which role."""

    kind: SubjectKind = "user"
    name: Annotated[Text, Field(min_length=1, max_length=256)]
    relation: Granted = "viewer"


class ProposeForm(PageForm):
    """A bullet of the own memory."""

    bullet: Annotated[str, Field(min_length=1, max_length=128)]


@routes.get("")
async def show_playbooks(visitor: VisitorDep, query: Annotated[FiguresQuery, Query()]) -> Response:
    """Show the learner's playbooks and how each is used, those of others, and a form for a new one."""
    found = await api.list_all(
        visitor.identity, visitor.services, api.PageQuery(limit=FIGURES_SIZE, after=query.after)
    )
    opened = [(each, await visitor.open(each.playbook_id)) for each in found.playbooks]
    store, learner = visitor.services.store, visitor.learner
    worths = [(each, await read_worth(store, one.handle, learner, lambda _: ())) for each, one in opened]
    rows = [(each, len(active_bullets(worth.snapshot)), worth.effectiveness) for each, worth in worths]
    return visitor.show(
        "figures.html",
        query=query,
        rows=rows,
        next=found.next,
        own=DEFAULT,
        shared=[] if query.after else await shared_playbooks(visitor),
        templates=[template(name) for name in TEMPLATES],
    )


@routes.post("", dependencies=[does("change")])
async def create(visitor: VisitorDep, form: Annotated[CreateForm, Form()]) -> Response:
    """Make a playbook, and show it."""
    body = api.CreateBody.model_validate({**form.model_dump(), "name": form.name.strip()})
    made = await api.create(body, visitor.identity, visitor.services, None, Response())
    return visitor.lead_to(f"/playbooks/{made.playbook_id}", said="created")


@routes.get("/{playbook_id}/people")
async def show_people(opened: OpenedDep, query: Annotated[Flash, Query()]) -> Response:
    """Show who may do what with a playbook."""
    shares = opened.handle.entry is not None and opened.visitor.identity.may("share")
    owns = shares and await opened.handle.may(Right.OWN)
    grants = (await sharing.list_grants(opened.handle, sharing.GrantsQuery())).grants if owns else ()
    return opened.visitor.show(
        "people.html",
        query=query,
        playbook_id=opened.playbook_id,
        entry=opened.handle.entry,
        owns=owns,
        mine=opened.handle.asked is None,
        grants=grants,
    )


@routes.post("/{playbook_id}/people", dependencies=[does("share")])
async def share(opened: OpenedDep, form: Annotated[GrantForm, Form()]) -> Response:
    """Give somebody a role, in place of the one that they have."""
    body = sharing.GrantBody(kind=form.kind, name=form.name.strip(), relation=form.relation)
    await sharing.grant(opened.handle, body, opened.visitor.services)
    return opened.visitor.lead_to(f"/playbooks/{opened.playbook_id}/people", said="shared")


@routes.post("/{playbook_id}/people/remove", dependencies=[does("share")])
async def unshare(opened: OpenedDep, form: Annotated[GrantForm, Form()]) -> Response:
    """Take somebody's role away."""
    await sharing.revoke(opened.handle, sharing.SubjectQuery(kind=form.kind, name=form.name))
    return opened.visitor.lead_to(f"/playbooks/{opened.playbook_id}/people", said="unshared")


@routes.post("/{playbook_id}/leave", dependencies=[does("share")])
async def leave(opened: OpenedDep) -> Response:
    """Leave a playbook that somebody has shared."""
    await sharing.leave(opened.handle, opened.visitor.services)
    return opened.visitor.lead_to("/playbooks", said="left")


@routes.post("/{playbook_id}/delete", dependencies=[does("own")])
async def delete(opened: OpenedDep) -> Response:
    """Delete a playbook of one's own, for good."""
    await api.delete(opened.playbook_id, await opened.edit(own=True))
    return opened.visitor.lead_to("/playbooks", said="removed")


@routes.post("/{playbook_id}/propose", dependencies=[does("share")])
async def propose(opened: OpenedDep, form: Annotated[ProposeForm, Form()]) -> Response:
    """Propose a bullet of the own memory to a playbook that somebody has shared."""
    visitor, body = opened.visitor, sharing.ProposeBody(bullets=[form.bullet])
    await sharing.propose(opened.handle, body, visitor.learner, visitor.services)
    return visitor.lead_to(f"/playbooks/{DEFAULT}/bullets/{form.bullet}", said="proposed")


async def shared_playbooks(visitor: Visitor) -> list[api.ListedReply]:
    """Return the playbooks of others that the visitor may read; an operator sees none of them."""
    if not visitor.identity.may("share"):
        return []
    query = api.PageQuery(limit=100, which="shared")
    return (await api.list_all(visitor.identity, visitor.services, query)).playbooks


async def open_to_proposals(visitor: Visitor) -> list[api.ListedReply]:
    """Return the playbooks of others that the visitor may propose something to."""
    return [each for each in await shared_playbooks(visitor) if each.right != "read"]
