"""The web backend as an ASGI application: middleware, routes and error handlers.

app = create_app(settings)          # uvicorn module:app serves it; `ace-graph serve` does
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Match

from ace_graph.base.clock import Clock, SystemClock
from ace_graph.base.errors import AceError, ConfigurationError, RequestRefused
from ace_graph.base.settings import Settings
from ace_graph.server import webhooks
from ace_graph.server.auth import Authenticator
from ace_graph.server.errors import (
    error_response,
    http_error_for,
    http_exception_response,
    validation_message,
)
from ace_graph.server.metrics import Metrics
from ace_graph.server.middleware import OPERATOR_HEADER, AccessControl, AccessLogMiddleware, body_too_large
from ace_graph.server.page.mount import page_app, serve_page
from ace_graph.server.rate_limit import TokenBucket
from ace_graph.server.routes import (
    changes,
    conversations,
    health,
    learner,
    memories,
    playbook,
    sharing,
    trajectories,
)
from ace_graph.server.schemas import ChatEvents
from ace_graph.server.services import Overrides, open_services
from ace_graph.server.sse import described_events

_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+")
_REQUEST_HEADERS = (
    *("Authorization", "Content-Type", "Idempotency-Key", "If-Match", "Last-Event-ID"),
    *(OPERATOR_HEADER, "X-Request-Id"),
)
_RESPONSE_HEADERS = ("ETag", "Retry-After", "X-Request-Id")


def allow_origins(app: FastAPI, origins: Sequence[str]) -> None:
    """Add the CORS middleware, which answers preflight requests before a token is needed.

    Raises ConfigurationError for what is no origin. A star is refused: it would open a server in development
    mode to every page that is looked at on this machine.
    """
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise ConfigurationError(
                f"ACE_SERVER_ORIGINS: {origin} is not an origin: write https://app.example, without a path"
            )
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["DELETE", "GET", "PATCH", "POST", "PUT"],
            allow_headers=list(_REQUEST_HEADERS),
            expose_headers=list(_RESPONSE_HEADERS),
        )


_ROUTERS: tuple[APIRouter, ...] = (
    *(conversations.chatting, conversations.routes),
    *(playbook.own, playbook.listed, playbook.named, playbook.templates),
    *(changes.own, changes.named),
    *(sharing.routes, sharing.own, memories.routes),
    *(trajectories.routes, trajectories.judging),
    *(learner.routes, learner.all_routes, health.routes),
)

# FastAPI's spans and logs hold queries, bodies and error messages; ours hold ids only.
_NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "operation_spans": False,
    "metrics": False,
    "logs": False,
    "auto_configure": False,
}
_DESCRIPTION = (
    "An agent that gets better at helping each learner. The learner is the subject of the bearer token, and "
    "can reach only their own memory and conversations. A token with the operator claim reaches another "
    "learner's memory by the header `X-ACE-Learner`."
)


def create_app(
    settings: Settings,
    overrides: Overrides | None = None,
    *,
    clock: Clock | None = None,
    page: bool = True,
    page_templates: Path | None = None,
) -> FastAPI:
    """Return the application. What `overrides` leaves out is made from the settings.

    Its services are opened when the server starts it and closed when it stops. With `page` it also serves the
    page for people under /page; `page_templates` is a folder whose templates are taken instead of ours.
    Raises ConfigurationError for settings that can't be used, and where a file of the page is missing.
    """
    own_clock, metrics = clock or SystemClock(), Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            opened = open_services(settings, overrides or Overrides(), metrics, own_clock)
            try:
                app.state.services = await stack.enter_async_context(opened)
            except AceError as error:
                app.state.startup_error = error
                raise
            yield

    app = FastAPI(
        title="ace-graph",
        version=version("ace-graph"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        telemetry=_NO_TELEMETRY,
        # include_router would build each route once more for each application, in its first requests: 0.2 s.
        routes=[route for router in _ROUTERS for route in router.routes],
        webhooks=webhooks.described,
        redirect_slashes=False,  # the target would be taken from the request's Host header
    )
    _add_error_handlers(app, settings.server_body_bytes)
    authenticator, rate = Authenticator(settings, own_clock), TokenBucket(settings.server_rate, own_clock)
    app.add_middleware(
        AccessControl,
        authenticator=authenticator,
        rate=rate,
        max_bytes=settings.server_body_bytes,
        origins=settings.server_origins,
    )
    if page:
        shown = page_app(settings, lambda: app.state.services, authenticator, rate, page_templates)
        serve_page(app, shown, "/page", also_at=("/",))
    allow_origins(app, settings.server_origins)
    app.add_middleware(AccessLogMiddleware, clock=own_clock, observer=metrics)
    app.openapi = _openapi_with_token(app)  # type: ignore[method-assign]  # FastAPI's own way
    return app


def _add_error_handlers(app: FastAPI, max_bytes: int) -> None:
    async def handle(request: Request, error: Exception) -> Response:
        if isinstance(error, RequestValidationError):
            return error_response(RequestRefused(422, "invalid", validation_message(error.errors())))
        if not isinstance(error, HTTPException):
            return error_response(http_error_for(error))
        if error.status_code == 413:
            return error_response(body_too_large(max_bytes))
        response = http_exception_response(error)
        if error.status_code == 405:
            response.headers["Allow"] = ", ".join(sorted(_methods(request)))
        return response

    for kind in (RequestRefused, AceError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, handle)


def _methods(request: Request) -> set[str]:
    """Return all methods of the path; Starlette names those of one route only."""
    routes = [route for router in _ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    matching = [route for route in routes if route.matches(request.scope)[0] != Match.NONE]
    fixed = [route for route in matching if not route.param_convertors]
    described = [route for route in fixed or matching if route.include_in_schema]
    return {method for route in described for method in route.methods or ()}


def _openapi_with_token(app: FastAPI) -> Callable[[], dict[str, object]]:
    """Return FastAPI's `openapi`, which adds what events hold, and the token that all under /api needs."""

    def openapi() -> dict[str, object]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
                webhooks=app.webhooks.routes,
            )
            streamed = described_events(ChatEvents, changes.ChangeEvents)
            document["components"]["schemas"] = {**streamed, **document["components"]["schemas"]}
            document["components"]["securitySchemes"] = {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            }
            for path, operations in document["paths"].items():
                if path.startswith("/api/"):
                    for operation in operations.values():
                        operation["security"] = [{"bearer": []}]
            app.openapi_schema = document
        return app.openapi_schema

    return openapi
