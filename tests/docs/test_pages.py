"""Each page of docs/ says who it is for, shows an example, and is short enough to be read at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dev.words import counted
from tests.docs.blocks import read_blocks

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {str(path.relative_to(DOCS)): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
WORDS = 1200
LONG = {
    **{f"reference/{name}.md": "generated" for name in ("commands", "fields", "routes", "settings")},
    "capabilities.md": "a table to look things up in, with the names of tests",
    "documents.md": "tables to look things up in, with the names of tests",
}
WITHOUT_EXAMPLE = {
    "architecture/costs.md": "measurements",
    "architecture/glossary.md": "a list of words",
    "capabilities.md": "a table of tests",
    "decisions.md": "a list of pages",
    "documents.md": "tables of tests",
    "scale.md": "measurements and plans",
    "scale/postgresql.md": "needs a database of several machines",
    "tuning/defaults.md": "measurements",
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_first_who_it_is_for(name: str) -> None:
    assert re.match(r"# \S[^\n]*\n\n\*For [^*]+\.\*\n", PAGES[name]), "below the heading: *For ... .*"


@pytest.mark.parametrize("name", sorted(PAGES.keys() - LONG.keys()))
def test_a_page_is_short(name: str) -> None:
    assert len(PAGES[name].split()) <= WORDS, f"move a part into docs/{name.removesuffix('.md')}/"


def test_all_pages_together_are_short() -> None:
    words = {group: count for group, (_, count, _) in counted().items()}
    assert words["readers' pages"] <= 30_000, "say it once, and link"
    assert words["decisions"] <= 8_000


@pytest.mark.parametrize("name", sorted(PAGES.keys() - WITHOUT_EXAMPLE.keys()))
def test_a_page_has_an_example(name: str) -> None:
    if not name.startswith("decisions/"):
        assert {block.language for block in read_blocks(PAGES[name])} & {"bash", "python"}


def test_the_exceptions_are_pages() -> None:
    assert (LONG.keys() | WITHOUT_EXAMPLE.keys()) - PAGES.keys() == set()


def test_readme_is_short() -> None:
    lines = (DOCS.parent / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 150
