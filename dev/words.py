"""Counts the words of docs/: `python dev/words.py` prints them, and what of them is prose.

Words are counted as `wc -w` does; prose is what is left without code, tables and headings.
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
TABLES = ("capabilities.md", "documents.md")
GROUPS = ("readers' pages", "decisions", "generated reference", "tables of tests")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_NO_PROSE = re.compile(r"^(\||#).*$", re.MULTILINE)


def group_of(page: Path) -> str:
    """Return the one of GROUPS that a page of docs/ belongs to."""
    name = page.relative_to(DOCS).as_posix()
    if name in TABLES:
        return "tables of tests"
    if name.startswith("reference/"):
        return "generated reference"
    return "decisions" if name.startswith("decisions") else "readers' pages"


def counted() -> dict[str, tuple[int, int, int]]:
    """Return for each group its pages, words and words of prose."""
    found: dict[str, tuple[int, int, int]] = dict.fromkeys(GROUPS, (0, 0, 0))
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        prose = _NO_PROSE.sub("", _FENCED.sub("", text))
        pages, words, of_prose = found[group_of(page)]
        found[group_of(page)] = (pages + 1, words + len(text.split()), of_prose + len(prose.split()))
    return found


def main() -> None:
    """Print a line for each group."""
    for group, (pages, words, prose) in counted().items():
        print(f"{group}: {words:,} words on {pages} pages, {prose:,} of them prose")


if __name__ == "__main__":
    main()
