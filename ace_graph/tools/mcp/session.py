"""The session with one MCP server, on the portal.

A session belongs to the task and the event loop that opened it. So each server has one task on the portal,
which opens the session, waits, and closes it, whichever loop or thread calls. A session that broke is closed,
and the next call opens another one. A failed call is not repeated here, because the server may have begun it;
the model may call again.

The standard error of a program that we start goes to the log, at level DEBUG.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TextIO, TypeVar, cast

from langchain_core.tools import BaseTool

from ace_graph.errors import ConfigurationError, ToolServerError
from ace_graph.models import redacted
from ace_graph.portal import Portal, portal
from ace_graph.tools.mcp.config import HttpServer, ServerConfig, StdioServer

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.types import CallToolResult, ContentBlock

__all__ = ["McpReply", "McpServer"]

logger = logging.getLogger("ace_graph")

T = TypeVar("T")

_START_SECONDS = 20.0
_STOP_SECONDS = 8.0
_STREAM_SECONDS = 3600.0
_ERROR_CHARS = 200
_LOG_LINE_CHARS = 300


@dataclass(frozen=True)
class McpReply:
    """A server's reply to a call: its text, and whether the server says that the call failed."""

    text: str
    failed: bool


@dataclass(frozen=True)
class _Ready:
    """An initialized session, and the server's tools by name."""

    session: ClientSession
    tools: Mapping[str, BaseTool]


@dataclass(frozen=True)
class _OpenSession:
    """An open session, the task that owns it, and the event that makes the task close it."""

    ready: _Ready
    owner: asyncio.Task[None]
    stop: asyncio.Event


class McpServer:
    """One server. Its methods run on the portal."""

    def __init__(self, name: str, config: ServerConfig) -> None:
        self.name = name
        self._config = config
        self._lock: tuple[Portal, asyncio.Lock] | None = None
        self._open: _OpenSession | None = None
        self._closed = False

    async def tools(self) -> Mapping[str, BaseTool]:
        """Return the server's tools by name. Raises ToolServerError when it can't be started or reached."""
        return (await self._session()).ready.tools

    async def call(self, tool: str, arguments: Mapping[str, object]) -> McpReply:
        """Call a tool. Raises ToolServerError when there is no reply within the server's timeout."""
        opened = await self._session()
        work = asyncio.ensure_future(opened.ready.session.call_tool(tool, dict(arguments)))
        try:
            async with asyncio.timeout(self._config.timeout):
                return _reply(await _result_while_open(work, opened.owner))
        except TimeoutError as error:  # the session stays, because other calls may use it
            late = f"MCP server {self.name} did not answer within {self._config.timeout:g} s"
            raise ToolServerError(late) from error
        except Exception as error:  # a foreign server can raise anything
            await self._drop(opened)
            raise ToolServerError(self._message("did not answer", error)) from error
        finally:
            work.cancel()

    async def close(self) -> None:
        """Close the session for good, which ends the program or the connection."""
        self._closed = True
        if self._lock is None or self._lock[0] is not portal():
            return
        async with self._lock[1]:  # waits for a session that is being opened
            if self._open is not None:
                await self._drop(self._open)

    async def _session(self) -> _OpenSession:
        if self._closed:
            raise ToolServerError(f"MCP server {self.name} is closed: call its tools before mcp_tools ends")
        here = portal()
        if self._lock is None or self._lock[0] is not here:  # after a fork the session is the parent's
            self._lock, self._open = (here, asyncio.Lock()), None
        async with self._lock[1]:
            if self._open is None or self._open.owner.done():
                self._open = await self._open_session()
            return self._open

    async def _open_session(self) -> _OpenSession:
        ready: asyncio.Future[_Ready] = asyncio.get_running_loop().create_future()
        stop = asyncio.Event()
        owner = asyncio.ensure_future(self._own_session(ready, stop))
        try:
            async with asyncio.timeout(_START_SECONDS):
                made = await asyncio.shield(ready)
        except BaseException as error:
            ready.cancel()
            owner.cancel()
            await asyncio.wait([owner], timeout=_STOP_SECONDS)
            if not isinstance(error, Exception) or isinstance(error, ConfigurationError):
                raise
            raise ToolServerError(self._message("can't be started or reached", error)) from error
        logger.info("[ACE MCP] %s is open: %d tools", self.name, len(made.tools))
        return _OpenSession(made, owner, stop)

    async def _own_session(self, ready: asyncio.Future[_Ready], stop: asyncio.Event) -> None:
        """Open the session, load its tools, wait for `stop`, and close the session in the same task."""
        try:
            async with _connect(self.name, self._config) as session:
                from langchain_mcp_adapters.tools import load_mcp_tools

                await session.initialize()
                tools = await load_mcp_tools(session)
                ready.set_result(_Ready(session, {tool.name: tool for tool in tools}))
                await stop.wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(error)
            else:
                logger.warning("[ACE MCP] %s", self._message("was lost", error))

    async def _drop(self, session: _OpenSession) -> None:
        if self._open is session:
            self._open = None
        session.stop.set()
        done, _ = await asyncio.wait([session.owner], timeout=_STOP_SECONDS)
        if not done:
            session.owner.cancel()
            await asyncio.wait([session.owner], timeout=_STOP_SECONDS)

    def _message(self, what: str, error: BaseException) -> str:
        """Return an error message without the secrets of the configuration."""
        values = self._config.headers if isinstance(self._config, HttpServer) else self._config.env
        cause = _first_cause(error)
        text = redacted(str(cause), frozenset(value for value in values.values() if len(value) > 3))
        return f"MCP server {self.name} {what}: {text[:_ERROR_CHARS] or type(cause).__name__}"


