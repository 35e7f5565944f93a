"""What every HTTP request passes before a route sees it."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from fastapi import Depends, HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ace_graph.base.clock import Clock
from ace_graph.base.errors import ConfigurationError, RequestRefused
from ace_graph.base.off_loop import working_for
from ace_graph.base.settings import Settings
from ace_graph.base.telemetry import audit_operator
from ace_graph.server.auth import Act, Authenticator, Identity
from ace_graph.server.errors import REQUEST_ID, error_location, error_response, http_error_for, request_id_of
from ace_graph.server.metrics import Metrics, continued_trace
from ace_graph.server.rate_limit import TokenBucket, cost_of

SECONDS = 30.0
"""From the first read of the body until all of it has arrived."""
_MAX_DRAINED = 16


class BoundedBody:
    """ASGI's `receive`: raises 413 for a body that is too large, and 408 for one that is too slow.

    `arrived` is told the length of a body that has arrived as a whole, and may refuse it.
    """

    def __init__(
        self, receive: Receive, max_bytes: int, arrived: Callable[[int], None] = lambda _: None
    ) -> None:
        self._receive = receive
        self._arrived = arrived
        self._max_bytes = max_bytes
        self._read = 0
        self._until: float | None = None
        self._whole = False

    async def __call__(self) -> Message:
        """Return the next message; after the body's last one nothing is limited."""
        if self._whole:
            return await self._receive()
        try:
            message = await self._next()
        except TimeoutError as error:
            # The only kind of error that FastAPI passes on while it reads a body.
            raise HTTPException(408, "too slow", headers={"Connection": "close"}) from error
        if self._read > self._max_bytes:
            await self.drain()
            raise HTTPException(413, "too large")
        if self._whole:
            try:
                self._arrived(self._read)
            except RequestRefused as error:
                headers = {"Retry-After": str(error.retry_after or 1)}
                raise HTTPException(error.status, str(error), headers=headers) from error
        return message

    async def drain(self) -> None:
        """Read the rest, up to a limit, because a client that still sends does not read the answer."""
        most = self._max_bytes * _MAX_DRAINED
        with suppress(TimeoutError):
            while not self._whole and self._read <= most:
                await self._next()

    async def _next(self) -> Message:
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + SECONDS
        async with asyncio.timeout_at(self._until):
            message = await self._receive()
        self._read += len(message.get("body", b""))
        self._whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message


def body_too_large(max_bytes: int) -> RequestRefused:
    return RequestRefused(413, "too_large", f"the body is too large: at most {max_bytes} bytes")


OPERATOR_HEADER = "X-ACE-Learner"
_IDENTITY, _ACT = "ace_identity", "ace_act"
_READING = frozenset({"GET", "HEAD"})
_SAFE = _READING | {"OPTIONS"}


def announced_bytes(headers: Headers) -> int:
    """Return how long a request says that its body is; 0 where it does not say so."""
    length = headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else 0


def is_loopback(host: str) -> bool:
    """Whether an address, or a name, is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_open(settings: Settings) -> bool:
    """Whether a server with these settings asks for no token (development mode)."""
    return settings.jwt_secret is None and settings.jwks is None


def check_address(settings: Settings, host: str, server: str) -> None:
    """Raise ConfigurationError where others could reach a server that asks for no token."""
    if is_open(settings) and not is_loopback(host):
        raise ConfigurationError(
            f"without ACE_JWT_SECRET or ACE_JWKS the {server} listens on 127.0.0.1 only, not on {host}: "
            "set one of them"
        )


_DEFAULT_PORTS = {"http": 80, "https": 443}


def from_elsewhere(scope: Scope, headers: Headers) -> bool:
    """Whether a browser says that another website sends this: another scheme, host or port.

    What is no browser says nothing, and is not from elsewhere. A proxy with TLS names the scheme.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is None:
        return site not in (None, "same-origin", "none")
    theirs = _origin(origin)
    forwarded = headers.get("x-forwarded-proto", "").partition(",")[0].strip()
    scheme = forwarded or str(scope["scheme"])
    if theirs is not None and site == "same-origin":
        scheme = theirs[0]  # the browser has compared it, and knows it where a proxy does not say it
    return theirs is None or theirs != _origin(f"{scheme}://{headers.get('host', '')}")


