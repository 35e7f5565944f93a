"""Tools of MCP servers."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, TypeAlias, TypeVar, cast

from langchain_core.tools import BaseTool, ToolException
from pydantic import ConfigDict, Field, JsonValue, PrivateAttr, TypeAdapter, ValidationError

from ace_graph.agent.models import redacted
from ace_graph.base.errors import ConfigurationError, ToolServerError, how_to_install
from ace_graph.base.frozen import Frozen
from ace_graph.base.portal import Portal, portal
from ace_graph.base.text import clean_line
from ace_graph.memory.window import MAX_TOOL_RESULT_CHARS

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import ContentBlock, Tool


_NAME = re.compile(r"[A-Za-z_][\w-]{0,39}", re.ASCII)
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_IGNORED_KEYS = frozenset(
    {"description", "disabled", "autoApprove", "alwaysAllow", "name", "type", "transport"}
)
_TRANSPORTS = (None, "stdio", "http", "streamable_http", "streamable-http", "streamableHttp")
_MAX_FILE_BYTES = 1_000_000


class _Server(Frozen):
    model_config = ConfigDict(hide_input_in_errors=True)

    timeout: Annotated[float, Field(gt=0, le=3600, description="Seconds for a call.")] = 30.0


class StdioServer(_Server):
    """A program that is started here and uses its standard input and output.

    `env` joins a small part of this process's environment (PATH, HOME and the like; no keys).
    """

    command: Annotated[str, Field(min_length=1)]
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: Path | None = None


class HttpServer(_Server):
    """A server that is reached over streamable HTTP."""

    url: Annotated[str, Field(pattern=r"^https?://\S+$")]
    headers: Mapping[str, str] = {}


ServerConfig: TypeAlias = StdioServer | HttpServer
_OBJECT: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


def parse_servers(config: Mapping[str, object], environ: Mapping[str, str]) -> Mapping[str, ServerConfig]:
    """Return the servers by name, from `{"mcpServers": {...}}` or from what stands under that key.

    A server that is `disabled` is left out. Raises ConfigurationError that names the server and the field.
    """
    try:
        whole = _OBJECT.validate_python(config)
        listed = _OBJECT.validate_python(whole.get("mcpServers", whole))
        entries = {name: _OBJECT.validate_python(entry) for name, entry in listed.items()}
    except ValidationError as error:
        raise ConfigurationError('MCP servers: write {"mcpServers": {"name": {"command": "..."}}}') from error
    odd = next((name for name in entries if not _NAME.fullmatch(name)), None)
    if odd is not None:
        raise ConfigurationError(f"MCP server {odd[:40]!r}: use at most 40 letters, digits, - and _")
    wanted = {name: entry for name, entry in entries.items() if entry.get("disabled") is not True}
    return {name: _server(name, entry, environ) for name, entry in wanted.items()}


def read_servers(path: Path, environ: Mapping[str, str]) -> Mapping[str, ServerConfig]:
    """Return the servers that a JSON file names. Raises ConfigurationError for a file that is wrong."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"the MCP servers in {path} can't be read: {error.strerror}") from error
    if len(raw) > _MAX_FILE_BYTES:
        raise ConfigurationError(
            f"the MCP servers in {path}: the file is larger than {_MAX_FILE_BYTES} bytes"
        )
    try:
        config = _OBJECT.validate_json(raw.removeprefix(b"\xef\xbb\xbf"))
    except ValidationError as error:
        why = error.errors(include_input=False)[0]["msg"]
        raise ConfigurationError(f"the MCP servers in {path}: not a JSON object: {why}") from error
    return parse_servers(config, environ)


