"""The table in docs/deploy/commands.md: no command about memory without a route, or the reason for that."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

from ace_graph.server import create_app
from tests.cli.commands import all_commands
from tests.server.serving import settings_for

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "deploy" / "commands.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (`[^|]*`) \| (.*) \|$", PAGE, re.MULTILINE)


def _names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _routes() -> set[str]:
    paths = create_app(settings_for(model="offline")).openapi()["paths"]
    return {f"{method.upper()} {path}" for path, operations in paths.items() for method in operations}


def _told() -> list[str]:
    return [name for _, cell in ROWS for name in _names(cell) if "/" in name]


def test_every_command_has_a_row() -> None:
    told = [name for commands, _ in ROWS if commands != "`ace-graph`" for name in _names(commands)]
    known = all_commands()
    assert len(set(told)) == len(told)
    assert {_command(name, known) for name in told} == set(known)
    options = [(_command(name, known), option) for name in told for option in re.findall(r"--[a-z-]+", name)]
    assert [(command, option) for command, option in options if option not in known[command]] == []


def _command(name: str, known: Container[str]) -> str:
    """Return the command in a text such as `playbook edit --pin`."""
    words = name.split()
    return next((each for n in range(len(words), 0, -1) if (each := " ".join(words[:n])) in known), name)


def test_a_row_names_routes_or_a_reason() -> None:
    odd = [commands for commands, cell in ROWS[1:] if not re.match(r"no route: \w.{20}|`[A-Z]+ /api/", cell)]
    assert odd == []


def test_the_routes_are_those_that_are_served() -> None:
    assert set(_told()) - _routes() == set()
    assert len(set(_told())) == len(_told())