def _origin(url: str) -> tuple[str, str, int | None] | None:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:  # brackets that do not close, or a port that is no number
        return None


class AccessControl:
    """The ASGI middleware that finds the learner of a request under /api and applies the limits.

    It decides from the headers, so that a request without a valid token reaches no body parser, model or
    store. A request that may change something is refused where a browser sends it for another website: in
    development mode there is no token that such a website would lack. Other paths say nothing about learners.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        authenticator: Authenticator,
        rate: TokenBucket,
        max_bytes: int,
        prefix: str = "/api/",
        origins: Sequence[str] = (),
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._rate_limit = rate
        self._max_bytes = max_bytes
        self._prefix = prefix
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            if self._authenticator.development:
                _check_local(scope, headers)
            trusted = scope["method"] in _SAFE or headers.get("origin") in self._origins
            if not trusted and from_elsewhere(scope, headers):
                raise RequestRefused(  # noqa: TRY301  it is answered below
                    403,
                    "forbidden",
                    "another website sent this: name it in ACE_SERVER_ORIGINS if it is yours; a proxy must "
                    "pass on Host and X-Forwarded-Proto",
                )
            # If the application is mounted under a prefix, ASGI's path includes it.
            if str(scope["path"]).removeprefix(scope.get("root_path", "")).startswith(self._prefix):
                identity = await self._authenticator.identity(headers.get("authorization"))
                self._rate_limit.take(
                    identity.learner, cost_of(min(announced_bytes(headers), self._max_bytes))
                )
                scope[_IDENTITY] = about_learner(identity, headers.getlist(OPERATOR_HEADER), scope)
                with working_for(identity.learner):
                    bounded = await self._bounded(headers, receive, identity.learner)
                    await self._app(scope, bounded, send)
            else:
                await self._app(scope, await self._bounded(headers, receive), send)
        except RequestRefused as error:
            await error_response(error)(scope, receive, send)

    async def _bounded(self, headers: Headers, receive: Receive, learner: str | None = None) -> Receive:
        """Return `receive` with limits. Raises RequestRefused for a body that is announced as too large.

        What a body of unknown length costs the learner is taken when it has arrived.
        """

        def charge(body_bytes: int) -> None:
            if learner is not None and "content-length" not in headers and cost_of(body_bytes) > 1:
                self._rate_limit.take(learner, cost_of(body_bytes) - 1)

        body = BoundedBody(receive, self._max_bytes, charge)
        if announced_bytes(headers) > self._max_bytes:
            await body.drain()
            raise body_too_large(self._max_bytes)
        return body


async def sender_of(request: Request) -> Identity:  # FastAPI runs what is not async in a thread
    """Return whose memory the request is about, and who sends it. Raises RequestRefused (401)."""
    found: object = request.scope.get(_IDENTITY)
    if not isinstance(found, Identity):
        raise RequestRefused(401, "no_token", "send a bearer token: Authorization: Bearer ...")
    return found


async def identity_of(request: Request) -> Identity:
    """Do what `sender_of` does. Raises RequestRefused (403) for what an operator may not do, too."""
    found = await sender_of(request)
    check_act(request, found)
    return found


async def learner_of(request: Request) -> str:
    """Return the learner that the request is about. Raises RequestRefused as `identity_of` does."""
    return (await identity_of(request)).learner


def does(act: Act) -> Any:  # Any: of FastAPI's Depends
    """Return the dependency of a route that says what it does with a memory.

    It must come before whatever reads the identity.
    """

    async def declare(request: Request) -> None:
        request.scope[_ACT] = act
        if isinstance(found := request.scope.get(_IDENTITY), Identity):
            found.check(act)

    return Depends(declare)


async def operators_only(request: Request) -> Identity:
    """Return the operator who asks for what concerns all learners; log it. Raises RequestRefused (403)."""
    found = await identity_of(request)
    if found.operator is None:  # else it is logged with the learner's id
        audit_operator(
            found.learner,
            "",
            allowed=found.may_operate,
            asked=f"{request.method} {request.url.path}",
            request_id=REQUEST_ID.get(),
        )
    if not found.may_operate:
        raise RequestRefused(
            403,
            "forbidden",
            "this is for operators: send an operator's token, without the header X-ACE-Learner",
        )
    return found


def check_act(request: Request, sender: Identity) -> None:
    """Check that this sender may do what the route does. Raises RequestRefused (403).

    An operator may not do what a route does not declare, unless it only reads.
    """
    declared = request.scope.get(_ACT, "read" if request.method in _READING else "own")
    sender.check(cast("Act", declared))


def about_learner(identity: Identity, named: Sequence[str], scope: Scope) -> Identity:
    """Return the identity, about the learner that an operator names in the header; log who asked."""
    if not named:
        return identity
    if len(named) > 1:
        raise RequestRefused(422, "invalid", f"send the header {OPERATOR_HEADER} once")
    learner_id = unquote(named[0])
    audit_operator(
        identity.learner,
        learner_id,
        allowed=identity.may_operate,
        asked=f"{scope['method']} {scope['path']}",
        request_id=REQUEST_ID.get(),
    )
    return identity.operating_on(learner_id)


def _check_local(scope: Scope, headers: Headers) -> None:
    """Refuse other machines, and host names that may be another site's (DNS rebinding)."""
    client: object = (scope.get("client") or ("",))[0]
    if not is_loopback(str(client)):
        raise RequestRefused(403, "forbidden", "in development mode only this machine is served")
    if not is_loopback(_host_name(headers.get("host", ""))):
        raise RequestRefused(403, "forbidden", "in development mode the host must be localhost")


