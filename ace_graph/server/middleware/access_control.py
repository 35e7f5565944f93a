"""Access control of everything under /api: authentication, rate limit and body limit.

It decides from the headers, so that a request without a valid token reaches no body parser, model or store.
Here an operator's request gets the learner that it is about. By a route that does not depend on
`open_to_operators` an operator can't change anything.
/healthz, /readyz, /metrics and /openapi.json need no token; they say nothing about learners.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from ace_graph.errors import RequestRefused
from ace_graph.memory.sharing.asked import Caller
from ace_graph.server.auth import Authenticator, Identity
from ace_graph.server.errors import error_response
from ace_graph.server.middleware.body_limit import BoundedBody, body_too_large
from ace_graph.server.middleware.rate_limit import TokenBucket
from ace_graph.server.middleware.request_id import REQUEST_ID
from ace_graph.telemetry import audit_operator

__all__ = [
    "OPERATOR_HEADER",
    "AccessControl",
    "about_learner",
    "identity_of",
    "is_loopback",
    "learner_of",
    "learner_only",
    "open_to_operators",
    "teams_of",
    "user_of",
]

OPERATOR_HEADER = "X-ACE-Learner"
_IDENTITY, _OPEN = "ace_identity", "ace_open_to_operators"
_READING = frozenset({"GET", "HEAD"})


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
        self,
        app: ASGIApp,
        *,
        authenticator: Authenticator,
        rate: TokenBucket,
        max_bytes: int,
        prefix: str = "/api/",
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._rate_limit = rate
        self._max_bytes = max_bytes
        self._prefix = prefix

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
            if str(scope["path"]).removeprefix(scope.get("root_path", "")).startswith(self._prefix):
                identity = await self._authenticator.identity(headers.get("authorization"))
                self._rate_limit.take(identity.learner)
                scope[_IDENTITY] = about_learner(identity, headers.getlist(OPERATOR_HEADER), scope)
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


async def identity_of(request: Request) -> Identity:  # FastAPI runs what is not async in a thread
    """Return whose memory the request is about, and who sends it. Raises RequestRefused.

    It is 401 where nobody is authenticated, and 403 for an operator's change by a route that is not open to
    operators.
    """
    found: object = request.scope.get(_IDENTITY)
    if not isinstance(found, Identity):
        raise RequestRefused(401, "no_token", "send a bearer token: Authorization: Bearer ...")
    if found.operator is not None and request.method not in _READING and _OPEN not in request.scope:
        raise _for_the_learner()
    return found


async def learner_of(request: Request) -> str:
    """Return the learner that the request is about. Raises RequestRefused as `identity_of` does."""
    return (await identity_of(request)).learner


async def teams_of(request: Request) -> frozenset[str] | None:
    """Return the teams that the token names; None where the store's table is to be asked."""
    return (await identity_of(request)).teams


async def user_of(request: Request) -> Caller | str:
    """Return the learner with the token's teams, or by name where the table is to be asked."""
    found = await identity_of(request)
    return found.learner if found.teams is None else Caller(found.learner, found.teams)


async def open_to_operators(request: Request) -> None:
    """Let operators change what the route changes: it says in the history, or the log, who did it.

    It must come before whatever reads the identity.
    """
    request.scope[_OPEN] = True


async def learner_only(request: Request) -> None:
    """Refuse operators, whatever they ask for (403)."""
    found: object = request.scope.get(_IDENTITY)
    if isinstance(found, Identity) and found.operator is not None:
        raise _for_the_learner()


def _for_the_learner() -> RequestRefused:
    return RequestRefused(403, "forbidden", "only the learner can do this, and no operator for them")


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
    """Return the name in a Host header without the port; empty if there is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:  # brackets that do not close
        return ""
