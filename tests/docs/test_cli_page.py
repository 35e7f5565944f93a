"""docs/cli.md and the pages below it list every command of `ace-graph` once, with options that exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.commands import all_commands

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [DOCS / "cli.md", *sorted((DOCS / "cli").glob("*.md"))]
PAGE = "".join(path.read_text(encoding="utf-8") for path in PAGES)
ROWS = re.findall(r"^\| `ace-graph ([a-z0-9 -]+)` \| (.*) \|$", PAGE, re.MULTILINE)


def test_every_command_has_one_row() -> None:
    assert sorted(command for command, _ in ROWS) == sorted(all_commands())


def test_the_options_in_a_row_exist() -> None:
    options = all_commands()
    named = [(command, option) for command, text in ROWS for option in re.findall(r"`(--[a-z-]+)`", text)]
    assert len(named) > 4
    assert [(command, option) for command, option in named if option not in options[command]] == []
