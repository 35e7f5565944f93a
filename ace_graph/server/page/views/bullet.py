"""One bullet: where it was learned, what became of it, what it was used in; and every change of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from ace_graph.base.errors import PlaybookChanged, RequestRefused
from ace_graph.memory.bullet import MAX_CONTENT_CHARS, Bounded, Bullet
from ace_graph.memory.commit import HistoryEntry
from ace_graph.memory.snapshot import Snapshot
from ace_graph.playbooks.worth import read_worth
from ace_graph.server.middleware import does
from ace_graph.server.page.editing import PlaceDep, PlaybookId, after_change, changed, edit_for
from ace_graph.server.page.session import Done, Flash, PageRoute, VisitorDep, view_of
from ace_graph.server.routes.edit import ChangeReply, Edit
from ace_graph.server.routes.playbook import (
    BulletPatch,
    QuarantineBody,
    TagBody,
    change,
    quarantine,
    release,
    remove,
    restore,
    tag,
)
from ace_graph.server.schemas import Text

routes = APIRouter(prefix="/playbooks/{playbook_id}/bullets/{bullet_id}", route_class=PageRoute)

BulletName = Annotated[str, Path(min_length=1, max_length=128)]
Action = Literal["pin", "unpin", "off", "on", "remove", "restore", "useful", "wrong", "outdated"]
_DONE: dict[Action, Done] = {
    "pin": "pinned",
    "unpin": "unpinned",
    "off": "off",
    "on": "on",
    "remove": "removed",
    "restore": "restored",
    "useful": "voted",
    "wrong": "off",
    "outdated": "removed",
}
_TURNS_READ, _MOST_RUNS = 200, 20
_MOST_CHANGES = 50
_EDIT_ATTEMPTS = 5
WRONG, SWITCHED_OFF = "marked as wrong on the page", "switched off on the page"


class EditForm(BaseModel):
    """The new text, and the one that was in the form when it was shown."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    content: Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS), Bounded]
    shown: Annotated[Text, Field(max_length=MAX_CONTENT_CHARS)]
    back: Annotated[Text, Field(max_length=2_000)] = ""


class ActionForm(BaseModel):
    """Where the form leads back to; empty: the bullet."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    back: Annotated[Text, Field(max_length=2_000)] = ""


@routes.get("")
async def show(
    request: Request,
    playbook_id: PlaybookId,
    bullet_id: BulletName,
    target: PlaceDep,
    visitor: VisitorDep,
    query: Annotated[Flash, Query()],
) -> Response:
    """Show a bullet, or the one that it was merged into, with what is known of it."""

    def chosen(snapshot: Snapshot) -> list[Bullet]:
        name = snapshot.playbook.aliases.get(bullet_id, bullet_id)
        found = snapshot.playbook.get_bullet(name)
        if found is None:
            raise RequestRefused(404, "not_found", "there is no such bullet in this playbook any more")
        return [found]

    found = await read_worth(visitor.services.store, target, visitor.learner, chosen)
    (bullet,) = chosen(found.snapshot)
    kept = await visitor.services.store.history(target.key)
    recent = await visitor.services.store.turns(visitor.learner, _TURNS_READ)
    used = [turn for turn in recent if bullet.id in turn.injected]
    born = [turn for turn in found.turns if turn.turn_id in bullet.examples]
    values = {
        "playbook_id": playbook_id,
        "query": query,
        "asked_id": bullet_id,
        "bullet": bullet,
        "confidence": found.evidence.confidence(bullet, visitor.services.clock.now()),
        "etag": found.snapshot.version.etag or "",
        "born": born[-_MOST_RUNS:][::-1],
        "used": used[:_MOST_RUNS],
        "changes": [each for each in reversed(kept.entries) if _touches(each, bullet.id)][:_MOST_CHANGES],
    }
    return view_of(request, visitor, "bullet.html", values)


@routes.post("/edit", dependencies=[does("change")])
async def edit_text(
    request: Request,
    playbook_id: PlaybookId,
    bullet_id: BulletName,
    target: PlaceDep,
    visitor: VisitorDep,
    form: Annotated[EditForm, Form()],
) -> Response:
    """Change the text, unless it is no longer the one that was shown: then both are shown.

    Other bullets may change meanwhile. Raises PlaybookChanged where they do all the time.
    """
    patch = BulletPatch(content=form.content)
    back = _back(playbook_id, bullet_id, form.back)
    for _ in range(_EDIT_ATTEMPTS):
        base = await target.load()
        present = base.playbook.get_bullet(bullet_id)
        if present is None or present.content != form.shown:
            values = {
                "playbook_id": playbook_id,
                "bullet_id": bullet_id,
                "present": present,
                "typed": form.content,
                "back": form.back,
            }
            return view_of(request, visitor, "conflict.html", values, 409)
        edit = await edit_for(visitor, target, base.version.etag or "")
        try:
            return await changed(request, back, "edited", edit, partial(change, bullet_id, patch, edit))
        except PlaybookChanged:
            continue
    raise PlaybookChanged("others change this playbook all the time: send your change again")


@routes.post("/{action}", dependencies=[does("change")])
async def act(
    request: Request,
    playbook_id: PlaybookId,
    bullet_id: BulletName,
    action: Action,
    target: PlaceDep,
    visitor: VisitorDep,
    form: Annotated[ActionForm, Form()],
) -> Response:
    """Pin, switch off, remove or restore a bullet, or say how it did in an answer."""
    edit = await edit_for(visitor, target, "", own=action == "restore")
    gone = action in ("remove", "outdated")
    back = form.back or (
        f"/playbooks/{playbook_id}" if gone else f"/playbooks/{playbook_id}/bullets/{bullet_id}"
    )
    return await after_change(request, back, _DONE[action], edit, _change(action, bullet_id, edit))


def _change(action: Action, bullet_id: str, edit: Edit) -> Callable[[], Awaitable[ChangeReply]]:
    match action:
        case "pin" | "unpin":
            return lambda: change(bullet_id, BulletPatch(pinned=action == "pin"), edit)
        case "off" | "wrong":
            why = WRONG if action == "wrong" else SWITCHED_OFF
            return lambda: quarantine(bullet_id, QuarantineBody(why=why), edit)
        case "on":
            return lambda: release(bullet_id, edit)
        case "remove" | "outdated":
            return lambda: remove(bullet_id, edit)
        case "restore":
            return lambda: restore(bullet_id, edit)
        case "useful":
            return lambda: tag(bullet_id, TagBody(tag="helpful"), edit)


def _back(playbook_id: str, bullet_id: str, query: str) -> str:
    if query.startswith("/"):
        return query
    return f"/playbooks/{playbook_id}?{query}" if query else f"/playbooks/{playbook_id}/bullets/{bullet_id}"


def _touches(entry: HistoryEntry, bullet_id: str) -> bool:
    """Whether a version changed this bullet."""
    report = entry.report
    named = (
        report.added,
        report.reinforced,
        report.updated,
        report.tagged,
        report.removed,
        report.restored,
        report.quarantined,
        report.released,
    )
    pairs = (*report.merged, *report.superseded)
    return any(bullet_id in ids for ids in named) or any(
        bullet_id in (each.kept, each.gone) for each in pairs
    )
