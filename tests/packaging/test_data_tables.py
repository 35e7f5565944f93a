"""The tables in package data: each says how it is written, and all that a turn needs are read before it."""

from __future__ import annotations

from pathlib import Path

import pytest

import ace_graph
from ace_graph.base import PACKAGES, groups, has_table, pairs, read_lines, read_words

ROOT = Path(ace_graph.__path__[0])
READ_LATER = {"ace_graph.cli", "ace_graph.playbooks", "ace_graph.server"}
"""What is read on request, and what the server says of errors, which is read when that is imported."""


def _packages() -> dict[str, list[Path]]:
    folders = [*ROOT.glob("*/data"), *ROOT.glob("memory/*/data")]
    return {
        ".".join(("ace_graph", *folder.relative_to(ROOT).parent.parts)): sorted(folder.rglob("*.t*"))
        for folder in folders
    }


TABLES = [path for paths in _packages().values() for path in paths]


@pytest.mark.parametrize("path", TABLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_table_begins_with_its_format(path: Path) -> None:
    header = path.read_text("utf-8").partition("\n\n")[0]
    assert all(line.startswith("#") for line in header.splitlines())
    assert "Format:" in header


def test_every_package_with_tables_is_preloaded() -> None:
    assert sorted(_packages().keys() - READ_LATER) == sorted(PACKAGES)


def test_comments_are_no_words() -> None:
    path = "by_language/english/stop_words.txt"
    assert has_table("ace_graph.memory.languages", path)
    assert not {"#", "Format:"} & read_words("ace_graph.memory.languages", path)
    assert read_lines("ace_graph.memory.languages", "by_language/languages.txt")[0] == "english"


def test_groups_are_separated_by_bars_and_line_ends() -> None:
    assert groups("a b | c\n\nd e |\n") == [["a", "b"], ["c"], ["d", "e"]]
    assert pairs("a b | c d") == {"a": "b", "c": "d"}
