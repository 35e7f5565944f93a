"""What a program that we started writes to its standard error: lines of the log, at level DEBUG.

Does not: keep anything. Such text may be large and may hold anything.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TextIO

__all__ = ["error_log"]

logger = logging.getLogger("ace_graph")

_LINE_CHARS = 300


class _Lines(asyncio.Protocol):
    """Logs what comes, a line each, cut; a line without an end is logged in pieces."""

    def __init__(self, name: str) -> None:
        self._name = name

    def data_received(self, data: bytes) -> None:
        for line in data.decode("utf-8", "replace").splitlines():
            clean = "".join(char if char.isprintable() else " " for char in line[:_LINE_CHARS]).strip()
            if clean:
                logger.debug("[ACE MCP] %s: %s", self._name, clean)


@asynccontextmanager
async def error_log(name: str) -> AsyncGenerator[TextIO]:
    """Yield a file for a program's standard error; what is written to it is logged until the block ends."""
    read, write = os.pipe()
    with os.fdopen(write, "w", encoding="utf-8") as writing:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: _Lines(name), os.fdopen(read, "rb", buffering=0))
        try:
            yield writing
        finally:
            transport.close()
