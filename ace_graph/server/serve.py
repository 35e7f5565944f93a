"""`ace-graph serve`: runs the application in uvicorn, and shuts it down gracefully.

On SIGTERM or Ctrl-C the server takes no new turns, waits for those under way, and leaves the rest to the next
server. Without keys for tokens it listens on this machine only. One process; docs/deploy.md says how to run
several servers.
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
from typing import cast

import uvicorn
from fastapi import FastAPI

from ace_graph.agent.models import choose_model
from ace_graph.base.errors import AceError
from ace_graph.base.settings import Settings
from ace_graph.server.app import create_app
from ace_graph.server.connection_limits import bound_sockets, uvicorn_config
from ace_graph.server.conversations.open import conversations_location
from ace_graph.server.errors import RequestIds
from ace_graph.server.metrics import exported_spans
from ace_graph.server.middleware import check_address, is_open
from ace_graph.server.services import Overrides, Services
from ace_graph.stores import redacted_url

logger = logging.getLogger("ace_graph")

_SWITCH_SECONDS = 0.001
_NEW_OBJECTS = 10_000
"""After so many more objects the collector looks at the newest; a turn makes some thousands."""
_KEEP_ALIVE_SECONDS = 75
_AFTER_DRAINING = 5


def serve(settings: Settings, host: str, port: int, base: Path | None) -> int:
    """Serve until told to stop, and return the exit code.

    Raises ConfigurationError when the settings do not allow it: no model, or no secret and a host that
    others can reach, or a port that is in use; StoreError when the conversations can't be opened, or the
    memory refuses the login.
    """
    choice = choose_model(settings)
    check_address(settings, host, "server")
    app = create_app(settings, Overrides(base_playbook=base), page=settings.server_page)
    web_server = logging.getLogger("uvicorn.error")
    _use_our_handlers(web_server)
    _use_our_handlers(logging.getLogger("psycopg.pool"))
    # An error at startup is reported once, in one sentence, by the caller.
    web_server.filters = [lambda _: _startup_error(app) is None]
    place = conversations_location(settings)
    kept = "this process only" if place is None else redacted_url(str(place))
    logger.info(
        "[ACE Server] model=%s memory=%s conversations=%s", choice, redacted_url(settings.store_url), kept
    )
    if is_open(settings):
        logger.warning(
            "[ACE Server] development mode: no token is asked for, everybody is the learner 'local'; "
            "set ACE_JWT_SECRET or ACE_JWKS to serve others"
        )
    config = uvicorn_config(
        app,
        settings.server_turns,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=round(settings.server_grace) + _AFTER_DRAINING,
    )
    server = _Server(config, app, settings.server_grace, page=settings.server_page)
    with (
        bound_sockets(host, port) as sockets,
        _ignored_signals(),
        exported_spans(),
        suppress(SystemExit),
    ):  # uvicorn's way of not having started
        server.run(sockets)
    refusal = _startup_error(app)
    if refusal is not None:
        raise refusal
    return 0 if server.started else 1


def _startup_error(app: FastAPI) -> AceError | None:
    return cast("AceError | None", getattr(app.state, "startup_error", None))


@contextmanager
def _ignored_signals() -> Generator[None]:
    """Ignore the signal that uvicorn raises again after its shutdown, so that the program goes on."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda _number, _frame: None) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Server(uvicorn.Server):
    """A uvicorn that waits for turns before it closes connections."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, grace: float, *, page: bool) -> None:
        super().__init__(config)
        self._page = page
        self._app = app
        self._grace = grace

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            # What is loaded by now stays: collecting it again would stop all answers for 0.2 s each time.
            gc.freeze()
            # What an answer makes and drops again is no garbage to look for every 700 objects.
            gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
            # While a thread reads a long text, the event loop waits 1 ms for the interpreter, not 5 ms.
            sys.setswitchinterval(_SWITCH_SECONDS)
            for listener in self.servers:
                for bound in listener.sockets:
                    host, port = bound.getsockname()[:2]
                    logger.info("[ACE Server] listening on %s", _address(host, port))
                    if self._page:
                        logger.info("[ACE Server] the page is at %s/", _address(_reachable(host), port))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for turns, then close connections."""
        services = cast("Services | None", getattr(self._app.state, "services", None))
        if services is not None:
            logger.info("[ACE Server] stopping: %d turns are under way", services.turns.under_way)
            await services.turns.drain(0 if self.force_exit else self._grace)
        await super().shutdown(sockets)


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _reachable(host: str) -> str:
    """Return an address of this machine that a browser on it can open: one that stands for all is none."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  it is compared, not bound


def _use_our_handlers(other: logging.Logger) -> None:
    """Give our handlers to another library's logger, and add request ids to all records."""
    for handler in logger.handlers:
        handler.addFilter(RequestIds())
    other.handlers = list(logger.handlers)
    other.setLevel(logging.WARNING)
    other.propagate = False
