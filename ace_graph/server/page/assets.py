"""The files of the page: which there must be, and under which address a browser gets them.

The address holds a hash of the content, so a browser keeps a file for good and never shows an old one.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from ace_graph.errors import ConfigurationError

STATIC_FILES = {
    "page.css": "text/css; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "chat.js": "text/javascript; charset=utf-8",
    "keys.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
TEMPLATES = (
    "base.html",
    "bullet.html",
    "bullet_rows.html",
    "carried.html",
    "chat.html",
    "conflict.html",
    "diff.html",
    "error.html",
    "history.html",
    "kinds.html",
    "login.html",
    "playbook.html",
    "review.html",
    "run.html",
    "runs.html",
)
CATALOGUES = {"de": "de/LC_MESSAGES/page.mo"}
"""The compiled texts of each language but English, whose texts are in the templates."""


class Asset(NamedTuple):
    """A static file: its content, its media type, and the hash that is part of its address."""

    content: bytes
    media_type: str
    digest: str


def folder(name: str) -> Traversable:
    """Return a folder of the package: `templates`, `static` or `locale`."""
    return files("ace_graph.server.page") / name


@cache
def find_asset(name: str) -> Asset | None:
    """Return a static file, None for a name that is none of ours."""
    if name not in STATIC_FILES:
        return None
    content = (folder("static") / name).read_bytes()
    return Asset(content, STATIC_FILES[name], hashlib.sha256(content).hexdigest()[:16])


def asset_path(name: str) -> str:
    """Return where a static file is, below the page's address; the hash of one that there is not is 0."""
    found = find_asset(name)
    return f"/static/{found.digest if found else '0'}/{name}"


def check_assets() -> None:
    """Raise ConfigurationError where a file of the page is missing from the installation."""
    wanted = [
        *(("static", name) for name in STATIC_FILES),
        *(("templates", name) for name in TEMPLATES),
        *(("locale", name) for name in CATALOGUES.values()),
    ]
    missing = [f"{place}/{name}" for place, name in wanted if not (folder(place) / name).is_file()]
    if missing:
        raise ConfigurationError(
            f"the installation lacks files of the page ({', '.join(missing)}): install ace-graph again, "
            "or serve without the page (--no-page)"
        )
