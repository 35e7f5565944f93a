"""The frame around every request: its id, its line in the log, its place in the metrics, and a last net.

Whatever nobody caught becomes a 500 that tells nothing; the log names the error's class.

Does not: log bodies, queries, tokens or learners.
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
from ace_graph.server.telemetry import within_trace

__all__ = ["AccessLogMiddleware", "RequestObserver"]

logger = logging.getLogger("ace_graph")

HEADER = "x-request-id"
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})


class RequestObserver(Protocol):
    """Is told of every request that was answered."""

    def request_answered(self, method: str, route: str, status: int, seconds: float) -> None: ...


class AccessLogMiddleware:
    """The outermost ASGI layer."""

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
            with within_trace(Headers(scope=scope).get("traceparent")):
                await self._app(scope, receive, sent)
        except Exception as error:
            logger.error("[ACE Server] unexpected %s", error_location(error))  # noqa: TRY400  its text may hold content
            logger.debug("[ACE Server] where it came from", exc_info=error)
            if sent.status is not None:
                raise
            await error_response(http_error_for(error))(scope, receive, sent)
        finally:
            self._told(scope, sent.status or 499, self._clock.monotonic() - began)
            REQUEST_ID.reset(token)

    def _told(self, scope: Scope, status: int, seconds: float) -> None:
        # A stranger may make up as many methods as the metrics have room for.
        route, method = _route(scope), scope["method"] if scope["method"] in _METHODS else "other"
        self._observer.request_answered(method, route, status, seconds)
        level = logging.DEBUG if route in _QUIET and status < 400 else logging.INFO
        logger.log(level, "[ACE Server] %s %s %d %.0f ms", method, route, status, seconds * 1000)


class _Sent:
    """Passes messages on, adds the id to the headers, and remembers the status."""

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
    """The route's template, which has no ids in it; one name for all paths that are no route."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else "(none)"
