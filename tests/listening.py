"""A TCP server of asyncio that leaves no connection behind when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(serve: Serve) -> AsyncGenerator[int]:
    """The port of a server on this machine that hands each connection to `serve`.

    At the end no further connection is taken, handlers that still run are cancelled, and every connection is
    aborted: a forgotten one would fail whichever later test runs when it is collected.
    """
    handlers: set[asyncio.Task[None]] = set()
    ended = False

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.transport.abort()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if ended:  # taken from the listen queue while the server closed
            writer.transport.abort()
        else:
            handlers.add(asyncio.create_task(handle(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        ended = True
        server.close()
        for handler in handlers:
            handler.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
        await server.wait_closed()