def _server(name: str, entry: dict[str, JsonValue], environ: Mapping[str, str]) -> ServerConfig:
    transport = entry.get("transport", entry.get("type"))
    if transport not in _TRANSPORTS:
        raise ConfigurationError(f"MCP server {name}: the transport must be stdio or streamable HTTP")
    known = {
        key: _substituted(item, name, environ) for key, item in entry.items() if key not in _IGNORED_KEYS
    }
    try:
        return HttpServer.model_validate(known) if "url" in known else StdioServer.model_validate(known)
    except ValidationError as error:
        detail = error.errors(include_input=False)[0]
    where = ".".join(str(part) for part in detail["loc"])
    raise ConfigurationError(f"MCP server {name}: {where}: {detail['msg'][:1].lower()}{detail['msg'][1:]}")


def _substituted(value: JsonValue, name: str, environ: Mapping[str, str]) -> JsonValue:
    """Return `value` with every `${NAME}` replaced. Raises ConfigurationError for one that is not set."""

    def variable(found: re.Match[str]) -> str:
        if found[1] not in environ:
            raise ConfigurationError(
                f"MCP server {name}: the environment variable {found[1][:80]} is not set"
            )
        return environ[found[1]]

    if isinstance(value, str):
        return _VARIABLE.sub(variable, value)
    if isinstance(value, dict):
        return {key: _substituted(item, name, environ) for key, item in value.items()}
    return [_substituted(item, name, environ) for item in value] if isinstance(value, list) else value


logger = logging.getLogger("ace_graph")
T = TypeVar("T")
_START_SECONDS = 20.0
_STOP_SECONDS = 8.0
_STREAM_SECONDS = 3600.0
_MOST_PAGES = 10
_ERROR_CHARS = 200
_LOG_LINE_CHARS = 300


_Ready: TypeAlias = "tuple[Client, Mapping[str, Tool]]"
"""A connected client, and the server's tools by name."""


@dataclass(frozen=True)
class _OpenSession:
    """An open session with its tools, the task that owns it, and the event that makes the task close it."""

    session: Client
    tools: Mapping[str, Tool]
    owner: asyncio.Task[None]
    stop: asyncio.Event


class McpServer:
    """One server. Its methods run on the portal.

    A session belongs to the task and the event loop that opened it, so each server has one task there that
    opens the session, waits, and closes it. A session that broke is closed, and the next call opens another.
    A failed call is not repeated here, because the server may have begun it; the model may call again.
    """

    def __init__(self, name: str, config: ServerConfig) -> None:
        self.name = name
        self._config = config
        self._lock: tuple[Portal, asyncio.Lock] | None = None
        self._open: _OpenSession | None = None
        self._closed = False

    async def tools(self) -> Mapping[str, Tool]:
        """Return the server's tools by name. Raises ToolServerError when it can't be started or reached."""
        return (await self._session()).tools

    async def call(self, tool: str, arguments: Mapping[str, object]) -> tuple[str, bool]:
        """Call a tool; return the reply's text, and whether the server says that the call failed.

        Raises ToolServerError when there is no reply within the server's timeout.
        """
        opened = await self._session()
        work = asyncio.ensure_future(opened.session.call_tool(tool, dict(arguments)))
        try:
            async with asyncio.timeout(self._config.timeout):
                await asyncio.wait([work, opened.owner], return_when=asyncio.FIRST_COMPLETED)
                if not work.done():
                    raise ConnectionError("the connection is gone")  # noqa: TRY301
                result = work.result()
                text = "\n".join(part_text for part in result.content if (part_text := _text_of(part)))
                if not text and result.structured_content is not None:
                    text = json.dumps(result.structured_content, ensure_ascii=False)
                return text, bool(result.is_error)
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
                ready: asyncio.Future[_Ready] = asyncio.get_running_loop().create_future()
                stop = asyncio.Event()
                owner = asyncio.ensure_future(self._own_session(ready, stop))
                try:
                    async with asyncio.timeout(_START_SECONDS):
                        session, tools = await asyncio.shield(ready)
                except BaseException as error:
                    ready.cancel()
                    owner.cancel()
                    await asyncio.wait([owner], timeout=_STOP_SECONDS)
                    if not isinstance(error, Exception) or isinstance(error, ConfigurationError):
                        raise
                    raise ToolServerError(self._message("can't be started or reached", error)) from error
                logger.info("[ACE MCP] %s is open: %d tools", self.name, len(tools))
                self._open = _OpenSession(session, tools, owner, stop)
            return self._open

    async def _own_session(self, ready: asyncio.Future[_Ready], stop: asyncio.Event) -> None:
        """Open the session, load its tools, wait for `stop`, and close the session in the same task."""
        try:
            async with _connect(self.name, self._config) as session:
                tools: dict[str, Tool] = {}
                cursor = None
                for _ in range(_MOST_PAGES):
                    page = await session.list_tools(cursor=cursor)
                    tools |= {tool.name: tool for tool in page.tools}
                    cursor = page.next_cursor
                    if cursor is None:
                        break
                ready.set_result((session, tools))
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
        values = self._config.headers if isinstance(self._config, HttpServer) else self._config.env
        while isinstance(error, BaseExceptionGroup):
            error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
        text = redacted(str(error), frozenset(value for value in values.values() if len(value) > 3))
        return f"MCP server {self.name} {what}: {text[:_ERROR_CHARS] or type(error).__name__}"


