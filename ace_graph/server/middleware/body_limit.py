"""Limits the size of a request's body, and the time that it may take to arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from fastapi import HTTPException
from starlette.types import Message, Receive

from ace_graph.errors import RequestRefused

SECONDS = 30.0
"""From the first read of the body until all of it has arrived."""
_MAX_DRAINED = 16


class BoundedBody:
    """ASGI's `receive`: raises 413 for a body that is too large, and 408 for one that is too slow.

    `arrived` is told the length of a body that has arrived as a whole, and may refuse it.
    """

    def __init__(
        self, receive: Receive, max_bytes: int, arrived: Callable[[int], None] = lambda _: None
    ) -> None:
        self._receive = receive
        self._arrived = arrived
        self._max_bytes = max_bytes
        self._read = 0
        self._until: float | None = None
        self._whole = False

    async def __call__(self) -> Message:
        """Return the next message; after the body's last one nothing is limited."""
        if self._whole:
            return await self._receive()
        try:
            message = await self._next()
        except TimeoutError as error:
            # The only kind of error that FastAPI passes on while it reads a body.
            raise HTTPException(408, "too slow", headers={"Connection": "close"}) from error
        if self._read > self._max_bytes:
            await self.drain()
            raise HTTPException(413, "too large")
        if self._whole:
            try:
                self._arrived(self._read)
            except RequestRefused as error:
                headers = {"Retry-After": str(error.retry_after or 1)}
                raise HTTPException(error.status, str(error), headers=headers) from error
        return message

    async def drain(self) -> None:
        """Read the rest, up to a limit, because a client that still sends does not read the answer."""
        most = self._max_bytes * _MAX_DRAINED
        with suppress(TimeoutError):
            while not self._whole and self._read <= most:
                await self._next()

    async def _next(self) -> Message:
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + SECONDS
        async with asyncio.timeout_at(self._until):
            message = await self._receive()
        self._read += len(message.get("body", b""))
        self._whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message


def body_too_large(max_bytes: int) -> RequestRefused:
    """Return the error for a body beyond the limit."""
    return RequestRefused(413, "too_large", f"the body is too large: at most {max_bytes} bytes")
