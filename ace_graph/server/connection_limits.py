"""Bounds on connections: how long the head of a request may take to arrive, and how many may be open.

uvicorn waits for a head for ever, and counts connections when theirs has arrived; a thousand that never send
one would take every file descriptor there is. Here a connection without a request under way is closed when
its head takes too long, and, where the places run out, the one that has been without the longest makes room.

Does not: bound bodies (`body` does), or count connections of one address. That is the proxy's part.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

__all__ = ["HEAD_SECONDS", "SocketLimits", "bounded_protocol", "socket_limits"]

logger = logging.getLogger("ace_graph")

HEAD_SECONDS = 20.0
_SPARE = 64
"""Descriptors for files, databases and logs."""
_PLENTY = 65_536
_WARN_EVERY = 60.0
_FULL = b'{"error":"the server has too many connections: ask again","code":"overloaded"}'
_FULL_HEAD = (
    "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 2\r\n"
    f"connection: close\r\ncontent-length: {len(_FULL)}\r\n\r\n"
)


@dataclass(frozen=True)
class SocketLimits:
    """Connections that may be open, connections that may wait to be accepted, seconds for a head."""

    most: int
    backlog: int
    head_seconds: float = HEAD_SECONDS


def socket_limits(turns: int, descriptors: int | None = None) -> SocketLimits:
    """Return limits that leave room, of this process's file descriptors, for `turns` calls of a model.

    All that wait may be accepted at once, before any of them is counted.
    """
    files = _descriptors() if descriptors is None else descriptors
    backlog = min(2048, max(16, files // 4))
    return SocketLimits(max(files // 2, files - turns - backlog - _SPARE), backlog)


def bounded_protocol(limits: SocketLimits) -> type[H11Protocol]:
    """Return uvicorn's protocol with these limits, for one server: `uvicorn.Config(http=...)`."""

    class Bounded(_BoundedProtocol):
        places = _Places(limits)

    return Bounded


class _Places:
    """The connections of one server, and those of them without a request, the longest without first."""

    def __init__(self, limits: SocketLimits) -> None:
        self.limits = limits
        self.open: set[_BoundedProtocol] = set()
        self.idle: dict[_BoundedProtocol, None] = {}
        self._warned: float | None = None

    def take(self, new: _BoundedProtocol) -> bool:
        """Give `new` a place, the one of an idle connection where all are taken; False if none is idle."""
        if len(self.open) >= self.limits.most:
            self._warn(new.loop.time())
            oldest = next(iter(self.idle), None)
            if oldest is None:
                return False
            oldest.give_up()
        self.open.add(new)
        return True

    def free(self, gone: _BoundedProtocol) -> None:
        """Take its place back."""
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
    """One connection."""

    places: ClassVar[_Places]

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
        """Take a place, or refuse."""
        super().connection_made(transport)
        if self.places.take(self):
            self._look()
        else:
            transport.write(_FULL_HEAD.encode("ascii") + _FULL)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        self._stop_timer()
        self.places.free(self)
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Close a connection without a request under way."""
        self._stop_timer()
        self.places.free(self)
        self.transport.close()

    def _look(self) -> None:
        """See whether a request is under way; while none is, time runs from the first byte on.

        Between two requests the keep-alive timer runs instead.
        """
        # None at first, whatever uvicorn's annotation says.
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_complete:
            self._stop_timer()
            self.places.idle.pop(self, None)
        elif not self.transport.is_closing():
            self.places.idle.setdefault(self)
            if self._head_timer is None and self.timeout_keep_alive_task is None:
                seconds = self.places.limits.head_seconds
                self._head_timer = self.loop.call_later(seconds, self.give_up)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def _descriptors() -> int:
    try:
        import resource
    except ImportError:  # Windows, where sockets do not count against a limit
        return _PLENTY
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _PLENTY if soft == resource.RLIM_INFINITY else min(soft, _PLENTY)
