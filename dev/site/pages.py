"""The Markdown of the repository as pages of the site.

Every page of docs/ goes there, and every Markdown file that these lead to by links. A link to another file
leads to a copy of it, a link to a folder to a list of its files. A Mermaid diagram becomes its picture in
`pictures/`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PICTURES = Path(__file__).parent / "pictures"

_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
_FENCED = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE_OF_DIAGRAM = re.compile(r"^\s*accTitle: *(.*)$", re.MULTILINE)


class SiteError(Exception):
    """A page can't be published as it is."""


def write_pages(out: Path) -> dict[Path, Path]:
    """Write every page below `out`; return the place of each published file, relative to `out`."""
    sources: dict[Path, Path] = {}
    waiting = sorted(DOCS.rglob("*.md"))
    while waiting:
        source = waiting.pop()
        if source in sources:
            continue
        sources[source] = place_of(source)
        waiting.extend(there for there in _linked(source) if there.suffix == ".md" and there not in sources)
    for source in list(sources):
        for there in _linked(source):
            if there not in sources:
                sources[there] = place_of(there)
                _publish_file(there, out / sources[there])
    for source, place in sources.items():
        if source.suffix == ".md":
            file = out / place
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(page_of(source, sources), encoding="utf-8")
    shutil.copytree(PICTURES, out / "pictures", dirs_exist_ok=True)
    shutil.copy(Path(__file__).with_name("style.css"), out / "style.css")
    return sources


def place_of(source: Path) -> Path:
    """Where on the site a file of the repository is."""
    inside = source.relative_to(ROOT)
    if source == ROOT / "README.md":
        return Path("index.md")
    if source.is_relative_to(DOCS):
        has_parts = source.with_suffix("").is_dir()
        return (
            source.relative_to(DOCS).with_suffix("") / "index.md" if has_parts else source.relative_to(DOCS)
        )
    if source.suffix == ".ipynb":
        return inside.with_suffix(".md")
    if source.suffix == ".md":
        name = inside.parent.name if inside.name == "README.md" else inside.stem.lower().replace("_", "-")
        return Path("project", *inside.parent.parts, f"{name}.md")
    if source.is_dir():
        return Path("files", *inside.parts, "index.md")
    return Path("files", *inside.parent.parts, inside.name.removeprefix("."))


def page_of(source: Path, sources: dict[Path, Path]) -> str:
    """A page's Markdown with its links and diagrams as they are on the site. Raises SiteError."""
    here = sources[source]
    text = source.read_text(encoding="utf-8")
    parts: list[str] = []
    end = 0
    for block in _FENCED.finditer(text):
        parts.append(_relinked(text[end : block.start()], source, sources))
        is_diagram = block["language"] == "mermaid"
        parts.append(_picture(block["text"], source, here) if is_diagram else block[0])
        end = block.end()
    return "".join([*parts, _relinked(text[end:], source, sources)])


def _linked(source: Path) -> list[Path]:
    """The files and folders that a page leads to. Raises SiteError for one that does not exist."""
    found: list[Path] = []
    for target, _ in _LINK.findall(_FENCED.sub("", source.read_text(encoding="utf-8"))):
        there = (source.parent / target).resolve() if target else source
        if not there.exists():
            raise SiteError(f"{source.relative_to(ROOT)} links to {target}, which does not exist")
        found.append(there)
    return found


def _relinked(text: str, source: Path, sources: dict[Path, Path]) -> str:
    """Text with links that lead to the places on the site."""
    here = sources[source].parent

    def link(match: re.Match[str]) -> str:
        if not match[1]:
            return match[0]
        place = sources[(source.parent / match[1]).resolve()]
        return f"]({os.path.relpath(place, here)}{match[2] or ''})"

    return _LINK.sub(link, text)


def _picture(diagram: str, source: Path, here: Path) -> str:
    """The image of a diagram. Raises SiteError if nobody has drawn it."""
    name = picture_name(diagram)
    title = _TITLE_OF_DIAGRAM.search(diagram)
    where = source.relative_to(ROOT) if source.is_relative_to(ROOT) else source.name
    if not title:
        raise SiteError(f"{where}: a diagram has no line `accTitle: ...`, which says what it shows")
    if not (PICTURES / name).exists():
        raise SiteError(
            f"{where}: the picture of '{title[1]}' is missing; draw it with `python -m dev.site.draw`"
        )
    return f"![{title[1]}]({os.path.relpath(Path('pictures', name), here.parent)})"


def diagrams() -> list[str]:
    """The source of every Mermaid diagram on a page of docs/."""
    pages = (path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md")))
    return [
        block["text"] for page in pages for block in _FENCED.finditer(page) if block["language"] == "mermaid"
    ]


def picture_name(diagram: str) -> str:
    """The file of a diagram's picture: a hash of its source, so that a changed diagram is drawn again."""
    return f"{hashlib.sha256(diagram.encode()).hexdigest()[:16]}.svg"


def _publish_file(source: Path, target: Path) -> None:
    """Copy a file that is no page; list a folder."""
    if source.suffix == ".ipynb":
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if not source.is_dir():
        shutil.copy(source, target)
        return
    kept: Callable[[Path], bool] = lambda path: path.is_file() and not path.name.startswith(".")  # noqa: E731
    files = sorted(filter(kept, source.iterdir()))
    for file in files:
        shutil.copy(file, target.with_name(file.name))
    lines = "".join(f"- [{file.name}]({file.name})\n" for file in files)
    target.write_text(f"# {source.relative_to(ROOT)}\n\n{lines}", encoding="utf-8")
