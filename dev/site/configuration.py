"""The generator's configuration: the fixed part in `zensical.toml` beside this file, and the navigation."""

from __future__ import annotations

import json
from pathlib import Path

from dev.site.navigation import Page, Section

_FIXED = Path(__file__).with_name("zensical.toml")
_MARK = "# NAVIGATION"


def write_configuration(file: Path, navigation: tuple[Section, ...]) -> None:
    """Write `file`, the configuration of one build."""
    sections = [{section.title: [_entry(page) for page in section.pages]} for section in navigation]
    lines = [
        "nav = [",
        '  { "Overview" = "index.md" },',
        *(f"  {_toml(section)}," for section in sections),
        "]",
    ]
    file.write_text(_FIXED.read_text(encoding="utf-8").replace(_MARK, "\n".join(lines)), encoding="utf-8")


def _entry(page: Page) -> object:
    """A page, or a list of a page and the pages below it."""
    if not page.parts:
        return {page.title: str(page.place)}
    return {page.title: [str(page.place), *(_entry(part) for part in page.parts)]}


def _toml(value: object) -> str:
    """A text, list or table as one line of TOML."""
    if isinstance(value, dict):
        table: dict[str, object] = value  # pyright: ignore[reportUnknownVariableType] - keys are titles
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in table.items()) + " }"
    if isinstance(value, list):
        items: list[object] = value  # pyright: ignore[reportUnknownVariableType] - pages
        return "[" + ", ".join(map(_toml, items)) + "]"
    return json.dumps(value, ensure_ascii=False)
