"""The playbooks that a learner may read, a new one, and the templates to begin one with.

The own memory has the id `default`. What is done with one playbook is in `playbook`.
"""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import uuid4

from fastapi import APIRouter, Query, Response
from pydantic import Field

from ace_graph import playbooks
from ace_graph.memory.bullet import Polarity
from ace_graph.memory.catalogue import MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, Scope, Visibility
from ace_graph.memory.commit import operation_id
from ace_graph.playbooks.content import Change
from ace_graph.playbooks.templates import TEMPLATES, TemplateName, template
from ace_graph.server.errors import error_responses
from ace_graph.server.keyed import KeyedRoute, OpId
from ace_graph.server.middleware import does
from ace_graph.server.routes.edit import tag_version
from ace_graph.server.routes.playbook import MOST_BULLETS, BulletBody, EntryReply
from ace_graph.server.schemas import PLAYBOOK_NAME, Body, Text
from ace_graph.server.services import Learner, Sender, ServicesDep

routes = APIRouter(prefix="/api/playbooks", tags=["playbooks"], route_class=KeyedRoute)
templates = APIRouter(prefix="/api/templates", tags=["playbooks"])

RightName = Literal["read", "propose", "write", "own"]


class CreateBody(Body):
    """A new playbook. No slash and no control characters in the name; case makes no difference.

    `template` fills it, with `bullets` after it; its description is taken where none is given.
    """

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS, pattern=f"^{PLAYBOOK_NAME}$")]
    description: Annotated[Text, Field(max_length=MAX_DESCRIPTION_CHARS)] = ""
    scope: Scope = "agent"
    visibility: Visibility = "private"
    bullets: Annotated[tuple[BulletBody, ...], Field(max_length=MOST_BULLETS)] = ()
    template: TemplateName | None = None


class PageQuery(Body):
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


@routes.get("", responses=error_responses())
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


@routes.post("", status_code=201, responses=error_responses(408, 409, 413), dependencies=[does("change")])
async def create(
    body: CreateBody, sender: Sender, services: ServicesDep, op_id: OpId, response: Response
) -> EntryReply:
    """Create a playbook at version 1.0. A name that the learner has is 409."""
    if body.visibility == "shared":
        sender.check("share")
    learner, given = sender.learner, None if body.template is None else template(body.template)
    new_id = str(uuid4()) if op_id is None else operation_id("http", learner, op_id)
    await playbooks.create(
        services.store,
        body.name,
        [*(given.bullets if given else ()), *(bullet.add() for bullet in body.bullets)],
        owner=learner,
        description=body.description or (given.description if given else ""),
        scope=body.scope,
        visibility=body.visibility,
        user=sender.user,
        change=Change(
            author=sender.author, reason="created over HTTP", now=services.clock.now(), op_id=op_id
        ),
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


@templates.get("", name="list_all", responses=error_responses())
async def list_templates(_: Learner) -> TemplatesReply:
    """Return the templates, which are the same for everybody."""
    return TemplatesReply(templates=[TemplateReply.of(template(name)) for name in TEMPLATES])
