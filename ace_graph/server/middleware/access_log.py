"""The outermost middleware: the request's id, its log line, its metrics, and a 500 for unexpected errors.

Bodies, queries, tokens and learners are never logged. The 500 says nothing about the error; the log has its
class and where it was raised.
"""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any, Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ace_graph.server.clock import Clock
from ace_graph.server.errors import error_location, error_response, http_error_for
from ace_graph.server.middleware.request_id import REQUEST_ID, request_id_of
from ace_graph.server.telemetry import continued_trace

logger = logging.getLogger("ace_graph")

HEADER = "x-request-id"
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})


class RequestObserver(Protocol):
    """Counts requests for the metrics."""

    def request_answered(self, method: str, route: str, status: int, seconds: float) -> None: ...


class AccessLogMiddleware:
    """The outermost ASGI middleware."""

    def __init__(self, app: ASGIApp, *, clock: Clock, observer: RequestObserver) -> None:
        self._app = app
        self._clock = clock
        self._observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        token = REQUEST_ID.set(request_id_of(Headers(scope=scope).get(HEADER)))
        began, sent = self._clock.monotonic(), _Sent(send)
        try:
            with continued_trace(Headers(scope=scope).get("traceparent")):
                await self._app(scope, receive, sent)
        except Exception as error:
            logger.error("[ACE Server] unexpected %s", error_location(error))  # noqa: TRY400  its text may hold content
            if sent.status is not None:  # the connection must end, and the server below logs what is raised
                raise RuntimeError("the response broke off") from None
            await error_response(http_error_for(error))(scope, receive, sent)
        finally:
            self._record(scope, sent.status or 499, self._clock.monotonic() - began)
            REQUEST_ID.reset(token)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        # A client may invent methods, and each would be one more series of the metrics.
        route, method = _route(scope), scope["method"] if scope["method"] in _METHODS else "other"
        self._observer.request_answered(method, route, status, seconds)
        level = logging.DEBUG if route in _QUIET and status < 400 else logging.INFO
        logger.log(level, "[ACE Server] %s %s %d %.0f ms", method, route, status, seconds * 1000)


class _Sent:
    """Passes messages on, adds headers, and keeps the status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            headers = MutableHeaders(scope=message)
            headers[HEADER] = REQUEST_ID.get() or ""
            headers.setdefault("cache-control", "no-store")
            headers["x-content-type-options"] = "nosniff"
        await self._send(message)


def _route(scope: MutableMapping[str, Any]) -> str:  # Any: ASGI's own scope
    """Return the route's template, which has no ids in it; one name for all unknown paths."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else "(none)"
