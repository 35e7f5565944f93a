"""`ace-graph serve`: uvicorn around the application, and an orderly end.

Told to stop, the server takes no new turns, lets those under way end for a while, and leaves the rest to the
next one. Without a secret for tokens it listens on this machine only.

Does not: run several processes. Start several servers, see docs/deploy.md.
"""

from __future__ import annotations

import gc
import logging
import signal
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import cast

import uvicorn
from fastapi import FastAPI

from ace_graph.errors import AceError, ConfigurationError
from ace_graph.models import choose_model
from ace_graph.server.app import create_app
from ace_graph.server.connection_limits import bounded_protocol, socket_limits
from ace_graph.server.conversations.open import conversations_location
from ace_graph.server.dependencies import Services
from ace_graph.server.lifespan import Overrides
from ace_graph.server.middleware.auth import is_loopback
from ace_graph.server.middleware.request_id import RequestIds
from ace_graph.server.telemetry import collected_spans
from ace_graph.settings import Settings
from ace_graph.stores import redacted_url

__all__ = ["serve"]

logger = logging.getLogger("ace_graph")

_TURN_OF_A_THREAD = 0.001
_KEEP_ALIVE_SECONDS = 75
_AFTER_DRAINING = 5


def serve(settings: Settings, host: str, port: int, base: Path | None) -> int:
    """Serve until told to stop, and return the exit code.

    Raises ConfigurationError when the settings do not allow it: no model, or no secret and a host that
    others can reach; StoreError when the conversations can't be opened, or the memory refuses the login.
    """
    choice = choose_model(settings)
    development = settings.jwt_secret is None and settings.jwks is None
    if development and not is_loopback(host):
        raise ConfigurationError(
            f"without ACE_JWT_SECRET or ACE_JWKS the server listens on 127.0.0.1 only, not on {host}: "
            "set one of them"
        )
    app = create_app(settings, Overrides(base_playbook=base))
    web_server = logging.getLogger("uvicorn.error")
    _log_through(web_server)
    _log_through(logging.getLogger("psycopg.pool"))
    # What refused to start is told once, in one sentence, by whoever called us.
    web_server.filters = [lambda _: _refusal_to_start(app) is None]
    place = conversations_location(settings)
    kept = "this process only" if place is None else redacted_url(str(place))
    logger.info(
        "[ACE Server] model=%s memory=%s conversations=%s", choice, redacted_url(settings.store_url), kept
    )
    if development:
        logger.warning(
            "[ACE Server] development mode: no token is asked for, everybody is the learner 'local'; "
            "set ACE_JWT_SECRET or ACE_JWKS to serve others"
        )
    server = _Server(_config(app, settings, host, port), app, settings.server_grace)
    with _orderly_end(), collected_spans(), suppress(SystemExit):  # uvicorn's way of not having started
        server.run()
    refusal = _refusal_to_start(app)
    if refusal is not None:
        raise refusal
    return 0 if server.started else 1


def _config(app: FastAPI, settings: Settings, host: str, port: int) -> uvicorn.Config:
    limits = socket_limits(settings.server_turns)
    return uvicorn.Config(
        app,
        http=bounded_protocol(limits),
        ws="none",
        backlog=limits.backlog,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=round(settings.server_grace) + _AFTER_DRAINING,
    )


def _refusal_to_start(app: FastAPI) -> AceError | None:
    return cast("AceError | None", getattr(app.state, "refused", None))


@contextmanager
def _orderly_end() -> Generator[None]:
    """Let a signal end the server and not the program: uvicorn raises it once more when it has ended."""
    wanted = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, _ignored) for each in wanted}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _ignored(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""


class _Server(uvicorn.Server):
    """A uvicorn that lets turns end first."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, grace: float) -> None:
        super().__init__(config)
        self._app = app
        self._grace = grace

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say where."""
        await super().startup(sockets)
        if self.started:
            # What is loaded by now stays. Looked through for garbage again and again, it would hold up all
            # answers, 0.2 s at a time.
            gc.collect()
            gc.freeze()
            # While a thread reads a long text, the loop waits this long for its turn, not 5 ms each time.
            sys.setswitchinterval(_TURN_OF_A_THREAD)
            for each in self.servers:
                for bound in each.sockets:
                    host, port = bound.getsockname()[:2]
                    logger.info("[ACE Server] listening on http://%s:%d", host, port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let turns end, then close connections."""
        services = cast("Services | None", getattr(self._app.state, "services", None))
        if services is not None:
            logger.info("[ACE Server] stopping: %d turns are under way", services.turns.under_way)
            await services.turns.drain(0 if self.force_exit else self._grace)
        await super().shutdown(sockets)


def _log_through(other: logging.Logger) -> None:
    """Give our handlers to the web server's logger, and put request ids on all records."""
    for handler in logger.handlers:
        handler.addFilter(RequestIds())
    other.handlers = list(logger.handlers)
    other.setLevel(logging.WARNING)
    other.propagate = False
