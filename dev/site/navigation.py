"""Navigation: headings and table rows of docs/index.md, and of each page the rows that lead to its parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dev.site.pages import DOCS, ROOT, SiteError

_HEADING_OR_ROW = re.compile(
    r"^## (?P<heading>.*)$|^\| \[(?P<title>[^\]]*)\]\((?P<target>[^)#:\s]+)\)", re.MULTILINE
)


@dataclass(frozen=True)
class Page:
    """A page in the navigation: its title, its place below the folder of pages, the pages below it."""

    title: str
    place: Path
    parts: tuple[Page, ...] = ()


@dataclass(frozen=True)
class Section:
    """A heading of the navigation, and its pages."""

    title: str
    pages: tuple[Page, ...]


def navigation_of(sources: dict[Path, Path], reference: tuple[Page, ...]) -> tuple[Section, ...]:
    """The sections in the order of docs/index.md, then the reference. Raises SiteError for a missing page."""
    index = DOCS / "index.md"
    sections: list[tuple[str, list[Page]]] = []
    for match in _HEADING_OR_ROW.finditer(index.read_text(encoding="utf-8")):
        if match["heading"]:
            sections.append((match["heading"], []))
        elif sections:
            there = (index.parent / match["target"]).resolve()
            sections[-1][1].append(_page(match["title"], there, sources))
    navigation = tuple(Section(title, tuple(pages)) for title, pages in sections if pages)
    _expect_every_page(navigation, sources)
    return (*navigation, Section("Reference", reference))


def _expect_every_page(navigation: tuple[Section, ...], sources: dict[Path, Path]) -> None:
    """Raises SiteError for pages of docs/ that the navigation lacks."""
    top = [page for section in navigation for page in section.pages]
    named = {page.place for page in top} | {part.place for page in top for part in page.parts}
    own = {source: place for source, place in sources.items() if source.is_relative_to(DOCS)}
    pages = {source: place for source, place in own.items() if source.suffix == ".md"}
    missing = [str(source.relative_to(ROOT)) for source, place in pages.items() if place not in named]
    missing.remove("docs/index.md")
    if missing:
        wanted = ", ".join(sorted(missing))
        raise SiteError(f"no table of docs/index.md, or of the page above, has a row that links to {wanted}")


def _page(title: str, source: Path, sources: dict[Path, Path]) -> Page:
    """A page, and below it the pages of the folder of its name in the order of its tables."""
    if source not in sources:
        raise SiteError(f"docs/index.md links to {source.relative_to(ROOT)}, which is no page of the site")
    folder = source.with_suffix("")
    parts: list[Page] = []
    if source.suffix == ".md" and source.is_relative_to(DOCS) and folder.is_dir():
        for match in _HEADING_OR_ROW.finditer(source.read_text(encoding="utf-8")):
            there = (source.parent / match["target"]).resolve() if match["target"] else source
            if there.parent == folder:
                parts.append(_page(match["title"], there, sources))
    return Page(title, sources[source], tuple(parts))
