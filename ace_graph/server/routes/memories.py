"""Memories by scope over HTTP: remembered, listed, searched, merged, in own, team and shared playbooks.

A scope widens no right: each playbook is opened as the routes under /api/playbooks open it. What is shared
with a learner is not for an operator.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from ace_graph.memory.bullet import (
    MAX_CONTENT_CHARS,
    MAX_CONTEXT_CHARS,
    MAX_EXAMPLES,
    STATED_BY_A_PERSON,
    Bounded,
    BulletSource,
    Moment,
    Share,
)
from ace_graph.memory.catalogue import Scope
from ace_graph.memory.views import Kind
from ace_graph.playbooks.memories import (
    OF_OTHERS,
    agent_label,
    checked_scope,
    destination,
    memories,
    own_names,
    remember,
    search_memories,
    shown_name,
)
from ace_graph.server.auth import Identity
from ace_graph.server.errors import error_responses, refusing_usage_errors
from ace_graph.server.keyed import KeyedRoute, OpId
from ace_graph.server.middleware import does
from ace_graph.server.routes.edit import Absent
from ace_graph.server.routes.playbook import (
    ConsolidateBody,
    ConsolidationReply,
    ConsolidationRunReply,
    run_or_leave,
)
from ace_graph.server.schemas import PLAYBOOK_REF, Body, Label, NewKind, RequestBody, Text
from ace_graph.server.services import Sender, ServicesDep

routes = APIRouter(prefix="/api/memories", tags=["memories"], route_class=KeyedRoute)

Agent = Annotated[Text, Field(min_length=1, max_length=200, description="The label of an agent.")]
ScopeField = Annotated[
    Scope,
    Field(
        description="agent: what `agent` has remembered; user: all that is the learner's own; tenant: own "
        "playbooks of this scope, and those that a team of the learner may read; global: own ones of this "
        "scope, and all that are shared with the learner. Without one: the own memory."
    ),
]


class MemoriesQuery(RequestBody):
    """Which memories."""

    scope: ScopeField | Absent = None
    agent: Agent | Absent = None
    kind: Annotated[Kind, Field(description="Without one the bullets of all kinds.")] | Absent = None
    limit: Annotated[int, Field(ge=1, le=1_000, description="At most so many.")] = 100


class FindQuery(RequestBody):
    """Which memories, and the words that each must hold."""

    words: Annotated[Text, Field(min_length=1, max_length=500)]
    scope: ScopeField | Absent = None
    agent: Agent | Absent = None
    limit: Annotated[int, Field(ge=1, le=1_000, description="At most so many.")] = 10


class RememberBody(RequestBody):
    """A memory. One that says the same as another strengthens that one instead.

    In the scopes tenant and global it goes to `playbook`, else to the only one that the learner may write.
    """

    content: Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS), Bounded]
    kind: NewKind = "fact"
    scope: ScopeField | None = None
    playbook: Annotated[str, Field(min_length=1, max_length=512, pattern=PLAYBOOK_REF)] | None = None
    agent: Agent | None = None
    importance: Annotated[Share, Field(strict=True)] = STATED_BY_A_PERSON
    context: Annotated[Text, Field(min_length=1, max_length=MAX_CONTEXT_CHARS)] | None = None
    topic: Label | None = None
    examples: Annotated[tuple[Label, ...], Field(max_length=MAX_EXAMPLES)] = ()


class MemoryReply(Body):
    """A memory. `playbook` is `default` for the own memory, else `owner/name`."""

    id: str
    kind: Kind
    content: str
    at: Moment
    importance: float | None
    playbook: str


class MemoriesReply(Body):
    """The memories, playbook by playbook, the own memory first."""

    memories: list[MemoryReply]


class RememberedReply(Body):
    """The id of the bullet that holds it, and the playbook that it is in."""

    id: str
    playbook: str


class ConsolidateScopeBody(ConsolidateBody):
    """Which bullets may become one: those that are selected in the learner's playbooks of a scope."""

    scope: ScopeField
    agent: Agent | None = None


class ScopeConsolidationReply(Body):
    """What was merged in a playbook, or the run in which a worker does it."""

    playbook: str
    report: ConsolidationReply | None
    run: ConsolidationRunReply | None


class ScopeConsolidationsReply(Body):
    """The playbooks of the scope, each by itself, the own memory first."""

    playbooks: list[ScopeConsolidationReply]


def _check_own(sender: Identity, scope: str | None, playbook: str | None = None) -> None:
    if scope in OF_OTHERS or playbook is not None:
        sender.check("share")


@routes.get("", responses=error_responses(409), name="list_all")
async def list_memories(
    sender: Sender, services: ServicesDep, query: Annotated[MemoriesQuery, Query()]
) -> MemoriesReply:
    """Return the memories of a scope, of one kind or the bullets of all kinds."""
    _check_own(sender, query.scope)
    with refusing_usage_errors():
        found = await memories(
            *(services.store, sender.user, query.kind, query.limit), scope=query.scope, agent=query.agent
        )
    return MemoriesReply.model_validate({"memories": found})


@routes.get("/search", responses=error_responses(409), name="search")
async def find(sender: Sender, services: ServicesDep, query: Annotated[FindQuery, Query()]) -> MemoriesReply:
    """Return the memories of a scope that hold all of the words."""
    _check_own(sender, query.scope)
    with refusing_usage_errors():
        found = await search_memories(
            *(services.store, sender.user, query.words, query.limit), scope=query.scope, agent=query.agent
        )
    return MemoriesReply.model_validate({"memories": found})


@routes.post("", status_code=201, responses=error_responses(404), dependencies=[does("change")])
async def add(body: RememberBody, sender: Sender, services: ServicesDep, op_id: OpId) -> RememberedReply:
    """Remember something in a scope, as far as the learner may write there."""
    _check_own(sender, body.scope, body.playbook)
    with refusing_usage_errors():
        place = await destination(services.store, sender.user, body.scope, body.playbook)
        made = await remember(
            *(services.store, sender.user),
            **body.model_dump(exclude={"playbook"}),
            playbook=place,
            source=BulletSource.HTTP,
            author=sender.author,
            op_id=op_id,
            clock=services.clock.now,
        )
    return RememberedReply(id=made, playbook=shown_name(place))


@routes.post("/consolidate", responses=error_responses(404), dependencies=[does("consolidate")])
async def consolidate_scope(
    body: ConsolidateScopeBody, sender: Sender, services: ServicesDep, response: Response
) -> ScopeConsolidationsReply:
    """Merge what says the same within each of the learner's own playbooks of a scope, or say what.

    Those of others are their owners'. Where the server learns in the background, a worker does it (202), and
    `GET /api/playbooks/{id}/consolidations/{run}` tells what became of it.
    """
    with refusing_usage_errors():
        scope, done = checked_scope(body.scope, body.agent) or "user", list[ScopeConsolidationReply]()
    tags = (*body.tag, *((agent_label(body.agent),) if body.agent else ()))
    selected = body.model_copy(update={"tag": tags})
    for name in await own_names(services.store, sender.learner, scope):
        work = selected.work(name, None)
        made = await run_or_leave(services, sender.learner, work, dry_run=body.dry_run)
        report = made if isinstance(made, ConsolidationReply) else None
        run = None if isinstance(made, ConsolidationReply) else made
        response.status_code = 200 if run is None else 202
        done.append(ScopeConsolidationReply(playbook=name, report=report, run=run))
    return ScopeConsolidationsReply(playbooks=done)
