"""A proxy between a store and its server that counts round trips and bytes.

A round trip begins when the client speaks after the server did; what it sends in one go counts once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from tests.listening import listening

__all__ = ["Traffic", "counted"]


@dataclass
class Traffic:
    """What went through, of all connections, since the last `reset`. `uri` leads through the proxy.

    `transient` counts the failures that a client is told to try again, such as deadlocks.
    """

    uri: str = ""
    round_trips: int = 0
    to_server: int = 0
    from_server: int = 0
    transient: int = 0
    flowing: asyncio.Event = field(default_factory=asyncio.Event)

    def reset(self) -> None:
        self.round_trips = self.to_server = self.from_server = self.transient = 0

    def pause(self) -> None:
        """Let nothing more through, as if the cable were cut."""
        self.flowing.clear()

    def resume(self) -> None:
        self.flowing.set()


@dataclass
class _Connection:
    """One connection's share of the traffic."""

    traffic: Traffic
    client_speaks: bool = False

    def sent(self, data: bytes) -> None:
        self.traffic.round_trips += not self.client_speaks
        self.traffic.to_server += len(data)
        self.client_speaks = True

    def received(self, data: bytes) -> None:
        self.traffic.from_server += len(data)
        self.traffic.transient += data.count(b"Neo.TransientError.")
        self.client_speaks = False


@asynccontextmanager
async def counted(uri: str) -> AsyncGenerator[Traffic]:
    """Listen on a port of its own and pass everything on to the server at `uri`.

    Cuts the connections that are left when it ends.
    """
    target, traffic = urlsplit(uri), Traffic()
    traffic.resume()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(target.hostname, target.port)
        connection = _Connection(traffic)
        try:
            await asyncio.gather(
                _pass_on(reader, far_writer, connection.sent, traffic.flowing),
                _pass_on(far_reader, writer, connection.received, traffic.flowing),
            )
        finally:
            far_writer.transport.abort()

    async with listening(serve) as port:
        user, at, _ = target.netloc.rpartition("@")
        traffic.uri = urlunsplit(target._replace(netloc=f"{user}{at}127.0.0.1:{port}"))
        yield traffic


async def _pass_on(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    count: Callable[[bytes], None],
    flowing: asyncio.Event,
) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            await flowing.wait()
            count(data)
            writer.write(data)
            await writer.drain()
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()
