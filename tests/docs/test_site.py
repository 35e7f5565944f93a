"""The site is built without a warning, and a browser that shows it asks no other host for anything."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page

from dev.site.__main__ import build, generate
from dev.site.notebooks import write_notebook
from dev.site.pages import SiteError, diagrams, page_of, picture_name
from dev.site.reference import reference_page
from tests.packaging.repository import ROOT
from tests.plugins.heavy import some_heavy
from tests.plugins.sizes import PATIENT

SHOWN = ("index.html", "start/index.html", "architecture/index.html", "reference/routes/index.html",
         "notebooks/01_quickstart/index.html", "reference/ace_graph/index.html")  # fmt: skip
SCREENS = [(360, True, SHOWN[:4]), (1280, False, SHOWN[3:])]
"""Widths, whether it is dark, and the pages that are shown so."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@dataclass(frozen=True)
class Site:
    """A built site: its folder, and where it is served."""

    html: Path
    url: str


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site, built once for all workers, without running the notebooks (test_notebooks.py does that)."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    html = shared / "site" / "html"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (html / "llms.txt").exists():  # it is written last
            build(shared / "site", run_notebooks=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(html))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Site(html, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


@dataclass(frozen=True)
class Seen:
    """Of a page in a browser: the addresses asked for, errors, broken pictures, all pictures, the width."""

    asked: list[str]
    errors: list[str]
    broken: int
    pictures: int
    width: int


def _open(url: str, browser: Browser, *, width: int, dark: bool) -> Seen:
    page = _patient(
        browser.new_page(viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light")
    )
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(url, wait_until="networkidle")
    seen = Seen(asked, errors, _broken(page), page.locator("article img").count(), _width(page))
    page.close()
    return seen


def _patient(page: Page) -> Page:
    page.set_default_timeout(1000 * PATIENT)
    return page


def _broken(page: Page) -> int:
    return int(page.evaluate("[...document.images].filter(image => !image.naturalWidth).length"))


def _width(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))


@pytest.mark.parametrize(
    ("width", "dark", "shown"),
    some_heavy(SCREENS, SCREENS[0].__eq__),
)
def test_no_page_asks_another_host(
    site: Site, browser: Browser, width: int, dark: bool, shown: tuple[str, ...]
) -> None:
    for name in shown:
        url = f"{site.url}/{name.removesuffix('index.html')}"
        seen = _open(url, browser, width=width, dark=dark)
        assert len(seen.asked) > 3
        assert [asked for asked in seen.asked if not asked.startswith(site.url)] == []
        assert (name, seen.errors, seen.broken) == (name, [], 0)
        assert seen.width <= width


def test_diagrams_are_pictures(site: Site, browser: Browser) -> None:
    seen = _open(f"{site.url}/architecture/", browser, width=1280, dark=False)
    assert seen.pictures == (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").count(
        "```mermaid"
    )


def test_a_search_finds_a_page(site: Site, browser: Browser) -> None:
    def search(real: Browser) -> int:
        page = _patient(real.new_page())
        page.goto(site.url, wait_until="networkidle")
        assert page.get_by_text("Screening of text").count() == 0
        page.keyboard.press("Control+k")
        page.keyboard.type("quarantine")
        page.get_by_text("Screening of text").first.wait_for()
        found = page.get_by_text("Screening of text").count()
        page.close()
        return found

    assert search(browser) > 0


QUESTIONS = {
    "How do I share a playbook?": "sharing",
    "how do I forget a learner": "deploy/operations",
    "restore a backup": "deploy/backup",
    "run it for 30 people": "deploy/people",
    "How does it compare with mem0?": "evaluation/compared",
}
"""What people ask the search, and the page that is among its first three answers."""


def test_the_search_answers_questions(site: Site, browser: Browser) -> None:
    def ask(real: Browser) -> int:
        page = _patient(real.new_page())
        page.goto(site.url, wait_until="networkidle")
        page.keyboard.press("Control+k")
        for question, wanted in QUESTIONS.items():
            page.keyboard.press("Control+a")
            page.keyboard.type(question)
            page.locator(f"dialog ol > :nth-child(-n+3) a[href*='/{wanted}/']").first.wait_for()
        page.close()
        return len(QUESTIONS)

    assert ask(browser) == len(QUESTIONS), "each waits for its page among the first three answers"


def test_the_reading_lists_name_every_page(site: Site) -> None:
    listed = (site.html / "llms.txt").read_text(encoding="utf-8")
    whole = (site.html / "llms-full.txt").read_text(encoding="utf-8")
    assert "](start.md): For somebody who has never used it" in listed
    pages = sorted(path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md"))
    for page in pages:
        assert page.name == "index.md" or f"/{page.stem}" in listed.replace("](", "](/")
    assert "# Start here" in whole
    assert "def build_ace_graph(" in whole
    assert (site.html / "start.md").is_file()


def test_every_public_name_is_in_the_reference(site: Site) -> None:
    import ace_graph

    page = (site.html / "reference" / "ace_graph.md").read_text(encoding="utf-8")
    missing = [name for name in ace_graph.__all__ if f"\n## `{name}`\n" not in page]
    assert missing == []


def test_the_face_of_a_room_is_in_the_reference(site: Site) -> None:
    page = (site.html / "reference" / "ace_graph.training.md").read_text(encoding="utf-8")
    missing = [name for name in ("OfflineAdapter", "Sample") if f"\n## `{name}`\n" not in page]
    assert missing == []


def test_a_link_that_leads_nowhere_stops_the_build(site: Site, tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.md").write_text("# Page\n\n[there](nowhere.md)\n")
    (tmp_path / "zensical.toml").write_text(
        '[project]\nsite_name = "x"\ndocs_dir = "pages"\nsite_dir = "html"\n'
    )
    with pytest.raises(SiteError, match="page does not exist"):
        generate(tmp_path)


def test_a_diagram_without_a_picture_stops_the_build(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```mermaid\ngraph LR\n    accTitle: New\n    a --> b\n```\n")
    with pytest.raises(SiteError, match=r"dev\.site\.draw"):
        page_of(page, {page: Path("page.md")})


def test_no_picture_is_left_of_a_diagram_that_is_gone() -> None:
    drawn = {path.name for path in (ROOT / "dev" / "site" / "pictures").glob("*.svg")}
    assert drawn == {picture_name(diagram) for diagram in diagrams()}


def test_a_notebook_is_shown_with_its_outputs(tmp_path: Path) -> None:
    code = nbformat.v4.new_code_cell("1 + 1")
    code.outputs = [
        nbformat.v4.new_output("stream", text="a line\n"),
        nbformat.v4.new_output("display_data", data={"image/png": "iVBORw0KGgo="}),
    ]
    heading = nbformat.v4.new_markdown_cell("# Title\n\nSee [tuning](../docs/tuning.md).")
    write_notebook(nbformat.v4.new_notebook(cells=[heading, code]), "one", tmp_path)
    page = (tmp_path / "one.md").read_text(encoding="utf-8")
    assert page.startswith("# Title\n\n*")
    assert "a line" in page
    assert "](../tuning.md)" in page
    assert len(list((tmp_path / "one_files").iterdir())) == 1


def test_the_reference_shows_defaults_and_docstrings(tmp_path: Path) -> None:
    import griffe

    (tmp_path / "sample.py").write_text(
        '"""A module."""\n__all__ = ["call", "Thing"]\n\n\n'
        "async def call(a: int, *, b: str | None = None) -> None:\n"
        '    """Call it."""\n\n\nclass Thing(Base):\n    """A thing."""\n\n'
        '    size: int | None = Field(default=3, description="How large.")\n'
    )
    page = reference_page("sample", griffe.load("sample", search_paths=[str(tmp_path)]))
    assert "async def call(a: int, *, b: str | None = None) -> None" in page
    assert "| `size` | `int | None` | `3` | How large. |" in page