def _text_of(part: ContentBlock) -> str:
    held = part.resource if part.type == "resource" else part
    text = getattr(held, "text", None)
    return text if isinstance(text, str) else f"[{getattr(held, 'mime_type', None) or part.type}]"


@asynccontextmanager
async def _connect(name: str, config: ServerConfig) -> AsyncGenerator[Client]:
    """Yield a client that speaks the newest version of the protocol that the server does."""
    # Importing takes a second, during which the loop must not stand still.
    await asyncio.to_thread(import_module, "mcp")
    from httpx2 import AsyncClient, Timeout
    from mcp import Client, StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client

    async with AsyncExitStack() as stack:
        if isinstance(config, StdioServer):
            program = StdioServerParameters(
                command=config.command, args=list(config.args), env=dict(config.env), cwd=config.cwd
            )
            stderr = await stack.enter_async_context(_stderr_to_log(name))
            transport = stdio_client(program, errlog=stderr)
        else:
            seconds = Timeout(_START_SECONDS, read=_STREAM_SECONDS)
            sender = AsyncClient(headers=dict(config.headers), timeout=seconds)
            await stack.enter_async_context(sender)
            transport = streamable_http_client(config.url, http_client=sender)
        yield await stack.enter_async_context(Client(transport, cache=None))


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


MAX_TOOLS = 100
"""Per server; further ones are ignored."""
_MAX_DESCRIPTION_CHARS = 1_000
_MAX_NAME_CHARS = 64
_MAX_ERROR_CHARS = 500
_RETRY_SECONDS = 30.0


