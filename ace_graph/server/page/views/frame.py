"""What every view has around it: the start, signing in and out, language and theme, static files."""

from __future__ import annotations

import time
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Path, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from ace_graph.errors import RequestRefused
from ace_graph.server.page.assets import find_asset
from ace_graph.server.page.render import LANGUAGES, THEMES
from ace_graph.server.page.session import (
    OPERATED,
    VisitorDep,
    carried_fields,
    check_origin,
    end_session,
    local_path,
    page_of,
    start_session,
)

__all__ = ["routes"]

routes = APIRouter()

MAX_TOKEN_CHARS = 8_192
_FOR_GOOD = "public, max-age=31536000, immutable"
_YEAR = 31_536_000
_OWN_FIELDS = frozenset({"token", "target"})


@routes.get("/")
async def start(request: Request, _: VisitorDep) -> Response:
    """Begin with the chat."""
    return RedirectResponse(f"{page_of(request).prefix}/chat", 303)


@routes.get("/static/{digest}/{name}")
async def static_file(name: str, digest: Annotated[str, Path(max_length=64)]) -> Response:
    """Return a file; its address changes with its content, so it may be kept for good."""
    found = find_asset(name)
    if found is None:
        raise HTTPException(404)
    kept = {"cache-control": _FOR_GOOD} if digest == found.digest else {}
    return Response(found.content, media_type=found.media_type, headers=kept)


@routes.get("/login")
async def login_form(request: Request, target: Annotated[str, Form()] = "") -> Response:
    """Show the form for a token."""
    nothing: list[tuple[str, str]] = []
    values = {"expired": False, "problem": "", "target": target, "carried": nothing, "learner": None}
    return page_of(request).renderer.page(request, "login.html", values)


@routes.post("/login")
async def log_in(request: Request) -> Response:
    """Take a token, keep it in a cookie, and go on to where the visitor wanted to go.

    A form that was sent without a valid token is shown once more, to be sent now.
    """
    check_origin(request)
    page, form = page_of(request), await request.form()
    token, target = (str(form.get(name, "")) for name in ("token", "target"))
    target = local_path(target, page.prefix)
    carried = [field for field in carried_fields(form.multi_items()) if field[0] not in _OWN_FIELDS]
    token = token.strip()[: MAX_TOKEN_CHARS + 1].removeprefix("Bearer ").strip()
    try:
        identity = await page.authenticator.identity(f"Bearer {token}")
    except RequestRefused as error:
        values = {"expired": False, "problem": str(error), "target": target, "carried": carried}
        return page.renderer.page(request, "login.html", {**values, "learner": None}, 401)
    response: Response = RedirectResponse(target, 303)
    if carried:
        values = {"learner": identity.learner, "target": target, "carried": carried}
        response = page.renderer.page(request, "carried.html", values)
    secure = request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"
    start_session(response, token, page, secure=secure, now=time.time())
    return response


@routes.post("/logout")
async def log_out(request: Request) -> Response:
    """End the session."""
    check_origin(request)
    page = page_of(request)
    response = RedirectResponse(f"{page.prefix}/login", 303)
    end_session(response, page)
    return response


@routes.post("/learner")
async def operate(
    request: Request, visitor: VisitorDep, learner: Annotated[str, Form(max_length=512)] = ""
) -> Response:
    """Let an operator look at a learner's memory, or at the own one again (empty)."""
    page, learner = page_of(request), learner.strip()
    response = RedirectResponse(f"{page.prefix}/playbooks/default", 303)
    if learner and visitor.identity.may_operate:
        response.set_cookie(
            OPERATED, quote(learner, safe=""), path=f"{page.prefix}/", httponly=True, samesite="strict"
        )
    else:
        response.delete_cookie(OPERATED, path=f"{page.prefix}/", httponly=True, samesite="strict")
    return response


@routes.post("/look")
async def change_look(
    request: Request,
    target: Annotated[str, Form(max_length=2_000)] = "",
    language: Annotated[str, Form(max_length=8)] = "",
    theme: Annotated[str, Form(max_length=8)] = "",
) -> Response:
    """Keep the language or the theme in a cookie."""
    check_origin(request)
    page = page_of(request)
    response = RedirectResponse(local_path(target, page.prefix), 303)
    for name, value, known in (("ace_language", language, LANGUAGES), ("ace_theme", theme, THEMES)):
        if value in known:
            response.set_cookie(name, value, max_age=_YEAR, path=f"{page.prefix}/", samesite="strict")
    return response
