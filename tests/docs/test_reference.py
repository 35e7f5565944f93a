"""docs/reference/ is what the program says of itself; and every command has a route, or a reason for none."""

from __future__ import annotations

import re

from ace_graph.base import variable_names
from ace_graph.base.prompts import PROMPT_VARIABLES
from ace_graph.server import create_app
from dev.site.generated import generated_pages, routes_of_commands
from tests.cli.commands import all_commands
from tests.packaging.repository import ROOT
from tests.server.serving import settings_for

REFERENCE = ROOT / "docs" / "reference"


def test_the_pages_are_fresh() -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in REFERENCE.iterdir()}
    assert committed == generated_pages(), "python -m dev.site.generated"


def test_every_variable_is_explained() -> None:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| \S.{8,} \|$", generated_pages()["settings.md"], re.MULTILINE)
    assert sorted(rows) == sorted(variable_names())


def test_every_field_is_explained() -> None:
    rows = re.findall(r"^\| `\w+` \|.*", generated_pages()["fields.md"], re.MULTILINE)
    assert len(rows) > 40
    assert [row for row in rows if row.endswith("| |")] == []


def test_every_command_has_a_route_or_a_reason() -> None:
    known = all_commands()
    told = {name: _split(name, known) for name in routes_of_commands()}
    assert {command for command, _ in told.values()} == set(known)
    assert [name for name, (command, option) in told.items() if option and option not in known[command]] == []
    texts = routes_of_commands().values()
    assert [text for text in texts if not re.match(r"\w[\w ,]{20}|[A-Z]+ /api/", text)] == []


def _split(name: str, known: dict[str, set[str]]) -> tuple[str, str]:
    """Return the command in a text such as `playbook edit --pin`, and the option."""
    words = name.split()
    command = next(
        (" ".join(words[:n]) for n in range(len(words), 0, -1) if " ".join(words[:n]) in known), name
    )
    return command, name.removeprefix(command).strip()


def test_the_routes_of_commands_are_served() -> None:
    paths = create_app(settings_for(model="offline")).openapi()["paths"]
    served = {f"{method.upper()} {path}" for path, operations in paths.items() for method in operations}
    told = set(re.findall(r"[A-Z]+ /api/[^,;\s]+", " ".join(routes_of_commands().values())))
    assert len(told) > 60
    assert told - served == set()


def test_every_prompt_file_is_named() -> None:
    page = (ROOT / "docs" / "tuning" / "prompts.md").read_text(encoding="utf-8")
    assert [name for name in PROMPT_VARIABLES if f"`{name}.md`" not in page] == []
