"""The web backend as an ASGI application: layers, routes and errors put together.

    app = create_app(settings)          # uvicorn module:app serves it; `ace-graph serve` does

Does not: open anything before it is started, or listen on a port.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.routing import Match

from ace_graph.errors import AceError, RequestRefused
from ace_graph.server.auth import make_authenticator
from ace_graph.server.clock import Clock, SystemClock
from ace_graph.server.cors import allow_origins
from ace_graph.server.errors import (
    error_response,
    http_error_for,
    http_exception_response,
    validation_error_response,
)
from ace_graph.server.lifespan import Overrides, open_services
from ace_graph.server.metrics import Metrics
from ace_graph.server.middleware.access_log import AccessLogMiddleware
from ace_graph.server.middleware.auth import AuthMiddleware
from ace_graph.server.middleware.body_limit import body_too_large
from ace_graph.server.middleware.rate_limit import TokenBucket
from ace_graph.server.routes import chat, feedback, health, learner, playbook, playbook_curation, trajectories
from ace_graph.settings import Settings

__all__ = ["create_app"]

_ROUTES = (chat, playbook_curation, playbook, trajectories, feedback, learner, health)
# Its spans and logs hold queries, what was sent, and errors' texts; ours hold ids.
_SILENT: TelemetryConfig = {
    "tracing": False,
    "operation_spans": False,
    "metrics": False,
    "logs": False,
    "auto_configure": False,
}
_ABOUT = (
    "An agent that gets better at helping each learner. The learner is the subject of the bearer token; a "
    "learner reaches their own memory and conversations only."
)


def create_app(
    settings: Settings, overrides: Overrides | None = None, *, clock: Clock | None = None
) -> FastAPI:
    """Return the application. What `overrides` leaves out is made as the settings say.

    It opens its services when the server starts it and closes them when it stops. Raises ConfigurationError
    for settings that can't be used.
    """
    own_clock, metrics = clock or SystemClock(), Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            try:
                services = open_services(settings, overrides or Overrides(), metrics, own_clock)
                app.state.services = await stack.enter_async_context(services)
            except AceError as error:
                app.state.refused = error
                raise
            yield

    app = FastAPI(
        title="ace-graph",
        version=version("ace-graph"),
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        telemetry=_SILENT,
        redirect_slashes=False,  # where to is what the request's own Host header says
    )
    for each in _ROUTES:
        app.include_router(each.routes)
    _explain_errors(app, settings.server_body_bytes)
    authenticator, rate = (
        make_authenticator(settings, own_clock),
        TokenBucket(settings.server_rate, own_clock),
    )
    app.add_middleware(
        AuthMiddleware, authenticator=authenticator, rate=rate, most_bytes=settings.server_body_bytes
    )
    allow_origins(app, settings.server_origins)
    app.add_middleware(AccessLogMiddleware, clock=own_clock, observer=metrics)
    app.openapi = _described(app)  # type: ignore[method-assign]  # FastAPI's own way
    return app


def _explain_errors(app: FastAPI, most_bytes: int) -> None:
    async def by_refusal(_: Request, error: Exception) -> Response:
        return error_response(http_error_for(error))

    async def by_http(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException) or error.status_code == 413:
            return error_response(body_too_large(most_bytes))
        response = http_exception_response(error)
        if error.status_code == 405:
            response.headers["Allow"] = ", ".join(sorted(_methods(request)))
        return response

    async def by_shape(_: Request, error: Exception) -> Response:
        return (
            validation_error_response(error)
            if isinstance(error, RequestValidationError)
            else error_response(http_error_for(error))
        )

    handlers: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
        RequestRefused: by_refusal,
        AceError: by_refusal,
        HTTPException: by_http,
        RequestValidationError: by_shape,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def _methods(request: Request) -> set[str]:
    """Every method that the path is known with; Starlette names those of one route only."""
    routes = [route for each in _ROUTES for route in each.routes.routes if isinstance(route, APIRoute)]
    matching = [route for route in routes if route.matches(request.scope)[0] != Match.NONE]
    return {method for route in matching for method in route.methods or ()}


def _described(app: FastAPI) -> Callable[[], dict[str, object]]:
    """The OpenAPI document, with the token that everything under /api needs."""

    def openapi() -> dict[str, object]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
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
