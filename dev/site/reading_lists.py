"""llms.txt (https://llmstxt.org), llms-full.txt and each page's Markdown: the site for programs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from dev.site.navigation import Page, Section

_ABOUT = "A LangGraph agent whose memory is a playbook of short bullets for each learner."
_FOR = re.compile(r"^\*(For .*?)\*$", re.MULTILINE | re.DOTALL)


def write_reading_lists(html: Path, pages: Path, navigation: tuple[Section, ...]) -> None:
    """Write llms.txt, llms-full.txt and the Markdown of every page into the site."""
    index = pages / "index.md"
    lines, texts = ["# ace_graph", "", f"> {_ABOUT}", ""], [index.read_text(encoding="utf-8")]
    for section in navigation:
        lines += [f"## {section.title}", ""]
        for page in _with_parts(section.pages):
            text = (pages / page.place).read_text(encoding="utf-8")
            readers = _FOR.search(text)
            about = f": {' '.join(readers[1].split())}" if readers else ""
            lines.append(f"- [{page.title}]({page.place}){about}")
            texts.append(text)
        lines.append("")
    (html / "llms-full.txt").write_text("\n\n".join(texts), encoding="utf-8")
    for page in pages.rglob("*.md"):
        target = html / page.relative_to(pages)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, target)
    (html / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def _with_parts(pages: tuple[Page, ...]) -> Iterator[Page]:
    for page in pages:
        yield page
        yield from _with_parts(page.parts)
