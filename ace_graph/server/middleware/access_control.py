"""Access control of everything under /api: authentication, rate limit and body limit.

It decides from the headers, so that a request without a valid token reaches no body parser, model or store.
/healthz, /readyz, /metrics and /openapi.json need no token; they say nothing about learners.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from ace_graph.errors import RequestRefused
from ace_graph.memory.sharing.asked import Caller
from ace_graph.server.auth import Authenticator, Identity
from ace_graph.server.errors import error_response
from ace_graph.server.middleware.body_limit import BoundedBody, body_too_large
from ace_graph.server.middleware.rate_limit import TokenBucket

__all__ = ["AccessControl", "is_loopback", "learner_of", "teams_of", "user_of"]

_IDENTITY = "ace_identity"


def is_loopback(host: str) -> bool:
    """Whether an address, or a name, is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class AccessControl:
    """The ASGI middleware that finds the learner of a request and applies the limits."""

    def __init__(
        self, app: ASGIApp, *, authenticator: Authenticator, rate: TokenBucket, max_bytes: int
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._rate_limit = rate
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request, or answer with an error."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            if self._authenticator.development:
                _check_local(scope, headers)
            # If the application is mounted under a prefix, ASGI's path includes it.
            if str(scope["path"]).removeprefix(scope.get("root_path", "")).startswith("/api/"):
                identity = await self._authenticator.identity(headers.get("authorization"))
                self._rate_limit.take(identity.learner)
                scope[_IDENTITY] = identity
            await self._app(scope, await self._bounded(headers, receive), send)
        except RequestRefused as error:
            await error_response(error)(scope, receive, send)

    async def _bounded(self, headers: Headers, receive: Receive) -> Receive:
        """Return `receive` with limits. Raises RequestRefused for a body that is announced as too large."""
        body, announced = BoundedBody(receive, self._max_bytes), headers.get("content-length", "0")
        if announced.isdigit() and int(announced) > self._max_bytes:
            await body.drain()
            raise body_too_large(self._max_bytes)
        return body


async def learner_of(request: Request) -> str:  # FastAPI runs what is not async in a thread
    """Return the authenticated learner. Raises RequestRefused if there is none."""
    return _identity(request).learner


async def teams_of(request: Request) -> frozenset[str] | None:
    """Return the teams that the token names; None where the store's table is to be asked."""
    return _identity(request).teams


async def user_of(request: Request) -> Caller | str:
    """Return the authenticated learner with the token's teams, or by name where the table is to be asked."""
    found = _identity(request)
    return found.learner if found.teams is None else Caller(found.learner, found.teams)


def _identity(request: Request) -> Identity:
    found: object = request.scope.get(_IDENTITY)
    if not isinstance(found, Identity):
        raise RequestRefused(401, "no_token", "send a bearer token: Authorization: Bearer ...")
    return found


def _check_local(scope: Scope, headers: Headers) -> None:
    """Refuse other machines, and host names that may be another site's (DNS rebinding)."""
    client: object = (scope.get("client") or ("",))[0]
    if not is_loopback(str(client)):
        raise RequestRefused(403, "forbidden", "in development mode only this machine is served")
    if not is_loopback(_host_name(headers.get("host", ""))):
        raise RequestRefused(403, "forbidden", "in development mode the host must be localhost")


def _host_name(host: str) -> str:
    """Return the name in a Host header without the port; empty if there is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:  # brackets that do not close
        return ""
