"""The page as an application of its own, and its place in another one.

So its errors are pages and not JSON, and its headers reach none of the other routes.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from pydantic import ValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ace_graph.base.clock import Clock, SystemClock
from ace_graph.base.errors import AceError, RequestRefused
from ace_graph.base.settings import Settings
from ace_graph.server.auth import Authenticator
from ace_graph.server.errors import error_location, http_error_for, validation_message
from ace_graph.server.metrics import Metrics
from ace_graph.server.middleware import AccessControl, TokenBucket
from ace_graph.server.page.render import Renderer, check_assets
from ace_graph.server.page.session import (
    LoginNeeded,
    PageContext,
    carried_fields,
    is_known,
    prefix_of,
    sent_by_page,
    typed_by,
)
from ace_graph.server.page.views import chat, frame, playbook, review, runs
from ace_graph.server.services import Overrides, Services, open_services

# What a browser may do with the page: nothing from elsewhere, no inline script or style, no frame.


_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS: Mapping[str, str] = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class SecurityHeaders:
    """The ASGI middleware that sends these headers with every response of the page.

    What is not marked as cacheable is kept by no cache: it shows a learner's memory.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self._app(scope, receive, with_headers)


logger = logging.getLogger("ace_graph")
_VIEWS = (
    frame.routes,
    chat.routes,
    playbook.routes,
    review.routes,
    runs.routes,
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
        renderer=Renderer(templates),
        token_header=settings.page_token_header,
        services=services,
    )
    page.add_middleware(_Unexpected)
    page.add_middleware(SecurityHeaders)
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


class _Unexpected:
    """The ASGI middleware that shows a page for an unexpected error, and logs where it was raised.

    Its text may hold what somebody typed, and reaches no log.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request."""
        began = False

        async def noticed(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await self._app(scope, receive, noticed)
        except Exception as error:
            if began:
                raise
            logger.error("[ACE Server] unexpected %s", error_location(error))  # noqa: TRY400  its text may hold content
            response = _sentence_page(Request(scope), error, [])  # the body is gone by now
            await response(scope, receive, send)


async def _error_page(request: Request, error: Exception) -> Response:
    """The page for an error; a form that was the page's own is shown again, with what was typed."""
    own = request.method == "POST" and sent_by_page(request) and is_known(request)
    return _sentence_page(request, error, carried_fields(await _form(request)) if own else [])


def _sentence_page(request: Request, error: Exception, typed: Sequence[tuple[str, str]]) -> Response:
    """One sentence that says what happened, and a way back."""
    if isinstance(error, RequestValidationError | ValidationError):
        status, sentence = 422, validation_message(error.errors())
    elif isinstance(error, HTTPException):
        status = error.status_code
        sentence = "there is no such page" if status == 404 else str(error.detail)
    else:
        refused = error if isinstance(error, RequestRefused) else http_error_for(error)
        status, sentence = refused.status, str(refused)
    context: PageContext = request.app.state.page
    values = {"status": status, "sentence": sentence, "typed": typed, "learner": None}
    return context.renderer.page(request, "error.html", values, status)


async def _login_page(request: Request, error: Exception) -> Response:
    """The form for a token. What was typed into another form is carried along for the learner who did."""
    context: PageContext = request.app.state.page
    expired = isinstance(error, LoginNeeded) and error.expired
    posted, whose = request.method == "POST", typed_by(request) if expired else ""
    values = {
        "expired": expired,
        "problem": "",
        "target": request.url.path if posted else _wanted(request),
        "typed_by": whose,
        "carried": carried_fields(await _form(request)) if posted and whose else [],
        "learner": None,
    }
    return context.renderer.page(request, "login.html", values, 401)


async def _form(request: Request) -> Sequence[tuple[str, object]]:
    """Return the fields of the form, also such as come several times; nothing where it can't be read."""
    try:
        return (await request.form()).multi_items()
    except (RuntimeError, HTTPException):  # the body was read before by what failed, or it is no form
        return ()


def _wanted(request: Request) -> str:
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path


# The page in somebody else's FastAPI application, without our API.


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
