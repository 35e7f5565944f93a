"""What every view has around it: the start, signing in and out, language and theme, static files."""

from __future__ import annotations

import time
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Path, Query, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from ace_graph.base.errors import RequestRefused
from ace_graph.server.middleware import does
from ace_graph.server.page.render import LANGUAGES, THEMES, find_asset
from ace_graph.server.page.session import (
    COOKIE,
    OPERATED,
    PageRoute,
    VisitorDep,
    carried_fields,
    drop_cookie,
    keep_cookie,
    local_path,
    page_of,
    prefix_of,
    start_session,
)

routes = APIRouter(route_class=PageRoute)
MAX_TOKEN_CHARS = 4_000
"""Browsers drop a cookie of more than 4,096 bytes."""
_TOO_LONG = (
    "it has more than 4,000 characters, which no browser keeps: ask for one with fewer claims, or let a "
    "proxy send it (ACE_PAGE_TOKEN_HEADER)"
)
_FOR_GOOD = "public, max-age=31536000, immutable"
_YEAR = 31_536_000
_OWN_FIELDS = frozenset({"token", "target", "typed_by"})


@routes.get("/")
async def start(visitor: VisitorDep) -> Response:
    """Begin with the chat."""
    return visitor.lead_to("/chat")


@routes.get("/static/{digest}/{name}")
async def static_file(name: str, digest: Annotated[str, Path(max_length=64)]) -> Response:
    """Return a file; its address changes with its content, so it may be kept for good."""
    found = find_asset(name)
    if found is None:
        raise HTTPException(404)
    kept = {"cache-control": _FOR_GOOD} if digest == found.digest else {}
    return Response(found.content, media_type=found.media_type, headers=kept)


@routes.get("/login")
async def login_form(request: Request, target: Annotated[str, Query(max_length=2_000)] = "") -> Response:
    """Show the form for a token."""
    return _login(request, 200, target=target)


@routes.post("/login")
async def log_in(request: Request) -> Response:
    """Take a token, keep it in a cookie, and go on to where the visitor wanted to go.

    A form that was sent without a valid token is shown once more to the learner who typed it, to be sent now.
    """
    page, form = page_of(request), await request.form()
    token, target, typed_by = (str(form.get(name, "")) for name in ("token", "target", "typed_by"))
    target = local_path(target, prefix_of(request))
    carried = [field for field in carried_fields(form.multi_items()) if field[0] not in _OWN_FIELDS]
    token = token.strip()[: MAX_TOKEN_CHARS + 1].removeprefix("Bearer ").strip()
    if len(token) > MAX_TOKEN_CHARS:
        return _login(request, 401, problem=_TOO_LONG, target=target, typed_by=typed_by, carried=carried)
    try:
        identity = await page.authenticator.identity(f"Bearer {token}")
    except RequestRefused as error:
        return _login(request, 401, problem=str(error), target=target, typed_by=typed_by, carried=carried)
    if carried and typed_by != identity.learner:
        carried, target = [], f"{prefix_of(request)}/"
    response: Response = RedirectResponse(target, 303)
    if carried:
        values = {"learner": identity.learner, "target": target, "carried": carried}
        response = page.renderer.page(request, "carried.html", values)
    start_session(request, response, token, now=time.time())
    return response


def _login(request: Request, status: int, **values: object) -> Response:
    nothing = {"expired": False, "problem": "", "typed_by": "", "carried": (), "learner": None}
    return page_of(request).renderer.page(request, "login.html", {**nothing, **values}, status)


@routes.post("/logout")
async def log_out(request: Request) -> Response:
    """End the session."""
    response = RedirectResponse(f"{prefix_of(request)}/login", 303)
    for name in (COOKIE, OPERATED):
        drop_cookie(request, response, name)
    return response


@routes.post("/learner", dependencies=[does("read")])
async def operate(visitor: VisitorDep, learner: Annotated[str, Form(max_length=512)] = "") -> Response:
    """Let an operator look at a learner's memory, or at the own one again (empty)."""
    learner, request = learner.strip(), visitor.request
    response = visitor.lead_to("/playbooks/default")
    if learner and visitor.identity.may_operate:
        keep_cookie(request, response, OPERATED, quote(learner, safe=""), None)
    else:
        drop_cookie(request, response, OPERATED)
    return response


@routes.post("/look")
async def change_look(
    request: Request,
    target: Annotated[str, Form(max_length=2_000)] = "",
    language: Annotated[str, Form(max_length=8)] = "",
    theme: Annotated[str, Form(max_length=8)] = "",
) -> Response:
    """Keep the language or the theme in a cookie."""
    response = RedirectResponse(local_path(target, prefix_of(request)), 303)
    for name, value, known in (("ace_language", language, LANGUAGES), ("ace_theme", theme, THEMES)):
        if value in known:
            keep_cookie(request, response, name, value, _YEAR)
    return response
