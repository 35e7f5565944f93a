"""Consolidating a learner's playbook over HTTP, by rules: the plan, the run, taking it back."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path
from fastapi.responses import JSONResponse
from pydantic import Field

from ace_graph.base.errors import (
    ChangeRefused,
    PlaybookChanged,
    PlaybookExists,
    PlaybookNotFound,
    RequestRefused,
)
from ace_graph.memory.bullet import Share
from ace_graph.memory.consolidation import ConsolidationWork, Options
from ace_graph.memory.views import BulletKind
from ace_graph.playbooks.consolidation import consolidate, enqueue, run_state, undo
from ace_graph.server.errors import error_responses
from ace_graph.server.keyed import KeyedRoute
from ace_graph.server.lifespan import learning_mode
from ace_graph.server.middleware import does
from ace_graph.server.routes.edit import OwnEdit, Place, PlaybookId, checked_place, declare_playbook_id
from ace_graph.server.schemas import Body, Text
from ace_graph.server.services import Learner, ServicesDep

routes = APIRouter(
    prefix="/api/playbooks/{playbook_id}",
    tags=["playbooks"],
    route_class=KeyedRoute,
    dependencies=[Depends(declare_playbook_id), Depends(checked_place)],
)
_BELOW = 0.5
_WITH_AN_OWN_STATUS = (PlaybookNotFound, PlaybookChanged, PlaybookExists)
RunId = Annotated[Text, Path(min_length=1, max_length=128)]
Label = Annotated[Text, Field(min_length=1, max_length=128)]


class ConsolidateBody(Body):
    """Which bullets may become one; all of them where nothing is said."""

    dry_run: Annotated[bool, Field(strict=True, description="Only say what would be merged.")] = False
    kind: BulletKind | None = None
    topic: Label | None = None
    section: Label | None = None
    keep_above: Annotated[
        Share, Field(description="Bullets of at least this importance stay as they are.")
    ] = 0.8


class UndoBody(Body):
    """Which run to take back; the newest one where none is named."""

    run_id: Annotated[Text, Field(min_length=1, max_length=128)] | None = None


class MergedReply(Body):
    """Bullets that became one. In a dry run there is no `new_id`."""

    ids: list[str]
    text: str
    new_id: str | None


class RefusedReply(Body):
    """Bullets that stay although they are alike, and why."""

    ids: list[str]
    why: str


class ConsolidationReply(Body):
    """The report: merged + preserved + untouched = total. No rule can judge the groups in `for_model`."""

    run_id: str | None
    version: int
    total: int
    merged: int
    preserved: int
    untouched: int
    space_saved_bytes: int
    groups: list[MergedReply]
    refused: list[RefusedReply]
    for_model: list[list[str]]
    left: int


class ConsolidationRunReply(Body):
    """A run that a worker does. `groups` is what it merged so far, `error` why its last attempt failed.

    A run that failed too often is `failed`, and waits for an operator.
    """

    run_id: str
    status: Literal["pending", "running", "failed", "done"]
    groups: list[MergedReply]
    error: str | None


class UndoneReply(Body):
    """What is back, and what is gone."""

    run_id: str
    version: int
    restored: list[str]
    removed: list[str]


@routes.post(
    "/consolidate",
    response_model=ConsolidationReply,
    responses={
        202: {
            "model": ConsolidationRunReply,
            "description": "A worker does it; ask for the run under its id",
        },
        **error_responses(404, 408, 409, 412, 413),
    },
    dependencies=[does("consolidate")],
)
async def consolidate_playbook(
    playbook_id: PlaybookId, body: ConsolidateBody, edit: OwnEdit
) -> ConsolidationReply | JSONResponse:
    """Merge bullets that say the same, or with `dry_run` say which. It can be taken back.

    Where the server learns in the background, a worker does it, and the reply is the run to ask for.
    """
    playbook, services, etag = edit.playbook, edit.services, await edit.expected_etag()
    now, below = services.clock.now(), min(_BELOW, body.keep_above)
    if not body.dry_run and services.settings.consolidates_later(learning_mode(services.settings)):
        work = ConsolidationWork(
            name=playbook.ref.name,
            kind=body.kind,
            topic=body.topic,
            section=body.section,
            below=below,
            keep_above=body.keep_above,
            expected_etag=etag,
        )
        run_id = await enqueue(services.store, edit.sender.learner, work, now=now)
        reply = ConsolidationRunReply(run_id=run_id, status="pending", groups=[], error=None)
        where = f"/api/playbooks/{playbook_id}/consolidations/{run_id}"
        return JSONResponse(reply.model_dump(), status_code=202, headers={"Location": where})
    batch = services.store.policy.consolidate_batch
    options = Options(body.kind, body.topic, body.section, below, body.keep_above, batch)
    done = await consolidate(
        services.store,
        playbook.ref.name,
        edit.sender.learner,
        options,
        dry_run=body.dry_run,
        now=now,
        expected_etag=etag,
    )
    return ConsolidationReply.of(
        done, run_id=None if done.dry_run else done.run_id, preserved=len(done.preserved)
    )


@routes.get("/consolidations/{run_id}", responses=error_responses(404))
async def consolidation_run(
    playbook: Place, run_id: RunId, learner: Learner, services: ServicesDep
) -> ConsolidationRunReply:
    """What became of a run. One that merged nothing is known until the next run ends."""
    playbook.check_owner()
    found = await run_state(services.store, learner, run_id, playbook.ref.name, now=services.clock.now())
    if found is None:
        raise RequestRefused(404, "not_found", "there is no such run of a consolidation")
    return ConsolidationRunReply.of(found)


@routes.post(
    "/consolidate/undo",
    responses=error_responses(404, 408, 409, 412, 413),
    dependencies=[does("consolidate")],
)
async def undo_consolidation(body: UndoBody, edit: OwnEdit) -> UndoneReply:
    """Take back a run. Refused, with the ids, where one of its bullets has changed since."""
    etag = await edit.expected_etag()
    try:
        done = await undo(
            edit.services.store,
            edit.playbook.ref.name,
            edit.sender.learner,
            run_id=body.run_id,
            now=edit.services.clock.now(),
            expected_etag=etag,
        )
    except _WITH_AN_OWN_STATUS:
        raise
    except ChangeRefused as error:
        raise RequestRefused(409, "refused", str(error)) from error
    return UndoneReply.of(done)
