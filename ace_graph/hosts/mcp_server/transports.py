"""`ace-graph mcp --http`: the memory of every learner with a token, over streamable HTTP at /mcp.

Each request is authenticated on its own, as by the web backend, and no session outlives it: another
learner's session can't be taken over, and any number of servers may answer.
"""

from __future__ import annotations

import json
import logging
import re
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import uvicorn
from anyio import BrokenResourceError, ClosedResourceError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ace_graph.base.clock import SystemClock
from ace_graph.base.errors import ConfigurationError, RequestRefused
from ace_graph.base.off_loop import run_off_loop
from ace_graph.base.settings import Settings
from ace_graph.hosts.mcp_server.access import Call, one_learner, open_memory
from ace_graph.hosts.mcp_server.server import build_server
from ace_graph.memory.stores.base import checked_learner_id
from ace_graph.server.auth import Authenticator, Identity
from ace_graph.server.connection_limits import bound_sockets, bounded_protocol, socket_limits
from ace_graph.server.errors import http_exception_response
from ace_graph.server.middleware import AccessControl, is_loopback, sender_of
from ace_graph.server.rate_limit import TokenBucket

# `ace-graph mcp`: the memory of one learner over stdio, for the program that started it.


logger = logging.getLogger("ace_graph")


async def serve_stdio(settings: Settings, learner: str, store: str | None) -> None:
    """Serve until the client hangs up. Raises ConfigurationError, InvalidContext, StoreError."""
    async with open_memory(settings, one_learner(checked_learner_id(learner)), store) as memory:
        server = build_server(memory)
        quiet_protocol_log()
        try:
            await server.run_stdio_async()
        except* (BrokenPipeError, BrokenResourceError, ClosedResourceError):
            logger.info("[ACE MCP] the client hung up in the middle of a message")


def quiet_protocol_log() -> None:
    """Keep the protocol's own log off stderr: it holds what clients sent, and they are told of errors."""
    protocol = logging.getLogger("mcp")
    protocol.handlers = [logging.NullHandler()]
    protocol.propagate = False


MAX_DEPTH = 64
"""How deep arrays and objects of a request may be nested; beyond some depth a parser has no stack left."""
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


async def token_subject(call: Call) -> Identity:
    """Return who sent the request of this call, by its token. Raises RequestRefused."""
    request = call.request_context.request
    if request is None:
        raise RequestRefused(401, "no_token", "send a bearer token: Authorization: Bearer ...")
    return await sender_of(request)


@asynccontextmanager
async def http_app(settings: Settings, store: str | None = None) -> AsyncGenerator[ASGIApp]:
    """Yield the ASGI application, for this event loop. Raises ConfigurationError, StoreError."""
    clock = SystemClock()
    authenticator, rate = Authenticator(settings, clock), TokenBucket(settings.server_rate, clock)
    async with open_memory(settings, token_subject, store) as memory:
        server = build_server(memory)
        inner = server.streamable_http_app()
        quiet_protocol_log()
        async with server.session_manager.run():
            yield AccessControl(
                OnlyPosts(ReadableJson(inner)),
                authenticator=authenticator,
                rate=rate,
                max_bytes=settings.server_body_bytes,
                prefix="/mcp",
            )


class OnlyPosts:
    """ASGI middleware that answers 405 for other methods than POST.

    Nothing is pushed to a client, so a stream for that, which a GET asks for, would stay open for nothing.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a POST, and refuse others."""
        if scope["type"] == "http" and scope["method"] != "POST":
            refused = HTTPException(405, headers={"Allow": "POST"})
            await http_exception_response(refused)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class ReadableJson:
    """ASGI middleware that answers 400 for a body that can't be read; the protocol would answer 500.

    It reads the body first. What is only not JSON is left to the protocol, which says so in its own form.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request with its body, or refuse it. Raises RequestRefused."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await Request(scope, receive).body()
        except HTTPException as error:
            await http_exception_response(error)(scope, receive, send)
            return
        if not await run_off_loop(len(body), _is_readable, body):
            told = f"the body is no JSON that can be read: nest it at most {MAX_DEPTH} deep"
            raise RequestRefused(400, "invalid", told)
        whole: Message | None = {"type": "http.request", "body": body, "more_body": False}

        async def replay() -> Message:
            nonlocal whole
            message, whole = whole, None
            return await receive() if message is None else message

        await self._app(scope, replay, send)


def _is_readable(body: bytes) -> bool:
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(body):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(found.group(), 0)
        if depth > MAX_DEPTH:
            return False
    try:
        json.loads(body)
    except json.JSONDecodeError:
        return True
    except ValueError:  # not UTF-8, or a number of thousands of digits
        return False
    return True


async def serve_http(settings: Settings, host: str, port: int, store: str | None) -> None:
    """Serve until told to stop.

    Raises ConfigurationError without keys for tokens on an address that others reach, or for a port that is
    in use; StoreError.
    """
    if settings.jwt_secret is None and settings.jwks is None and not is_loopback(host):
        raise ConfigurationError(
            f"without ACE_JWT_SECRET or ACE_JWKS the MCP server listens on 127.0.0.1 only, not on {host}: "
            "set one of them"
        )
    limits = socket_limits(settings.server_turns)
    with bound_sockets(host, port) as sockets:
        async with http_app(settings, store) as app:
            config = uvicorn.Config(
                app,
                http=bounded_protocol(limits),
                ws="none",
                lifespan="off",
                backlog=limits.backlog,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
            )
            await _Server(config).serve(sockets)


class _Server(uvicorn.Server):
    """A uvicorn that logs its address."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and log the address."""
        await super().startup(sockets)
        for each in self.servers if self.started else ():
            for bound in each.sockets:
                name, port = bound.getsockname()[:2]
                logger.warning("[ACE MCP] listening on http://%s:%d/mcp", name, port)
