"""A TCP proxy that does one thing wrong: at the n-th thing the client says it cuts, drops or delays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal, get_args
from urllib.parse import urlsplit, urlunsplit

__all__ = ["WRONGS", "Proxy", "Wrong", "proxied"]

Wrong = Literal["cut before", "cut after", "delay", "drop"]
WRONGS: tuple[Wrong, ...] = get_args(Wrong)
"""cut before: it never arrives. cut after: it arrives, the reply does not. drop: it vanishes, in silence."""

_DELAY = 0.05


@dataclass
class Proxy:
    """`uri` leads through it. It goes wrong once, at message `at` of all connections, from 1; 0 is never."""

    uri: str = ""
    wrong: Wrong = "cut before"
    at: int = 0
    said: int = 0
    struck: bool = False
    _open: list[_Connection] = field(default_factory=list["_Connection"])

    def arm(self, wrong: Wrong, at: int) -> None:
        """Go wrong at the `at`-th message from now."""
        self.wrong, self.at, self.said, self.struck = wrong, at, 0, False

    def cut(self) -> None:
        """End every connection at once."""
        self._end(self._open)

    def _end(self, connections: list[_Connection]) -> None:
        for connection in connections:
            connection.abort()
        self._open = [each for each in self._open if each not in connections]

    async def pass_up(self, data: bytes, connection: _Connection) -> bool:
        """Pass on what the client said; return whether the connection goes on."""
        self.said += 1
        if self.struck or self.said != self.at:
            connection.far.write(data)
            return True
        self.struck = True
        if self.wrong == "drop":
            return True
        if self.wrong == "delay":
            await asyncio.sleep(_DELAY)
        if self.wrong == "cut before":
            self.cut()
            return False
        connection.muted = self.wrong == "cut after"
        connection.far.write(data)
        if connection.muted:
            there = list(self._open)  # a client that comes back meanwhile is not cut a second time
            await connection.far.drain()
            await asyncio.sleep(_DELAY)  # time for the server to act on it; its reply goes nowhere
            self._end(there)
        return not connection.muted

    def keep(self, connection: _Connection) -> None:
        """Know a connection, so that it can be cut."""
        self._open.append(connection)


@dataclass
class _Connection:
    """Both ends of a connection. What the server says to a muted one is lost."""

    near: asyncio.StreamWriter
    far: asyncio.StreamWriter
    muted: bool = False

    def abort(self) -> None:
        self.near.transport.abort()
        self.far.transport.abort()


@asynccontextmanager
async def proxied(uri: str) -> AsyncGenerator[Proxy]:
    """Listen on a port of its own and pass everything on to the server at `uri`."""
    target, proxy = urlsplit(uri), Proxy()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far = await asyncio.open_connection(target.hostname, target.port)
        connection = _Connection(writer, far)
        proxy.keep(connection)
        tasks.add(asyncio.create_task(_up(proxy, reader, connection)))
        tasks.add(asyncio.create_task(_down(far_reader, connection)))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        user, at, _ = target.netloc.rpartition("@")
        port = server.sockets[0].getsockname()[1]
        scheme = target.scheme.replace("neo4j", "bolt")  # else its driver would ask where else to connect
        proxy.uri = urlunsplit(target._replace(scheme=scheme, netloc=f"{user}{at}127.0.0.1:{port}"))
        yield proxy
        proxy.cut()
    await asyncio.gather(*tasks)


async def _up(proxy: Proxy, reader: asyncio.StreamReader, connection: _Connection) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            if not await proxy.pass_up(data, connection):
                break
            await connection.far.drain()
    connection.far.close()


async def _down(far_reader: asyncio.StreamReader, connection: _Connection) -> None:
    with suppress(ConnectionError):
        while data := await far_reader.read(65_536):
            if not connection.muted:
                connection.near.write(data)
                await connection.near.drain()
    connection.near.close()
