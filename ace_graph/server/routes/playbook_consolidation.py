"""Consolidating a learner's playbook over HTTP, by rules: the plan, the run, taking it back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from ace_graph.consolidation import Consolidation, Options, consolidate, undo
from ace_graph.errors import ChangeRefused, PlaybookChanged, PlaybookExists, PlaybookNotFound, RequestRefused
from ace_graph.memory.bullet import Share
from ace_graph.memory.views.kinds import BulletKind
from ace_graph.server.dependencies import Learner, ServicesDep, User
from ace_graph.server.errors import error_responses
from ace_graph.server.routes.edit import PlaybookId, own_playbook
from ace_graph.server.schemas import Text

__all__ = ["routes"]

routes = APIRouter(prefix="/api/playbooks", tags=["playbooks"])

_BELOW = 0.5
_WITH_AN_OWN_STATUS = (PlaybookNotFound, PlaybookChanged, PlaybookExists)

Label = Annotated[Text, Field(min_length=1, max_length=128)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ConsolidateBody(_Body):
    """Which bullets may become one; all of them where nothing is said."""

    dry_run: Annotated[bool, Field(strict=True, description="Only say what would be merged.")] = False
    kind: BulletKind | None = None
    topic: Label | None = None
    section: Label | None = None
    keep_above: Annotated[
        Share, Field(description="Bullets of at least this importance stay as they are.")
    ] = 0.8


class UndoBody(_Body):
    """Which run to take back; the newest one where none is named."""

    run_id: Annotated[Text, Field(min_length=1, max_length=128)] | None = None


class MergedReply(_Body):
    """Bullets that became one. In a dry run there is no `new_id`."""

    ids: list[str]
    text: str
    new_id: str | None


class RefusedReply(_Body):
    """Bullets that stay although they are alike, and why."""

    ids: list[str]
    why: str


class ConsolidationReply(_Body):
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


class UndoneReply(_Body):
    """What is back, and what is gone."""

    run_id: str
    version: int
    restored: list[str]
    removed: list[str]


@routes.post("/{playbook_id}/consolidate", responses=error_responses(404, 408, 409, 413))
async def consolidate_playbook(
    playbook_id: PlaybookId, body: ConsolidateBody, learner: Learner, user: User, services: ServicesDep
) -> ConsolidationReply:
    """Merge bullets that say the same, or with `dry_run` say which. It can be taken back."""
    target = await own_playbook(services.store, playbook_id, user)
    options = Options(
        body.kind,
        body.topic,
        body.section,
        below=min(_BELOW, body.keep_above),
        keep_above=body.keep_above,
    )
    now = services.clock.now()
    done = await consolidate(services.store, target.ref.name, learner, options, dry_run=body.dry_run, now=now)
    return _reply(done)


@routes.post("/{playbook_id}/consolidate/undo", responses=error_responses(404, 408, 409, 413))
async def undo_consolidation(
    playbook_id: PlaybookId, body: UndoBody, learner: Learner, user: User, services: ServicesDep
) -> UndoneReply:
    """Take back a run. Refused, with the ids, where one of its bullets has changed since."""
    target = await own_playbook(services.store, playbook_id, user)
    try:
        done = await undo(
            services.store, target.ref.name, learner, run_id=body.run_id, now=services.clock.now()
        )
    except _WITH_AN_OWN_STATUS:
        raise
    except ChangeRefused as error:
        raise RequestRefused(409, "refused", str(error)) from error
    return UndoneReply(
        run_id=done.run_id,
        version=done.version,
        restored=list(done.restored),
        removed=list(done.removed),
    )


def _reply(done: Consolidation) -> ConsolidationReply:
    return ConsolidationReply(
        run_id=None if done.dry_run else done.run_id,
        version=done.version,
        total=done.total,
        merged=done.merged,
        preserved=len(done.preserved),
        untouched=done.untouched,
        space_saved_bytes=done.space_saved_bytes,
        groups=[MergedReply(ids=list(each.ids), text=each.text, new_id=each.new_id) for each in done.groups],
        refused=[RefusedReply(ids=list(each.ids), why=each.why) for each in done.refused],
        for_model=[list(ids) for ids in done.for_model],
        left=done.left,
    )
