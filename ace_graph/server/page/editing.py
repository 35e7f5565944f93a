"""Changes that forms of the page ask for, made by the functions behind the HTTP API, and taken back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated
from urllib.parse import urlencode
from uuid import uuid4

from fastapi import Depends, Path, Request
from starlette.responses import RedirectResponse, Response

from ace_graph.base.errors import PlaybookChanged
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.rights import Right
from ace_graph.playbooks.handle import PlaybookHandle
from ace_graph.server.page.session import Done, Visitor, VisitorDep, local_path, prefix_of
from ace_graph.server.routes.edit import Edit, playbook_of

PlaybookId = Annotated[str, Path(min_length=1, max_length=128)]


async def place_of(playbook_id: PlaybookId, visitor: VisitorDep) -> PlaybookHandle:
    """Return the playbook in the path. Raises PlaybookNotFound where the visitor may not read it."""
    return await playbook_of(visitor.services.store, playbook_id, visitor.identity)


PlaceDep = Annotated[PlaybookHandle, Depends(place_of)]
"""The playbook in the path, which the visitor may read."""


async def edit_for(visitor: Visitor, target: PlaybookHandle, etag: str, *, own: bool = False) -> Edit:
    """Return the change of a playbook that still has the version `etag`; empty: whatever it has.

    Raises PlaybookForbidden. With `own` only for whom the playbook belongs to, as the API has it.
    """
    if own:
        target.check_owner()
    else:
        await target.require(Right.WRITE)
    match = f'"{etag}"' if etag else None
    op_id = f"page-{uuid4().hex}"
    return Edit(visitor.services, visitor.identity, target, Response(), match, op_id)


async def after_change(
    request: Request, back: str, done: Done, edit: Edit, change: Callable[[], Awaitable[object]]
) -> Response:
    """Make the change and go back to the view, which says what was done and offers to undo it.

    Where the playbook was changed by somebody else in between, the view says so, and nothing is done.
    """
    try:
        return await changed(request, back, done, edit, change)
    except PlaybookChanged:
        return to_view(request, back, {"said": "stale"})


async def changed(
    request: Request, back: str, done: Done, edit: Edit, change: Callable[[], Awaitable[object]]
) -> Response:
    """Do the same, but raise PlaybookChanged where somebody else changed the playbook in between."""
    known = await edit.playbook.load()
    await change()
    now = await edit.playbook.load()
    before, after = known.version, now.version
    if done in ("added", "edited") and _holds_back(known.playbook, now.playbook):
        done = "held"
    if after.n == before.n:
        return to_view(request, back, {"said": "nothing"})
    if edit.playbook.asked is not None:  # only its owner may take a version back
        return to_view(request, back, {"said": done})
    of = {"of": edit.playbook.entry.playbook_id} if edit.playbook.entry is not None else {}
    return to_view(request, back, {"said": done, "before": str(before.n), "after": after.etag or "", **of})


def _holds_back(known: Playbook, now: Playbook) -> bool:
    """Whether a bullet that was changed is in quarantine."""
    held = (each for each in now.entries.values() if each.status == "quarantined")
    return any(known.entries.get(each.id) != each for each in held)


def to_view(request: Request, back: str, said: Mapping[str, str]) -> Response:
    """Lead to a view of the page, or to its start, which says what was done."""
    prefix = prefix_of(request)
    path, _, fragment = local_path(f"{prefix}{back}", prefix).partition("#")
    joined = f"{path}{'&' if '?' in path else '?'}{urlencode(said)}{'#' if fragment else ''}{fragment}"
    return RedirectResponse(joined, 303)
