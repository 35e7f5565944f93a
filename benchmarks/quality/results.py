"""RESULTS.md: each benchmark replaces its own section and leaves the others alone."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["looks", "replace_section"]

TITLE = "# Quality\n\nWritten by `make bench-quality`.\n"


def replace_section(path: Path, name: str, text: str) -> None:
    """Put `text` under the heading `## name`; the section is added where there is none."""
    page = path.read_text("utf-8") if path.exists() else TITLE
    section = f"## {name}\n\n{text.strip()}\n"
    found = re.compile(rf"^## {re.escape(name)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    changed = (
        found.sub(lambda _: f"{section}\n", page) if found.search(page) else f"{page.rstrip()}\n\n{section}"
    )
    path.write_text(f"{changed.rstrip()}\n", "utf-8")


def looks(path: Path, name: str) -> str:
    """Return in words when the held-out half of a set was looked at: each look is a section of the page."""
    page = path.read_text("utf-8") if path.exists() else ""
    found = re.findall(rf"^## {re.escape(name)}: the held-out half, looked at on (.+)$", page, re.MULTILINE)
    if not found:
        return "The held-out half has not been looked at."
    return f"The held-out half was looked at on {', '.join(found)}; see below."
