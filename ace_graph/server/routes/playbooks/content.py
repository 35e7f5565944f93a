"""The content of a playbook as a whole: its figures, files of it, clearing it, screening it again."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

from ace_graph.errors import FormatError, NewerFormat, RequestRefused
from ace_graph.memory.delta.operations import Reset
from ace_graph.memory.formats.base import Refusal
from ace_graph.memory.formats.registry import FormatName, format_named, read_bullets
from ace_graph.off_loop import off_loop
from ace_graph.playbooks.content import rescreen, rescreened
from ace_graph.playbooks.worth import PlaybookFigures, figures_of, read_worth
from ace_graph.server.dependencies import Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.keyed import KeyedRoute
from ace_graph.server.middleware.access_control import does
from ace_graph.server.routes.change_reply import ChangeReply
from ace_graph.server.routes.edit import (
    OwnEdit,
    Place,
    PlaybookEdit,
    checked_place,
    declare_playbook_id,
    tag_version,
)
from ace_graph.server.schemas import Text

__all__ = ["named"]

named = APIRouter(
    prefix="/api/playbooks/{playbook_id}",
    tags=["playbooks"],
    route_class=KeyedRoute,
    dependencies=[does("change"), Depends(declare_playbook_id), Depends(checked_place)],
)


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ImportBody(_Body):
    """The text of a file in one of the formats; `auto` finds out which."""

    text: Annotated[Text, Field(min_length=1)]
    format: Literal[FormatName, "auto"] = "auto"


class RefusalReply(_Body):
    """A bullet of the file that was not taken, and why."""

    what: str
    why: str


class ImportReply(_Body):
    """What became of each bullet: read = kept + merged + refused.

    `renamed` asked for an id and got another. `core` are always candidates for the prompt, `quarantined` are
    in no prompt, `displaced` were there before and made room or were replaced. `left_out` counts the fields
    that have no place in a bullet.
    """

    version: int | None
    read: int
    kept: int
    merged: int
    refused: list[RefusalReply]
    renamed: int
    core: list[str]
    quarantined: list[str]
    displaced: list[str]
    left_out: dict[str, int]


class RescreenBody(_Body):
    """Whether to change anything."""

    dry_run: Annotated[bool, Field(strict=True, description="Say what would move, change nothing.")] = False


class RescreenReply(_Body):
    """What was kept back, each with the reason, and what was released."""

    version: int
    quarantined: dict[str, str]
    released: list[str]


@named.get("/stats", responses=error_responses(404))
async def stats(learner: Learner, services: ServicesDep, target: Place) -> PlaybookFigures:
    """Return counts, votes, strength and confidence; how often the playbook was used, and its worth."""
    return figures_of(await read_worth(services.store, target, learner), services.clock.now())


@named.get(
    "/export",
    response_class=Response,
    responses={
        **error_responses(404),
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The file."},
    },
)
async def export(
    target: Place,
    file_format: Annotated[FormatName, Query(alias="format", description="The format of the file.")] = "json",
) -> PlainTextResponse:
    """Return the bullets as a file, which `import` reads."""
    found = await target.load()
    text = await off_loop(format_named(file_format).write, found.playbook)
    response = PlainTextResponse(text)
    tag_version(response, found.version)
    return response


@named.post("/import", responses=error_responses(404, 408, 409, 412, 413))
async def import_(body: ImportBody, edit: PlaybookEdit) -> ImportReply:
    """Add the bullets of a file; what is known already is merged. It is an error when none is taken."""
    try:
        reading = await off_loop(read_bullets, body.text, body.format)
    except (FormatError, NewerFormat) as error:
        raise RequestRefused(409, "unreadable", f"the file can't be read: {error}"[:300]) from error
    base = await edit.load()
    outcome, after = await edit.target.import_bullets(base, reading, edit.change("imported over HTTP", base))
    if outcome.read and len(outcome.refused) == outcome.read:
        why = outcome.refused[0].why
        raise RequestRefused(409, "refused", f"every bullet was refused: {why}"[:300])
    tag_version(edit.response, after.version)
    return ImportReply(
        version=None if after.absent else after.version.n,
        read=outcome.read,
        kept=outcome.kept,
        merged=outcome.merged,
        refused=[_refusal(each) for each in outcome.refused],
        renamed=outcome.renamed,
        core=list(outcome.core),
        quarantined=list(outcome.quarantined),
        displaced=list(outcome.displaced),
        left_out=dict(outcome.left_out),
    )


@named.post("/clear", responses=error_responses(404, 408, 409, 412))
async def clear(edit: PlaybookEdit) -> ChangeReply:
    """Archive all bullets. A rollback brings them back."""
    base = await edit.load()
    if base.absent:
        raise RequestRefused(409, "refused", "nothing is stored yet")
    return await edit.commit(base, [Reset()], "cleared over HTTP")


@named.post("/rescreen", responses=error_responses(404, 408, 409, 412, 413))
async def screen_again(body: RescreenBody, edit: OwnEdit) -> RescreenReply:
    """Screen all bullets again by the present rules. What a person has decided stays."""
    base = await edit.load()
    if (before := await edit.before(base)) is not None:
        done = rescreened(before)
    else:
        change = edit.change("", base)
        done = await rescreen(edit.target.store, edit.target.key, base, change, dry_run=body.dry_run)
    return RescreenReply(version=done.version, quarantined=done.kept_back, released=list(done.released))


def _refusal(refusal: Refusal) -> RefusalReply:
    return RefusalReply(what=refusal.what, why=refusal.why)
