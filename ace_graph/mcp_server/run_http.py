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
from starlette.types import ASGIApp

from ace_graph.errors import ConfigurationError, RequestRefused
from ace_graph.mcp_server.access import Call
from ace_graph.mcp_server.open_memory import open_memory
from ace_graph.mcp_server.run_stdio import quiet_protocol_log
from ace_graph.mcp_server.server import build_server
from ace_graph.memory.sharing.asked import Caller
from ace_graph.server.auth import make_authenticator
from ace_graph.server.clock import SystemClock
from ace_graph.server.connection_limits import bounded_protocol, socket_limits
from ace_graph.server.listen import bound_sockets
from ace_graph.server.middleware.access_control import AccessControl, is_loopback, user_of
from ace_graph.server.middleware.rate_limit import TokenBucket
from ace_graph.settings import Settings

__all__ = ["http_app", "serve_http"]

logger = logging.getLogger("ace_graph")


async def token_subject(call: Call) -> Caller | str:
    """Return the learner of the token that came with this request. Raises RequestRefused."""
    request = call.request_context.request
    if request is None:
        raise RequestRefused(401, "no_token", "send a bearer token: Authorization: Bearer ...")
    return await user_of(request)


@asynccontextmanager
async def http_app(settings: Settings, store: str | None = None) -> AsyncGenerator[ASGIApp]:
    """Yield the ASGI application, for this event loop. Raises ConfigurationError, StoreError."""
    clock = SystemClock()
    authenticator, rate = make_authenticator(settings, clock), TokenBucket(settings.server_rate, clock)
    async with open_memory(settings, token_subject, store) as memory:
        server = build_server(memory)
        inner = server.streamable_http_app()
        quiet_protocol_log()
        async with server.session_manager.run():
            yield AccessControl(
                inner,
                authenticator=authenticator,
                rate=rate,
                max_bytes=settings.server_body_bytes,
                prefix="/mcp",
            )


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
