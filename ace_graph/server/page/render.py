"""Templates, and what all of them know: the language, the theme, who is signed in, addresses of files.

Everything that is written into a page is escaped. Texts come from gettext catalogues; a folder of the
host's own templates is looked into first.
"""

from __future__ import annotations

import gettext
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple, Protocol

from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from ace_graph.base.errors import ConfigurationError

# The files of the page: which there must be, and under which address a browser gets them.
#
# The address holds a hash of the content, so a browser keeps a file for good and never shows an old one.


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


LANGUAGES = ("en", *CATALOGUES)
THEMES = ("auto", "light", "dark")


@dataclass(frozen=True)
class Look:
    """How a visitor wants the page: language and theme, from cookies or the browser's wish."""

    language: str
    theme: str

    @classmethod
    def of(cls, request: Request) -> Look:
        """Return the look of a request."""
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
    environment.filters["day"] = _day
    environment.filters["moment"] = _moment
    environment.policies["ext.i18n.trimmed"] = True
    return environment


def _catalogue(language: str) -> gettext.NullTranslations:
    if language == "en":
        return gettext.NullTranslations()
    with (folder("locale") / CATALOGUES[language]).open("rb") as file:
        return gettext.GNUTranslations(file)


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else ""


def _moment(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if moment else ""


# Charts as inline SVG, drawn by attributes alone, as the page's policy allows no style.
#
# Each chart has a sentence for those who don't see it, and stands beside the table of its figures.


_WIDTH, _HEIGHT, _GAP = 600, 90, 2
_LEAST_PLACES = 12
"""A few values are not spread over the whole width."""


class ChartInterval(Protocol):
    """A value between -1 and 1 with the ends of its interval."""

    @property
    def lift(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def bars(values: Sequence[float], label: str) -> Markup:
    """Return bars for values that are not negative, the first on the left; `label` says what they show."""
    most, step = max(values, default=0) or 1, _step(values)
    drawn = Markup("").join(
        _rect(place * step, _HEIGHT - height, step, height)
        for place, height in enumerate(value / most * _HEIGHT for value in values)
    )
    return _chart("bars", label, drawn)


def intervals(values: Sequence[ChartInterval | None], label: str) -> Markup:
    """Return each value as a mark in the bar of its interval, above and below a line for 0; None is a gap."""
    known = [value for value in values if value is not None]
    reach = max((max(abs(value.low), abs(value.high)) for value in known), default=0) or 1
    step, middle = _step(values), _HEIGHT / 2

    def level(value: float) -> float:
        return middle - value / reach * middle

    drawn = Markup('<line x1="0" x2="{}" y1="{}" y2="{}"/>').format(_WIDTH, middle, middle)
    for place, value in enumerate(values):
        if value is not None:
            left, top = place * step, level(value.high)
            drawn += _rect(left, top, step, level(value.low) - top)
            drawn += Markup('<rect class="mark" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="3"/>').format(
                left, level(value.lift) - 1.5, max(1.0, step - _GAP)
            )
    return _chart("intervals", label, drawn)


def _step(values: Sequence[object]) -> float:
    return _WIDTH / max(len(values), _LEAST_PLACES)


def _rect(left: float, top: float, step: float, height: float) -> Markup:
    return Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="2"/>').format(
        left, top, max(1.0, step - _GAP), height
    )


def _chart(kind: str, label: str, drawn: Markup) -> Markup:
    frame = Markup('<svg class="{}" role="img" aria-label="{}" viewBox="0 0 {} {}" {}>{}</svg>')
    return frame.format(kind, label, _WIDTH, _HEIGHT, Markup('preserveAspectRatio="none"'), drawn)
