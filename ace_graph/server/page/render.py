"""Templates, and what all of them know: the language, the theme, who is signed in, addresses of files.

Everything that is written into a page is escaped. Texts come from gettext catalogues; a folder of the
host's own templates is looked into first.
"""

from __future__ import annotations

import gettext
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from ace_graph.base.errors import ConfigurationError

STATIC_FILES = {
    "page.css": "text/css; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "chat.js": "text/javascript; charset=utf-8",
    "keys.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_SHARED = ("base", "bullet_rows", "charts", "diff", "kinds")
_VIEWS = ("audit", "bullet", "chat", "figures", "history", "playbook", "review", "run", "runs")
TEMPLATES = tuple(f"{name}.html" for name in (*_SHARED, *_VIEWS, "carried", "conflict", "error", "login"))
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


LANGUAGES = ("en", *CATALOGUES)
THEMES = ("auto", "light", "dark")


@dataclass(frozen=True)
class Look:
    """How a visitor wants the page: language and theme, from cookies or the browser's wish."""

    language: str
    theme: str

    @classmethod
    def of(cls, request: Request) -> Look:
        language = request.cookies.get("ace_language", "")
        theme = request.cookies.get("ace_theme", "")
        return cls(
            language if language in LANGUAGES else _accepted(request.headers.get("accept-language", "")),
            theme if theme in THEMES else "auto",
        )


def _accepted(header: str) -> str:
    """The first language of the header that there is, English else."""
    for wish in header[:500].split(","):
        name = wish.split(";")[0].strip().lower()[:2]
        if name in LANGUAGES:
            return name
    return "en"


class Renderer:
    """Makes pages from templates. `templates` is a folder whose files are taken instead of ours."""

    def __init__(self, templates: Path | None = None) -> None:
        own: list[BaseLoader] = [PackageLoader("ace_graph.server.page", "templates")]
        loaders = [FileSystemLoader(templates), *own] if templates else own
        self._environments = {
            language: _environment(ChoiceLoader(loaders), language) for language in LANGUAGES
        }

    def page(
        self, request: Request, template: str, values: Mapping[str, object], status: int = 200
    ) -> HTMLResponse:
        """Return a page. `values` are what the template names."""
        look, prefix = Look.of(request), str(request.scope.get("root_path", "")).rstrip("/")
        known: dict[str, object] = {
            "look": look,
            "prefix": prefix,
            "asset": asset_path,
            "path": request.url.path,
            "languages": LANGUAGES,
            "themes": THEMES,
        }
        text = self._environments[look.language].get_template(template).render({**known, **values})
        return HTMLResponse(text, status)


def _environment(loader: BaseLoader, language: str) -> Environment:
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_translations(_catalogue(language), newstyle=True)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  # of the extension
    environment.filters["day"] = lambda day: f"{day:%Y-%m-%d}" if day else ""
    environment.filters["moment"] = _moment
    environment.policies["ext.i18n.trimmed"] = True
    return environment


def _catalogue(language: str) -> gettext.NullTranslations:
    if language == "en":
        return gettext.NullTranslations()
    with (folder("locale") / CATALOGUES[language]).open("rb") as file:
        return gettext.GNUTranslations(file)


def _moment(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if moment else ""