def _host_name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:  # brackets that do not close
        return ""


logger = logging.getLogger("ace_graph")
HEADER = "x-request-id"
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})


class AccessLogMiddleware:
    """The outermost ASGI middleware: a request's id, log line and metrics, a 500 for what is unexpected.

    Bodies, queries, tokens and learners are never logged, of an error its class and where it was raised.
    """

    def __init__(self, app: ASGIApp, *, clock: Clock, observer: Metrics) -> None:
        self._app = app
        self._clock = clock
        self._observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        token = REQUEST_ID.set(request_id_of(Headers(scope=scope).get(HEADER)))
        began, status = self._clock.monotonic(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                headers = MutableHeaders(scope=message)
                headers[HEADER] = REQUEST_ID.get() or ""
                headers.setdefault("cache-control", "no-store")
                headers["x-content-type-options"] = "nosniff"
            await send(message)

        try:
            with continued_trace(Headers(scope=scope).get("traceparent")):
                await self._app(scope, receive, send_with_headers)
        except Exception as error:
            logger.error("[ACE Server] unexpected %s", error_location(error))  # noqa: TRY400  its text may hold content
            if status:  # the connection must end, and the server below logs what is raised
                raise RuntimeError("the response broke off") from None
            await error_response(http_error_for(error))(scope, receive, send_with_headers)
        finally:
            self._record(scope, status or 499, self._clock.monotonic() - began)
            REQUEST_ID.reset(token)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        # A client may invent methods, and each would be one more series of the metrics.
        route, method = _route(scope), scope["method"] if scope["method"] in _METHODS else "other"
        self._observer.request_answered(method, route, status, seconds)
        level = logging.DEBUG if route in _QUIET and status < 400 else logging.INFO
        logger.log(level, "[ACE Server] %s %s %d %.0f ms", method, route, status, seconds * 1000)


def _route(scope: MutableMapping[str, Any]) -> str:  # Any: ASGI's own scope
    """Return the route's template, which has no ids in it; one name for all unknown paths."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else "(none)"
