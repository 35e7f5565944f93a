"""Access control of everything under /api: authentication, rate limit and body limit.

It decides from the headers, so that a request without a valid token reaches no body parser, model or store.
A request that may change something is refused where a browser sends it for another website: in development
mode there is no token that such a website would lack.
Here an operator's request gets the learner that it is about. A route says by `does` what it does with a
memory; by one that says nothing an operator can't change anything.
/healthz, /readyz, /metrics and /openapi.json need no token; they say nothing about learners.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from fastapi import Depends
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from ace_graph.errors import RequestRefused
from ace_graph.off_loop import working_for
from ace_graph.server.auth import Act, Authenticator, Identity
from ace_graph.server.errors import error_response
from ace_graph.server.middleware.body_limit import BoundedBody, body_too_large
from ace_graph.server.middleware.rate_limit import TokenBucket, cost_of
from ace_graph.server.middleware.request_id import REQUEST_ID
from ace_graph.telemetry import audit_operator

OPERATOR_HEADER = "X-ACE-Learner"
_IDENTITY, _ACT = "ace_identity", "ace_act"
_READING = frozenset({"GET", "HEAD"})
_SAFE = _READING | {"OPTIONS"}
_DEFAULT_PORTS = {"http": 80, "https": 443}


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
        origins: Sequence[str] = (),
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._rate_limit = rate
        self._max_bytes = max_bytes
        self._prefix = prefix
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request, or answer with an error."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            if self._authenticator.development:
                _check_local(scope, headers)
            if scope["method"] not in _SAFE and headers.get("origin") not in self._origins:
                _check_origin(scope, headers)
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


async def teams_of(request: Request) -> frozenset[str] | None:
    """Return the teams that the token names; None where the store's table is to be asked."""
    return (await identity_of(request)).teams


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
    """Return scheme, host and port; None where there are none."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:  # brackets that do not close, or a port that is no number
        return None


def _check_origin(scope: Scope, headers: Headers) -> None:
    if from_elsewhere(scope, headers):
        raise RequestRefused(
            403,
            "forbidden",
            "another website sent this: name it in ACE_SERVER_ORIGINS if it is yours; a proxy must pass on "
            "Host and X-Forwarded-Proto",
        )


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
