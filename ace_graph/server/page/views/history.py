"""What was learned over time, in words: a playbook's changes, what two states differ in, the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Response
from pydantic import Field

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.commit import History
from ace_graph.memory.delta.effect import Archived, Merged, Put, Report, Revived
from ace_graph.playbooks.handle import PlaybookHandle
from ace_graph.server.middleware import does
from ace_graph.server.page.session import Flash, OpenedDep, PageForm, PageRoute
from ace_graph.server.routes import playbook as api
from ace_graph.server.schemas import VersionName

routes = APIRouter(prefix="/playbooks/{playbook_id}", route_class=PageRoute)
PAGE_SIZE = 30
Version = Annotated[int | None, Field(ge=0, le=2_147_483_647)]

_Text = Literal["added", "again", "changed", "replaced", "merged", "removed", "archived", "restored"]
Word = Literal[_Text, "off", "on", "voted", "pinned", "unpinned", "touched"]
"""What happened to a bullet; touched: something else than its text was changed."""


@dataclass(frozen=True)
class ToldChange:
    """What happened to a bullet (None: not known any more). `before` is what it said, where that changed."""

    word: Word
    bullet_id: str
    bullet: Bullet | None
    before: str = ""


@dataclass(frozen=True)
class Point:
    """A version in the timeline. `back`: it is the return to an earlier one."""

    n: int
    at: datetime
    author: str
    changes: tuple[ToldChange, ...]
    back: bool


async def read_points(handle: PlaybookHandle, bullet_id: str | None = None) -> list[Point]:
    """Return what happened to a playbook, or to one bullet of it, the newest first."""
    history = await handle.store.history(handle.key)
    found = await asyncio.to_thread(lambda: list(_points(history)))
    if bullet_id is not None:
        found = [
            Point(point.n, point.at, point.author, own, point.back)
            for point in found
            if (own := tuple(each for each in point.changes if each.bullet_id == bullet_id))
        ]
    return found[::-1]


def _points(history: History) -> Iterator[Point]:
    known = dict(history.base.entries)
    for entry in history.entries:
        after = {
            each.bullet.id: each.bullet
            for each in (() if entry.effect is None else entry.effect.changes)
            if isinstance(each, Put | Archived | Revived)
        }
        changes = tuple(_changes(entry.report, known, {**known, **after}))
        known |= after
        if changes:
            back = entry.reason.startswith("rolled back")
            yield Point(entry.n, entry.at, entry.author, changes, back)


def _changes(
    report: Report, before: Mapping[str, Bullet], after: Mapping[str, Bullet]
) -> Iterator[ToldChange]:
    told = set[str]()
    pairs: tuple[tuple[Word, tuple[Merged, ...]], ...] = (
        ("replaced", report.superseded),
        ("merged", report.merged),
    )
    for word, merged in pairs:
        for pair in merged:
            told |= {pair.kept, pair.gone}
            gone = after.get(pair.gone)
            yield ToldChange(word, pair.kept, after.get(pair.kept), gone.content if gone else "")
    lists: tuple[tuple[Word, Iterable[str]], ...] = (
        ("added", report.added),
        ("restored", report.restored),
        ("removed", report.removed),
        ("archived", [pruned.id for pruned in report.pruned]),
        ("off", report.quarantined),
        ("on", report.released),
        ("changed", report.updated),
        ("again", report.reinforced),
        ("voted", report.tagged),
    )
    for word, ids in lists:
        for name in dict.fromkeys(ids):
            if name not in told:
                told.add(name)
                yield (
                    _updated(before.get(name), after.get(name), name)
                    if word == "changed"
                    else ToldChange(word, name, after.get(name))
                )


def _updated(before: Bullet | None, after: Bullet | None, name: str) -> ToldChange:
    """Return what was changed of a bullet: its text, or whether it is pinned, or something less."""
    if before is None or after is None:
        return ToldChange("changed", name, after)
    if before.content != after.content:
        return ToldChange("changed", name, after, before.content)
    pinned: Word = "pinned" if after.pinned else "unpinned"
    return ToldChange("touched" if before.pinned == after.pinned else pinned, name, after)


class VersionsQuery(Flash):
    """Which page of the timeline, with `votes` also verdicts; and the point to compare another one with."""

    older: Version = None
    votes: bool = False
    since: Annotated[Version, Field(alias="from")] = None


class RollbackForm(PageForm):
    """The version to go back to."""

    version: VersionName
    etag: Annotated[str, Field(max_length=128)] = ""


@routes.get("/history")
async def show_history(opened: OpenedDep, query: Annotated[VersionsQuery, Query()]) -> Response:
    """Show what happened, the newest first, and the bullets that have left."""
    points = [
        point
        for point in await read_points(opened.handle)
        if (query.older is None or point.n < query.older)
        and (query.votes or any(each.word != "voted" for each in point.changes))
    ]
    snapshot = await opened.visitor.services.store.load(opened.handle.key)
    page = points[:PAGE_SIZE]
    return opened.visitor.show(
        "history.html",
        playbook_id=opened.playbook_id,
        query=query,
        points=page,
        next=page[-1].n if len(points) > len(page) else None,
        present=snapshot.version.n,
        present_ids=frozenset(snapshot.playbook.entries),
        owner=opened.handle.asked is None,
        left=(await api.archive(opened.handle, 50)).bullets if query.older is None else [],
    )


class ComparedQuery(api.DiffQuery):
    """Two versions; with `back`, what would change if the memory went back from the first to the second."""

    back: bool = False


@routes.get("/diff")
async def show_difference(opened: OpenedDep, query: Annotated[ComparedQuery, Query()]) -> Response:
    """Show what came, went and changed between two versions, and where it is asked for, the way back."""
    found = await api.differences(opened.handle, query)
    snapshot = await opened.visitor.services.store.load(opened.handle.key)
    dates = {point.n: point.at for point in await read_points(opened.handle)}
    return opened.visitor.show(
        "diff.html",
        playbook_id=opened.playbook_id,
        asked=query,
        dates=dates,
        found=found,
        back=query.back,
        etag=snapshot.version.etag or "",
    )


@routes.post("/rollback", dependencies=[does("change")])
async def roll_back(opened: OpenedDep, form: Annotated[RollbackForm, Form()]) -> Response:
    """Go back to an earlier version, as a new one."""
    edit, back = await opened.edit(form.etag, own=True), f"/playbooks/{opened.playbook_id}/history"
    return await opened.visitor.after_change(back, "back", edit, partial(api.go_back, edit, form.version))