def _first_cause(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        error = group.exceptions[0]
    return error


def _reply(result: CallToolResult) -> McpReply:
    text = "\n".join(part_text for part in result.content if (part_text := _text_of(part)))
    if not text and result.structuredContent is not None:
        text = json.dumps(result.structuredContent, ensure_ascii=False)
    return McpReply(text, failed=bool(result.isError))


def _text_of(part: ContentBlock) -> str:
    """Return the text of a part of a reply; for a part without text its type, such as [image/png]."""
    held = part.resource if part.type == "resource" else part
    text = getattr(held, "text", None)
    return text if isinstance(text, str) else f"[{getattr(held, 'mimeType', None) or part.type}]"


async def _result_while_open(work: Awaitable[T], owner: asyncio.Task[None]) -> T:
    """Return the result of `work`. Raises ConnectionError when the session ends first."""
    running = asyncio.ensure_future(work)
    await asyncio.wait([running, owner], return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        return running.result()
    raise ConnectionError("the connection is gone")


@asynccontextmanager
async def _connect(name: str, config: ServerConfig) -> AsyncGenerator[ClientSession]:
    # Importing takes a second, during which the loop must not stand still.
    await asyncio.to_thread(import_module, "langchain_mcp_adapters.tools")
    if isinstance(config, StdioServer):
        async with _start(name, config) as session:
            yield session
        return
    from langchain_mcp_adapters.sessions import StreamableHttpConnection, create_session

    connection: StreamableHttpConnection = {
        "transport": "streamable_http",
        "url": config.url,
        "headers": dict(config.headers),
        "timeout": _START_SECONDS,
        "sse_read_timeout": _STREAM_SECONDS,
    }
    async with create_session(connection) as session:
        yield session


@asynccontextmanager
async def _start(name: str, config: StdioServer) -> AsyncGenerator[ClientSession]:
    """Start a program and yield the session with it.

    Not by `create_session`: that leaves the program's standard error on the terminal, and replaces `${NAME}`
    in values of `env` once more, from this process's environment.
    """
    from mcp import ClientSession, StdioServerParameters, stdio_client

    program = StdioServerParameters(
        command=config.command, args=list(config.args), env=dict(config.env), cwd=config.cwd
    )
    async with (
        _stderr_to_log(name) as stderr,
        stdio_client(program, errlog=stderr) as (read, write),
        ClientSession(read, write) as session,
    ):
        yield session


@asynccontextmanager
async def _stderr_to_log(name: str) -> AsyncGenerator[TextIO]:
    """Yield a file for a program's standard error; what is written to it is logged until the block ends."""
    read, write = os.pipe()
    with os.fdopen(write, "w", encoding="utf-8") as writing:
        loop = asyncio.get_running_loop()
        pipe = os.fdopen(read, "rb", buffering=0)
        transport, _ = await loop.connect_read_pipe(lambda: _LineLogger(name), pipe)
        try:
            yield writing
        finally:
            transport.close()


class _LineLogger(asyncio.Protocol):
    """Logs each line, cut; a line without an end is logged in pieces."""

    def __init__(self, name: str) -> None:
        self._name = name

    def data_received(self, data: bytes) -> None:
        for line in data.decode("utf-8", "replace").splitlines():
            clean = "".join(char if char.isprintable() else " " for char in line[:_LOG_LINE_CHARS]).strip()
            if clean:
                logger.debug("[ACE MCP] %s: %s", self._name, clean)
