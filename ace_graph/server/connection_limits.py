"""Limits on connections: seconds until a request's head must have arrived, and how many may be open.

uvicorn waits for a head for ever and counts a connection only when its head has arrived, so a thousand
connections that send nothing would use up all file descriptors. Here a connection without a request is closed
when its head takes too long, and the longest idle one when the limit is reached. Limits per address are left
to the proxy.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from ace_graph.base.errors import ConfigurationError

logger = logging.getLogger("ace_graph")
HEAD_SECONDS = 20.0
_SPARE = 64
"""File descriptors for files, databases and logs."""
_MAX_DESCRIPTORS = 65_536
_WARN_EVERY = 60.0
_FULL = b'{"error":"the server has too many connections: try again","code":"overloaded"}'
_FULL_HEAD = (
    "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 2\r\n"
    f"connection: close\r\ncontent-length: {len(_FULL)}\r\n\r\n"
)


@dataclass(frozen=True)
class SocketLimits:
    """Connections that may be open, that may wait to be accepted, and seconds for a request's head."""

    most: int
    backlog: int
    head_seconds: float = HEAD_SECONDS


def socket_limits(turns: int, descriptors: int | None = None) -> SocketLimits:
    """Return limits that leave room, of this process's file descriptors, for `turns` calls of a model.

    The whole backlog may be accepted at once, before any of it is counted.
    """
    files = _descriptor_limit() if descriptors is None else descriptors
    backlog = min(2048, max(16, files // 4))
    return SocketLimits(max(files // 2, files - turns - backlog - _SPARE), backlog)


def bounded_protocol(limits: SocketLimits) -> type[H11Protocol]:
    """Return uvicorn's protocol with these limits, for one server: `uvicorn.Config(http=...)`."""

    class Bounded(_BoundedProtocol):
        admission = _OpenConnections(limits)

    return Bounded


def uvicorn_config(app: ASGIApp, turns: int, **more: Any) -> Config:  # Any: what uvicorn's Config takes
    """Return how uvicorn serves an application of ours, with room for `turns` calls of a model."""
    limits = socket_limits(turns)
    return Config(
        app,
        http=bounded_protocol(limits),
        ws="none",
        backlog=limits.backlog,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        **more,
    )


class _OpenConnections:
    """The open connections of one server, and the idle ones among them, the longest idle first."""

    def __init__(self, limits: SocketLimits) -> None:
        self.limits = limits
        self.open: set[_BoundedProtocol] = set()
        self.idle: dict[_BoundedProtocol, None] = {}
        self._warned: float | None = None

    def acquire(self, new: _BoundedProtocol) -> bool:
        """Admit `new`, closing the longest idle connection if all are taken; False if none is idle."""
        if len(self.open) >= self.limits.most:
            self._warn(new.loop.time())
            oldest = next(iter(self.idle), None)
            if oldest is None:
                return False
            oldest.close_idle()
        self.open.add(new)
        return True

    def release(self, gone: _BoundedProtocol) -> None:
        self.open.discard(gone)
        self.idle.pop(gone, None)

    def _warn(self, now: float) -> None:
        if self._warned is None or now - self._warned >= _WARN_EVERY:
            self._warned = now
            logger.warning(
                "[ACE Server] %d connections are open, the most that ulimit -n leaves room for: "
                "idle ones are closed",
                len(self.open),
            )


class _BoundedProtocol(H11Protocol):
    admission: ClassVar[_OpenConnections]

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],  # Any: uvicorn's own
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's own
        """Admit the connection, or answer 503."""
        super().connection_made(transport)
        if self.admission.acquire(self):
            self._update_idle()
        else:
            transport.write(_FULL_HEAD.encode("ascii") + _FULL)
            transport.close()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_idle()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_idle()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self.admission.release(self)
        super().connection_lost(exc)

    def close_idle(self) -> None:
        self._stop_timer()
        self.admission.release(self)
        self.transport.close()

    def _update_idle(self) -> None:
        """Mark the connection idle or busy, and limit the time for a request's head while it is idle.

        Between two requests uvicorn's keep-alive timer limits it instead.
        """
        # None at first, whatever uvicorn's annotation says.
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_complete:
            self._stop_timer()
            self.admission.idle.pop(self, None)
        elif not self.transport.is_closing():
            self.admission.idle.setdefault(self)
            if self._head_timer is None and self.timeout_keep_alive_task is None:
                seconds = self.admission.limits.head_seconds
                self._head_timer = self.loop.call_later(seconds, self.close_idle)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def _descriptor_limit() -> int:
    try:
        import resource
    except ImportError:  # Windows, where sockets do not count against a limit
        return _MAX_DESCRIPTORS
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else min(soft, _MAX_DESCRIPTORS)


@contextmanager
def bound_sockets(host: str, port: int) -> Generator[list[socket.socket]]:
    """Yield one socket for each address of the host, bound to the port (0 is a free one); close them.

    Raises ConfigurationError when an address or the port can't be had.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ConfigurationError(
            f"{host} is not an address of this machine ({error}): check --host"
        ) from None
    with ExitStack() as opened:
        sockets = list[socket.socket]()
        for family, kind, protocol, _, address in dict.fromkeys(found):
            each = opened.enter_context(socket.socket(family, kind, protocol))
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:  # another socket listens on the addresses of version 4
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                each.bind((address[0], port, *address[2:]))
            except OSError as error:
                raise ConfigurationError(_advice(error, host, port)) from None
            port = each.getsockname()[1]
            sockets.append(each)
        yield sockets


def _advice(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use: stop the program that has it, or choose another with --port"
    if error.errno == errno.EACCES:
        return f"port {port} is for the system's administrator: choose one above 1023 with --port"
    return f"can't listen on {host}, port {port}: check --host and --port ({error})"
