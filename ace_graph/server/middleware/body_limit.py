"""The body of one request as it arrives: bounded in bytes, and in the time that it may take.

Does not: read it. A body that nobody asks for is not waited for.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from fastapi import HTTPException
from starlette.types import Message, Receive

from ace_graph.errors import RequestRefused

__all__ = ["BoundedBody", "body_too_large"]

SECONDS = 30.0
"""From the first look for a body until all of it is there."""
_DRAINED_AT_MOST = 16


class BoundedBody:
    """ASGI's `receive`, which ends with 413 what is too large, and with 408 what is too slow."""

    def __init__(self, receive: Receive, most_bytes: int) -> None:
        self._receive = receive
        self._most_bytes = most_bytes
        self._read = 0
        self._until: float | None = None
        self._whole = False

    async def __call__(self) -> Message:
        """Return the next piece; behind the last one, whatever comes, however late."""
        if self._whole:
            return await self._receive()
        try:
            message = await self._piece()
        except TimeoutError as error:
            # FastAPI lets these through while it reads a body, and no others.
            raise HTTPException(408, "too slow", headers={"Connection": "close"}) from error
        if self._read > self._most_bytes:
            await self.drain()
            raise HTTPException(413, "too large")
        return message

    async def drain(self) -> None:
        """Read on, within bounds: a client that still sends would not see the answer."""
        most = self._most_bytes * _DRAINED_AT_MOST
        with suppress(TimeoutError):
            while not self._whole and self._read <= most:
                await self._piece()

    async def _piece(self) -> Message:
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + SECONDS
        async with asyncio.timeout_at(self._until):
            message = await self._receive()
        self._read += len(message.get("body", b""))
        self._whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message


def body_too_large(most_bytes: int) -> RequestRefused:
    """Return the refusal of a body beyond the limit."""
    return RequestRefused(413, "too_large", f"the body is too large: at most {most_bytes} bytes")
