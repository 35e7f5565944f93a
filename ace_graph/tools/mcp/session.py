"""One MCP server, spoken to on the portal.

A session belongs to the task and the loop that opened it, so each server has one task on the portal that
opens the session, waits, and closes it: whoever calls, on whatever loop or thread, and however the call
ends. A session that broke is closed, and the next call opens another.

What a program that we started writes to its standard error: lines of the log, at level DEBUG.

Does not: repeat a call. A call that the server may have begun is the model's to make again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

from langchain_core.tools import BaseTool

from ace_graph.errors import ConfigurationError, ToolServerError
from ace_graph.models import redacted
from ace_graph.portal import Portal, portal
from ace_graph.tools.mcp.config import HttpServer, ServerConfig, StdioServer

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.types import CallToolResult, ContentBlock

__all__ = ["McpReply", "McpServer", "error_log"]


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


T = TypeVar("T")

_START_SECONDS = 20.0
_STOP_SECONDS = 8.0
_STREAM_SECONDS = 3600.0
_WHY_CHARS = 200


@dataclass(frozen=True)
class McpReply:
    """What a server said to a call: its text, and whether it says that the call failed."""

    text: str
    failed: bool


@dataclass(frozen=True)
class _Ready:
    """A session, and its tools by their name there."""

    session: ClientSession
    tools: Mapping[str, BaseTool]


@dataclass(frozen=True)
class _Open:
    """A session that is open: its task, and what ends it."""

    portal: Portal
    ready: _Ready
    keeper: asyncio.Task[None]
    stop: asyncio.Event


class McpServer:
    """A server by name. Every method runs on the portal; `tools` opens the session where none is open."""

    def __init__(self, name: str, config: ServerConfig) -> None:
        self.name = name
        self._config = config
        self._open: _Open | None = None
        self._closed = False
        self._opening: tuple[Portal, asyncio.Lock] | None = None

    async def tools(self) -> Mapping[str, BaseTool]:
        """Return the server's tools by name. Raises ToolServerError when it can't be started or reached."""
        return (await self._session()).ready.tools

    async def call(self, tool: str, arguments: Mapping[str, object]) -> McpReply:
        """Return what the server replies. Raises ToolServerError when there is none within its timeout."""
        opened = await self._session()
        work = asyncio.ensure_future(opened.ready.session.call_tool(tool, dict(arguments)))
        try:
            async with asyncio.timeout(self._config.timeout):
                return _reply(await _unless_gone(work, opened.keeper))
        except TimeoutError as error:  # others may be waiting for this server too, so its session stays
            late = f"MCP server {self.name} did not answer within {self._config.timeout:g} s"
            raise ToolServerError(late) from error
        except Exception as error:  # whatever a foreign server does is one kind of error here
            await self._drop(opened)
            raise ToolServerError(self._told("did not answer", error)) from error
        finally:
            work.cancel()

    async def close(self) -> None:
        """End the session for good: the program that was started, or the connection."""
        self._closed = True
        if self._opening is None or self._opening[0] is not portal():
            return
        async with self._opening[1]:  # one that is being opened is closed once it is open
            if self._open is not None:
                await self._drop(self._open)

    async def _session(self) -> _Open:
        if self._closed:
            raise ToolServerError(f"MCP server {self.name} is closed: call its tools before mcp_tools ends")
        here = portal()
        if self._opening is None or self._opening[0] is not here:  # after a fork: the parent's are not ours
            self._opening, self._open = (here, asyncio.Lock()), None
        async with self._opening[1]:
            if self._open is None or self._open.keeper.done():
                self._open = await self._opened(here)
            return self._open

    async def _opened(self, here: Portal) -> _Open:
        ready: asyncio.Future[_Ready] = asyncio.get_running_loop().create_future()
        stop = asyncio.Event()
        keeper = asyncio.ensure_future(self._keep(ready, stop))
        try:
            async with asyncio.timeout(_START_SECONDS):
                made = await asyncio.shield(ready)
        except BaseException as error:
            ready.cancel()
            keeper.cancel()
            await asyncio.wait([keeper], timeout=_STOP_SECONDS)
            if not isinstance(error, Exception) or isinstance(error, ConfigurationError):
                raise
            raise ToolServerError(self._told("can't be started or reached", error)) from error
        logger.info("[ACE MCP] %s is open: %d tools", self.name, len(made.tools))
        return _Open(here, made, keeper, stop)

    async def _keep(self, ready: asyncio.Future[_Ready], stop: asyncio.Event) -> None:
        """Open the session, hand its tools over, and close it in the same task."""
        try:
            async with _session_with(self.name, self._config) as session:
                await session.initialize()
                load = await asyncio.to_thread(_loader)
                found = await load(session)
                ready.set_result(_Ready(session, {tool.name: tool for tool in found}))
                await stop.wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(error)
            else:
                logger.warning("[ACE MCP] %s", self._told("was lost", error))

    async def _drop(self, session: _Open) -> None:
        if self._open is session:
            self._open = None
        session.stop.set()
        done, _ = await asyncio.wait([session.keeper], timeout=_STOP_SECONDS)
        if not done:
            session.keeper.cancel()
            await asyncio.wait([session.keeper], timeout=_STOP_SECONDS)

    def _told(self, what: str, error: BaseException) -> str:
        """Return a sentence without the secrets that the configuration may hold."""
        secrets = self._config.headers if isinstance(self._config, HttpServer) else self._config.env
        first = _first(error)
        said = redacted(str(first), frozenset(value for value in secrets.values() if len(value) > 3))
        why = said[:_WHY_CHARS] or type(first).__name__
        return f"MCP server {self.name} {what}: {why}"


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        error = group.exceptions[0]
    return error


def _loader() -> Any:  # Any: its types exist only where the extra `mcp` is installed
    from langchain_mcp_adapters.tools import load_mcp_tools

    return load_mcp_tools


def _reply(result: CallToolResult) -> McpReply:
    told = "\n".join(text for part in result.content if (text := _text_of(part)))
    if not told and result.structuredContent is not None:
        told = json.dumps(result.structuredContent, ensure_ascii=False)
    return McpReply(told, failed=bool(result.isError))


def _text_of(part: ContentBlock) -> str:
    """Return the text in a part of a reply; a part that has none is named, never shown."""
    held = part.resource if part.type == "resource" else part
    text = getattr(held, "text", None)
    return text if isinstance(text, str) else f"[{getattr(held, 'mimeType', None) or part.type}]"


async def _unless_gone(work: Awaitable[T], keeper: asyncio.Task[None]) -> T:
    """Return what `work` returns, unless the session ends before. Raises ConnectionError then."""
    running = asyncio.ensure_future(work)
    await asyncio.wait([running, keeper], return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        return running.result()
    raise ConnectionError("the connection is gone")


@asynccontextmanager
async def _session_with(name: str, config: ServerConfig) -> AsyncGenerator[ClientSession]:
    await asyncio.to_thread(_loader)  # importing takes a second, which no loop has to wait
    from mcp import ClientSession

    async with _streams(name, config) as (read, write), ClientSession(read, write) as session:
        yield session


@asynccontextmanager
async def _streams(
    name: str, config: ServerConfig
) -> AsyncGenerator[tuple[Any, Any]]:  # Any: streams of anyio, whose item type mcp keeps to itself
    if isinstance(config, StdioServer):
        from mcp import StdioServerParameters, stdio_client

        program = StdioServerParameters(
            command=config.command, args=list(config.args), env=dict(config.env), cwd=config.cwd
        )
        async with error_log(name) as errors, stdio_client(program, errlog=errors) as (read, write):
            yield read, write
        return
    import httpx
    from mcp.client.streamable_http import streamable_http_client

    wait = httpx.Timeout(_START_SECONDS, read=_STREAM_SECONDS)
    async with (
        httpx.AsyncClient(headers=dict(config.headers), timeout=wait, follow_redirects=True) as client,
        streamable_http_client(config.url, http_client=client) as (read, write, _),
    ):
        yield read, write
