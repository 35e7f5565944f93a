"""`ace-graph mcp --http`: the memory of every learner with a token, over streamable HTTP at /mcp.

Each request is authenticated on its own, as by the web backend, and no session outlives it: another
learner's session can't be taken over, and any number of servers may answer.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import uvicorn
from anyio import BrokenResourceError, ClosedResourceError
from mcp.server.transport_security import TransportSecuritySettings
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from ace_graph.base.clock import SystemClock
from ace_graph.base.errors import RequestRefused
from ace_graph.base.settings import Settings
from ace_graph.hosts.mcp_server.access import Call, one_learner, open_memory
from ace_graph.hosts.mcp_server.server import build_server
from ace_graph.memory.stores.base import checked_learner_id
from ace_graph.server.auth import Authenticator, Identity
from ace_graph.server.connection_limits import bound_sockets, uvicorn_config
from ace_graph.server.errors import http_exception_response
from ace_graph.server.middleware import AccessControl, check_address, sender_of
from ace_graph.server.rate_limit import TokenBucket

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


# AccessControl checks the host of requests without tokens; with tokens nothing is kept in a browser.
_ELSEWHERE = TransportSecuritySettings(enable_dns_rebinding_protection=False)


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
        inner = server.streamable_http_app(stateless_http=True, transport_security=_ELSEWHERE)
        quiet_protocol_log()
        async with server.session_manager.run():
            yield AccessControl(
                _only_posts(inner),
                authenticator=authenticator,
                rate=rate,
                max_bytes=settings.server_body_bytes,
                prefix="/mcp",
            )


def _only_posts(app: ASGIApp) -> ASGIApp:
    """Answer 405 for other methods than POST.

    Nothing is pushed to a client, so a stream for that, which a GET asks for, would stay open for nothing.
    """

    async def pass_on(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "POST":
            refused = HTTPException(405, headers={"Allow": "POST"})
            await http_exception_response(refused)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return pass_on


async def serve_http(settings: Settings, host: str, port: int, store: str | None) -> None:
    """Serve until told to stop.

    Raises ConfigurationError without keys for tokens on an address that others reach, or for a port that is
    in use; StoreError.
    """
    check_address(settings, host, "MCP server")
    with bound_sockets(host, port) as sockets:
        async with http_app(settings, store) as app:
            await _Server(uvicorn_config(app, settings.server_turns, lifespan="off")).serve(sockets)


class _Server(uvicorn.Server):
    """A uvicorn that logs its address."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in self.servers if self.started else ():
            for bound in each.sockets:
                name, port = bound.getsockname()[:2]
                logger.warning("[ACE MCP] listening on http://%s:%d/mcp", name, port)
