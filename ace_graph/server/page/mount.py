"""The page as an application of its own, and its place in another one.

So its errors are pages and not JSON, and its headers reach none of the other routes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, unquote, urlsplit

from fastapi import APIRouter, FastAPI, Form, Query, Request, Response
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ace_graph.base.clock import Clock, SystemClock
from ace_graph.base.errors import AceError, RequestRefused
from ace_graph.base.settings import Settings
from ace_graph.base.telemetry import audit_operator
from ace_graph.server.auth import Authenticator
from ace_graph.server.errors import REQUEST_ID, error_location, http_error_for, validation_message
from ace_graph.server.metrics import Metrics
from ace_graph.server.middleware import AccessControl, does
from ace_graph.server.page.render import LANGUAGES, THEMES, Renderer, check_assets, find_asset
from ace_graph.server.page.session import (
    COOKIE,
    OPERATED,
    REFUSED,
    Flash,
    LoginNeeded,
    PageContext,
    PageRoute,
    Refused,
    VisitorDep,
    carried_fields,
    drop_cookie,
    is_known,
    keep_cookie,
    local_path,
    page_of,
    prefix_of,
    sent_by_page,
    start_session,
    typed_by,
)
from ace_graph.server.page.views import chat, history, people, playbook, privacy, review, runs
from ace_graph.server.rate_limit import TokenBucket
from ace_graph.server.routes import learner
from ace_graph.server.services import Overrides, Services, open_services

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Mapping[str, str] = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def _with_security_headers(app: ASGIApp) -> ASGIApp:
    """Send these headers with every response of the page.

    What is not marked as cacheable is kept by no cache: it shows a learner's memory.
    """

    async def pass_on(scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await app(scope, receive, with_headers)

    return pass_on


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
async def static_file(name: str, digest: Annotated[str, InPath(max_length=64)]) -> Response:
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
    try:
        if len(token) > MAX_TOKEN_CHARS:
            raise RequestRefused(401, "invalid_token", _TOO_LONG)  # noqa: TRY301  it is answered below
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
async def operate(
    visitor: VisitorDep, name: Annotated[str, Form(alias="learner", max_length=512)] = ""
) -> Response:
    """Let an operator look at a learner's memory, or at the own one again (empty)."""
    name, request = name.strip(), visitor.request
    response = visitor.lead_to("/memory")
    if name and (visitor.identity.may_operate or visitor.identity.operator is not None):
        keep_cookie(request, response, OPERATED, quote(name, safe=""), None)
    else:
        drop_cookie(request, response, OPERATED)
    return response


class LearnerSearchQuery(Flash):
    """Which learners an operator looks for."""

    search: Annotated[str, Field(max_length=256, pattern=r"^[^\x00]*$")] = ""
    after: Annotated[str, Field(max_length=256, pattern=r"^[^\x00]*$")] = ""


@routes.get("/learners")
async def find_learners(visitor: VisitorDep, query: Annotated[LearnerSearchQuery, Query()]) -> Response:
    """Let an operator find a learner by a part of the id."""
    identity, services = visitor.identity, visitor.services
    allowed = identity.may_operate or identity.operator is not None
    who, asked = identity.operator or identity.learner, "GET /page/learners"
    audit_operator(who, "", allowed=allowed, asked=asked, request_id=REQUEST_ID.get())
    if not allowed:
        raise RequestRefused(403, "forbidden", "only an operator sees the learners")
    page = learner.LearnersQuery(search=query.search, after=query.after, limit=50)
    found = await learner.list_all(identity, services, page)
    return visitor.show("learners.html", query=query, found=found)


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


logger = logging.getLogger("ace_graph")
_VIEWS = (
    *(routes, chat.routes, playbook.memory, people.routes, playbook.routes, history.routes, review.routes),
    *(runs.routes, privacy.routes),
)


def page_app(
    settings: Settings,
    services: Callable[[], Services],
    authenticator: Authenticator,
    rate: TokenBucket,
    templates: Path | None = None,
) -> FastAPI:
    """Return the page as an application; `services` are those that are open while it is served.

    `templates` is a folder whose files are taken instead of ours of the same name. Raises ConfigurationError
    where a file of the page is missing.
    """
    check_assets()
    page = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        routes=[route for router in _VIEWS for route in router.routes],
    )
    page.state.page = PageContext(
        authenticator=authenticator,
        rate=rate,
        renderer=Renderer(templates, settings.timezone),
        token_header=settings.page_token_header,
        services=services,
    )
    page.add_middleware(_with_page_for_unexpected)
    page.add_middleware(_with_security_headers)
    for kind in (AceError, HTTPException, RequestValidationError, ValidationError):
        page.add_exception_handler(kind, _error_page)
    page.add_exception_handler(LoginNeeded, _login_page)
    return page


def serve_page(host: FastAPI, page: ASGIApp, prefix: str, *, also_at: Sequence[str] = ()) -> None:
    """Serve the page of `page_app` under `prefix`, below the address of `host` where that is mounted itself.

    The prefix without a slash at its end leads there, and so does what `also_at` names.
    """
    host.mount(prefix, page)

    async def to_the_page(request: Request) -> Response:
        return RedirectResponse(f"{prefix_of(request)}{prefix}/", 303)

    for path in (prefix, *also_at):
        host.add_route(path, to_the_page, include_in_schema=False)