class McpTools:
    """The tools of several servers. Servers start at the first `ready`, and stop at `close`.

    A server's text is untrusted: names are made plain, descriptions and results are cut, and only the caller
    can make a tool a check (`metadata={"evidence": True}`). A failed call is a ToolException, which the agent
    passes to the model. Resources, prompts, sampling and elicitation of a server are ignored.

    `taken` are names that these tools must not have: one that would gets its server's name in front.
    """

    def __init__(
        self,
        servers: Mapping[str, ServerConfig],
        taken: Collection[str] = (),
        *,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """`seconds` is a clock. Raises ConfigurationError where the extra `mcp` is not installed."""
        if servers and find_spec("mcp") is None:
            raise ConfigurationError(f"MCP tools are not installed: {how_to_install('mcp')}")
        self._servers = [McpServer(name, config) for name, config in servers.items()]
        self._taken = frozenset(taken)
        self._found: dict[str, list[Tool]] = {}
        self._failed: dict[str, float] = {}
        self._seconds = seconds

    async def ready(self, *, strict: bool = False) -> Sequence[BaseTool]:
        """Return the tools of all servers that can be reached; one that can't is tried again after 30 s.

        With `strict` one that can't be reached raises ToolServerError.
        """
        wanted = [server for server in self._servers if self._is_due(server.name)]

        async def tools_of(server: McpServer) -> Mapping[str, Tool] | ToolServerError:
            try:
                return await server.tools()
            except ToolServerError as error:
                return error

        async def all_tools() -> list[Mapping[str, Tool] | ToolServerError]:
            return await asyncio.gather(*map(tools_of, wanted))

        if wanted:
            for server, tools in zip(wanted, await portal().run(all_tools()), strict=True):
                if isinstance(tools, ToolServerError):
                    if strict:
                        raise tools
                    logger.error("[ACE MCP] %s; the run continues without its tools", tools)
                    self._failed[server.name] = self._seconds()
                else:
                    self._found[server.name] = list(tools.values())[:MAX_TOOLS]
        every = [(server, tool) for server in self._servers for tool in self._found.get(server.name, ())]
        often = Counter(_valid_name(tool.name) for _, tool in every)
        named: dict[str, BaseTool] = {}
        for server, tool in every:
            name = _valid_name(tool.name)
            if often[name] > 1 or name in self._taken:
                name = _valid_name(f"{server.name}_{tool.name}")
            named.setdefault(name, _McpTool.of(server, tool, name))
        return [tool for name, tool in named.items() if name not in self._taken]

    async def close(self) -> None:
        """End every session; a call afterwards is an error. Without this they end with the process."""

        async def close_all() -> None:
            await asyncio.gather(*(server.close() for server in self._servers))

        await portal().run(close_all())

    def _is_due(self, name: str) -> bool:
        failed = self._failed.get(name)
        waited = failed is None or self._seconds() - failed > _RETRY_SECONDS
        return name not in self._found and waited


@asynccontextmanager
async def mcp_tools(
    servers: Mapping[str, object] | Path | str, *, environ: Mapping[str, str] | None = None
) -> AsyncGenerator[list[BaseTool]]:
    """Yield the tools of MCP servers, for `build_ace_graph(tools=...)`; stop the servers at the end.

    `servers` is `{"name": {"command", "args", "env", "cwd"}}` or `{"name": {"url", "headers"}}`, with or
    without `{"mcpServers": ...}` around it, or the path of a JSON file with that. `timeout` beside them is
    the most seconds of a call (default 30). `environ` fills in `${NAME}`; by default the process's.

    Raises ConfigurationError, and ToolServerError for a server that can't be started or reached.
    """
    given = os.environ if environ is None else environ
    parsed = (
        parse_servers(servers, given) if isinstance(servers, Mapping) else read_servers(Path(servers), given)
    )
    tools = McpTools(parsed)
    try:
        yield list(await tools.ready(strict=True))
    finally:
        await tools.close()


class _McpTool(BaseTool):
    _server: McpServer = PrivateAttr()
    _name_there: str = PrivateAttr()

    @classmethod
    def of(cls, server: McpServer, tool: Tool, name: str) -> _McpTool:
        description = clean_line(tool.description or "")[:_MAX_DESCRIPTION_CHARS] or name
        made = cls(name=name, description=description, args_schema=tool.input_schema)
        made._server, made._name_there = server, tool.name
        return made

    def _run(self, /, *_: Any, **arguments: Any) -> str:  # Any: JSON, as the server's schema says
        return portal().run_sync(self._call(arguments))

    async def _arun(self, /, *_: Any, **arguments: Any) -> str:  # Any: as above
        return await portal().run(self._call(arguments))

    async def _call(self, arguments: Mapping[str, object]) -> str:
        try:
            text, failed = await self._server.call(self._name_there, arguments)
        except ToolServerError as error:
            raise ToolException(str(error)) from error
        if failed:
            raise ToolException(text[:_MAX_ERROR_CHARS] or "the tool failed and does not say why")
        short = text[:MAX_TOOL_RESULT_CHARS]
        return short if short == text else f"{short}... (truncated)"


def _valid_name(name: str) -> str:
    """Return a name that every provider takes: letters, digits, _ and -, not a digit first."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_MAX_NAME_CHARS]
    return plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"[:_MAX_NAME_CHARS]
