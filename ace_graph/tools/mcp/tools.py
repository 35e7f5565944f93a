"""Tools of MCP servers, as LangChain tools that work on every event loop and thread.

    async with mcp_tools({"maths": {"url": "https://maths.example/mcp"}}) as tools:
        graph = build_ace_graph(tools=tools)

A server's text is untrusted: names are made plain, descriptions and results are cut, and no declaration of a
server makes its tool a check (`metadata={"evidence": True}`); only the caller can. A failed call is a
ToolException, which the agent passes to the model. Resources, prompts, sampling and elicitation of a server
are ignored.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from ace_graph.errors import ConfigurationError, ToolServerError, how_to_install
from ace_graph.memory.text import clean_line
from ace_graph.memory.window import MAX_TOOL_RESULT_CHARS
from ace_graph.portal import portal
from ace_graph.tools.mcp.config import ServerConfig, parse_servers, read_servers
from ace_graph.tools.mcp.session import McpReply, McpServer

__all__ = ["McpTools", "mcp_tools"]

logger = logging.getLogger("ace_graph")

MAX_TOOLS = 100
"""Per server; further ones are ignored."""

_MAX_DESCRIPTION_CHARS = 1_000
_MAX_NAME_CHARS = 64
_MAX_ERROR_CHARS = 500
_RETRY_SECONDS = 30.0
_EXTRA = "langchain_mcp_adapters"


class McpTools:
    """The tools of several servers. Servers start at the first `ready`, and stop at `close`.

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
        if servers and find_spec(_EXTRA) is None:
            raise ConfigurationError(f"MCP tools are not installed: {how_to_install('mcp')}")
        self._servers = [McpServer(name, config) for name, config in servers.items()]
        self._taken = frozenset(taken)
        self._found: dict[str, list[BaseTool]] = {}
        self._failed: dict[str, float] = {}
        self._seconds = seconds

    async def ready(self, *, strict: bool = False) -> Sequence[BaseTool]:
        """Return the tools of all servers that can be reached; one that can't is tried again after 30 s.

        With `strict` one that can't be reached raises ToolServerError.
        """
        wanted = [server for server in self._servers if self._is_due(server.name)]
        if wanted:
            asked = await portal().run(_all_tools(wanted))
            for server, tools in zip(wanted, asked, strict=True):
                if isinstance(tools, ToolServerError):
                    if strict:
                        raise tools
                    logger.error("[ACE MCP] %s; the run goes on without its tools", tools)
                    self._failed[server.name] = self._seconds()
                else:
                    self._found[server.name] = list(tools.values())[:MAX_TOOLS]
        return self._renamed()

    async def close(self) -> None:
        """End every session; a call afterwards is an error. Without this they end with the process."""
        await portal().run(self._close())

    async def _close(self) -> None:
        await asyncio.gather(*(server.close() for server in self._servers))

    def _is_due(self, name: str) -> bool:
        failed = self._failed.get(name)
        waited = failed is None or self._seconds() - failed > _RETRY_SECONDS
        return name not in self._found and waited

    def _renamed(self) -> list[BaseTool]:
        every = [(server, tool) for server in self._servers for tool in self._found.get(server.name, ())]
        often = Counter(_valid_name(tool.name) for _, tool in every)
        named: dict[str, BaseTool] = {}
        for server, tool in every:
            name = _valid_name(tool.name)
            if often[name] > 1 or name in self._taken:
                name = _valid_name(f"{server.name}_{tool.name}")
            named.setdefault(name, _McpTool.of(server, tool, name))
        return [tool for name, tool in named.items() if name not in self._taken]


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
    """One tool of a server; the model sees its name and description, and its arguments as the server says."""

    _server: McpServer = PrivateAttr()
    _name_there: str = PrivateAttr()

    @classmethod
    def of(cls, server: McpServer, tool: BaseTool, name: str) -> _McpTool:
        description = clean_line(tool.description)[:_MAX_DESCRIPTION_CHARS] or name
        made = cls(name=name, description=description, args_schema=tool.args_schema)
        made._server, made._name_there = server, tool.name
        return made

    def _run(self, /, *_: Any, **arguments: Any) -> str:  # Any: JSON, as the server's schema says
        return _text(portal().run_sync(self._call(arguments)))

    async def _arun(self, /, *_: Any, **arguments: Any) -> str:  # Any: as above
        return _text(await portal().run(self._call(arguments)))

    async def _call(self, arguments: Mapping[str, object]) -> McpReply:
        try:
            return await self._server.call(self._name_there, arguments)
        except ToolServerError as error:
            raise ToolException(str(error)) from error


async def _all_tools(servers: Sequence[McpServer]) -> list[Mapping[str, BaseTool] | ToolServerError]:
    return await asyncio.gather(*(_tools_of(server) for server in servers))


async def _tools_of(server: McpServer) -> Mapping[str, BaseTool] | ToolServerError:
    try:
        return await server.tools()
    except ToolServerError as error:
        return error


def _text(reply: McpReply) -> str:
    """Return the reply's text, cut. Raises ToolException where the server says that the call failed."""
    if reply.failed:
        raise ToolException(reply.text[:_MAX_ERROR_CHARS] or "the tool failed and does not say why")
    short = reply.text[:MAX_TOOL_RESULT_CHARS]
    return short if short == reply.text else f"{short}... (truncated)"


def _valid_name(name: str) -> str:
    """Return a name that every provider takes: letters, digits, _ and -, not a digit first."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_MAX_NAME_CHARS]
    return plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"[:_MAX_NAME_CHARS]