def _with_page_for_unexpected(app: ASGIApp) -> ASGIApp:
    """Show a page for an unexpected error, and log where it was raised.

    Its text may hold what somebody typed, and reaches no log.
    """

    async def pass_on(scope: Scope, receive: Receive, send: Send) -> None:
        began = False

        async def noticed(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await app(scope, receive, noticed)
        except Exception as error:
            if began:
                raise
            logger.error("[ACE Server] unexpected %s", error_location(error))  # noqa: TRY400  its text may hold content
            response = _sentence_page(Request(scope), error, [])  # the body is gone by now
            await response(scope, receive, send)

    return pass_on


async def _error_page(request: Request, error: Exception) -> Response:
    """The page for an error; a form that was the page's own is shown again, with what was typed.

    That is the view that it was on, where it still has the form, else a page with nothing but the fields.
    """
    own = request.method == "POST" and sent_by_page(request) and is_known(request)
    typed = carried_fields(await _form(request)) if own else []
    status, sentence = _status_and_sentence(error)
    if typed and status not in _NOT_FOR_A_FIELD and "text/html" in request.headers.get("accept", ""):
        refused = Refused(request.url.path, status, sentence, dict(typed))
        if (view := await _view_of_form(request, refused)) is not None:
            return view
    return _sentence_page(request, error, typed)


_NOT_FOR_A_FIELD = frozenset({401, 403, 404})
_OF_THE_ROUTE = frozenset({"path_params", "endpoint", "route", "router", "app"})


async def _view_of_form(request: Request, refused: Refused) -> Response | None:
    """Return the view that the form was on with the form as it was sent; None where it is not there."""
    place = urlsplit(request.headers.get("referer", ""))
    if local_path(place.path, prefix_of(request)) != place.path:
        return None
    scope = {name: value for name, value in request.scope.items() if name not in _OF_THE_ROUTE}
    scope |= {"method": "GET", "path": unquote(place.path), "raw_path": place.path.encode()}
    scope |= {"query_string": place.query.encode(), REFUSED: refused}
    sent = list[Message]()

    async def nothing() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def keep(message: Message) -> None:
        sent.append(message)

    await request.app(scope, nothing, keep)
    if sent[0]["status"] != 200 or not refused.shown:
        return None
    return HTMLResponse(b"".join(message.get("body", b"") for message in sent), refused.status)


def _status_and_sentence(error: Exception) -> tuple[int, str]:
    if isinstance(error, RequestValidationError | ValidationError):
        details = [{**detail, "loc": _field_of_form(detail["loc"])} for detail in error.errors()]
        return 422, validation_message(details)
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail)
    refused = error if isinstance(error, RequestRefused) else http_error_for(error)
    return refused.status, str(refused)


_FIELDS = {"content": "text", "texts": "text", "why": "reason"}
"""What the forms call their fields, where that is another word."""


def _field_of_form(place: Sequence[object]) -> tuple[str, str]:
    names = [part for part in place if isinstance(part, str) and part not in ("body", "query", "path")]
    return "body", f"the {_FIELDS.get(names[0], names[0])}" if names else "the form"


def _sentence_page(request: Request, error: Exception, typed: Sequence[tuple[str, str]]) -> Response:
    status, sentence = _status_and_sentence(error)
    context: PageContext = request.app.state.page
    values = {"status": status, "sentence": sentence, "typed": typed, "learner": None}
    return context.renderer.page(request, "error.html", values, status)


async def _login_page(request: Request, error: Exception) -> Response:
    """The form for a token. What was typed into another form is carried along for the learner who did."""
    expired = isinstance(error, LoginNeeded) and error.expired
    posted, whose = request.method == "POST", typed_by(request) if expired else ""
    return _login(
        request,
        401,
        expired=expired,
        target=request.url.path + (f"?{request.url.query}" if request.url.query and not posted else ""),
        typed_by=whose,
        carried=carried_fields(await _form(request)) if posted and whose else [],
    )


async def _form(request: Request) -> Sequence[tuple[str, object]]:
    """Return the fields of the form, also such as come several times; nothing where it can't be read."""
    try:
        return (await request.form()).multi_items()
    except (RuntimeError, HTTPException):  # the body was read before by what failed, or it is no form
        return ()


def mount_page(
    host: FastAPI,
    settings: Settings,
    overrides: Overrides | None = None,
    *,
    prefix: str = "/page",
    templates: Path | None = None,
    clock: Clock | None = None,
) -> None:
    """Serve the page in `host`, under `prefix`. What `overrides` leaves out is made from the settings.

    What it works with is opened before the lifespan of `host` begins, and closed after it. `templates` is a
    folder whose files are taken instead of ours of the same name. Raises ConfigurationError for settings that
    can't be used, and where a file of the page is missing; the start of `host` raises StoreError, too.
    """
    own_clock = clock or SystemClock()
    authenticator, rate = Authenticator(settings, own_clock), TokenBucket(settings.server_rate, own_clock)
    opened, inner = list[Services](), host.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[Any]:  # the host's own state
        async with open_services(settings, overrides or Overrides(), Metrics(), own_clock) as services:
            opened.append(services)
            async with inner(app) as state:
                yield state

    host.router.lifespan_context = lifespan
    page = page_app(settings, lambda: opened[-1], authenticator, rate, templates)
    guarded = AccessControl(
        page, authenticator=authenticator, rate=rate, max_bytes=settings.server_body_bytes
    )
    serve_page(host, guarded, prefix)
