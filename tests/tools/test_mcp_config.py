"""The list of MCP servers is read as other clients write it, and a mistake in it is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ace_graph.agent.tools import HttpServer, StdioServer, parse_servers, read_servers
from ace_graph.base import ConfigurationError


def test_a_command_is_a_program_and_a_url_is_a_server() -> None:
    servers = parse_servers(
        {
            "mcpServers": {
                "files": {
                    "command": "uvx",
                    "args": ["files", "${PLACE}/notes"],
                    "env": {"T": "${TOKEN}"},
                },
                "maths": {
                    "url": "https://m.example/mcp",
                    "headers": {"Authorization": "Bearer ${TOKEN}"},
                },
            }
        },
        {"TOKEN": "t1", "PLACE": "/srv/ada"},
    )
    assert servers == {
        "files": StdioServer(command="uvx", args=("files", "/srv/ada/notes"), env={"T": "t1"}),
        "maths": HttpServer(url="https://m.example/mcp", headers={"Authorization": "Bearer t1"}),
    }


def test_what_other_clients_write_beside_it_is_understood() -> None:
    servers = parse_servers(
        {
            "a": {"type": "stdio", "command": "a", "autoApprove": [], "description": "d"},
            "b": {"type": "streamable-http", "url": "http://b.example/mcp", "timeout": 5},
            "c": {"command": "c", "disabled": True},
        },
        {},
    )
    assert servers == {"a": StdioServer(command="a"), "b": HttpServer(url="http://b.example/mcp", timeout=5)}


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"mcpServers": []}, "write"),
        ({"a": "uvx"}, "write"),
        ({"a b": {"command": "x"}}, "letters, digits"),
        ({"a": {}}, "MCP server a: command: field required"),
        ({"a": {"command": ""}}, "command"),
        ({"a": {"command": "x", "arg": ["y"]}}, "MCP server a: arg: extra inputs"),
        ({"a": {"url": "ftp://x"}}, "MCP server a: url"),
        ({"a": {"url": "https://x/sse", "type": "sse"}}, "the transport must be stdio or streamable HTTP"),
        ({"a": {"command": "x", "timeout": 0}}, "timeout"),
        ({"a": {"command": "x", "env": {"A": "${ABSENT}"}}}, "the environment variable ABSENT is not set"),
    ],
)
def test_a_mistake_names_the_server_and_the_field(config: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        parse_servers(config, {})


def test_an_error_shows_no_value() -> None:
    with pytest.raises(ConfigurationError) as told:
        parse_servers({"a": {"url": "${SECRET}"}}, {"SECRET": "plain-secret-1234"})
    assert "plain-secret" not in str(told.value)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"mcpServers": 5}', "\xff"])
def test_a_file_that_is_no_list_of_servers_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigurationError, match="MCP servers"):
        read_servers(path, {})


def test_a_file_that_is_absent_or_huge_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="can't be read"):
        read_servers(tmp_path / "absent.json", {})
    huge = tmp_path / "huge.json"
    huge.write_text(json.dumps({"a": "x" * 1_100_000}), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="bytes"):
        read_servers(huge, {})


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"a": {"command": "x"}}}), encoding="utf-8-sig")
    assert list(read_servers(path, {})) == ["a"]
