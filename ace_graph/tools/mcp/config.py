"""The configuration of MCP servers, in the JSON format of other MCP clients.

    {"mcpServers": {"files": {"command": "uvx", "args": ["mcp-server-files"], "env": {"TOKEN": "${TOKEN}"}},
                    "maths": {"url": "https://maths.example/mcp", "headers": {"Authorization": "..."}}}}

`${NAME}` in a value is replaced from the environment, so that the file needs no secrets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from ace_graph.errors import ConfigurationError

__all__ = ["HttpServer", "ServerConfig", "StdioServer", "parse_servers", "read_servers"]

_NAME = re.compile(r"[A-Za-z_][\w-]{0,39}", re.ASCII)
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_IGNORED_KEYS = frozenset(
    {"description", "disabled", "autoApprove", "alwaysAllow", "name", "type", "transport"}
)
_TRANSPORTS = (None, "stdio", "http", "streamable_http", "streamable-http", "streamableHttp")
_MAX_FILE_BYTES = 1_000_000


class _Server(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

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
        entries = {name: _OBJECT.validate_python(entry) for name, entry in _listed(whole).items()}
    except ValidationError as error:
        raise ConfigurationError('MCP servers: write {"mcpServers": {"name": {"command": "..."}}}') from error
    odd = next((name for name in entries if not _NAME.fullmatch(name)), None)
    if odd is not None:
        raise ConfigurationError(f"MCP server {odd[:40]!r}: a name has letters, digits, - and _, at most 40")
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
        raise ConfigurationError(f"the MCP servers in {path}: no JSON object: {why}") from error
    return parse_servers(config, environ)


def _listed(config: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return _OBJECT.validate_python(config["mcpServers"]) if "mcpServers" in config else config


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
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: _variable(found[1], name, environ), value)
    if isinstance(value, dict):
        return {key: _substituted(item, name, environ) for key, item in value.items()}
    return [_substituted(item, name, environ) for item in value] if isinstance(value, list) else value


def _variable(wanted: str, name: str, environ: Mapping[str, str]) -> str:
    if wanted not in environ:
        raise ConfigurationError(f"MCP server {name}: the environment variable {wanted[:80]} is not set")
    return environ[wanted]
