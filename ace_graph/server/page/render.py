"""Templates, and what all of them know: the language, the theme, who is signed in, addresses of files.

Everything that is written into a page is escaped. Texts come from gettext catalogues; a folder of the
host's own templates is looked into first.
"""

from __future__ import annotations

import gettext
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache, lru_cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from ace_graph.base.errors import ConfigurationError
from ace_graph.learning.statements.statement import ATTRIBUTION
from ace_graph.server.page.formulas import with_formulas
from ace_graph.server.page.told import told

STATIC_FILES = {
    "page.css": "text/css; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "chat.js": "text/javascript; charset=utf-8",
    "keys.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "icons.svg": "image/svg+xml",
}
_SHARED = ("base", "bullet_rows", "changes", "charts", "diff", "kinds")
_VIEWS = (
    *("audit", "bullet", "chat", "figures", "history", "learners", "people", "playbook", "privacy"),
    *("review", "run", "runs"),
)
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


_GERMAN_MARKS = str.maketrans(",.", ".,")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True)
class Look:
    """How a visitor wants the page: language, theme and time zone, from cookies or the browser's wish.

    `zone` is empty where no browser has said it: times are those of the server's zone then, with its name.
    """

    language: str
    theme: str
    zone: str
    place: ZoneInfo

    @classmethod
    def of(cls, request: Request, zone: str) -> Look:
        language = request.cookies.get("ace_language", "")
        theme = request.cookies.get("ace_theme", "")
        own = request.cookies.get("ace_zone", "").replace("%2F", "/")
        return cls(
            language if language in LANGUAGES else _accepted(request.headers.get("accept-language", "")),
            theme if theme in THEMES else "auto",
            own if _zone(own) else "",
            _zone(own) or ZoneInfo(zone),
        )

    def local(self, moment: datetime) -> datetime:
        """Return the moment as the visitor's clock shows it."""
        return moment.astimezone(self.place)

    def day(self, day: date) -> str:
        """Return a day as people write it."""
        if self.language == "de":
            return f"{day:%d.%m.%Y}"
        return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"

    def number(self, value: float, places: int = 0) -> str:
        """Return a number as people write it, with so many places."""
        text = f"{value:,.{places}f}"
        return text.translate(_GERMAN_MARKS) if self.language == "de" else text

    def signed(self, value: float) -> str:
        """Return a whole number with its sign, as people write it."""
        whole = round(value)
        return f"{'+' if whole > 0 else '−' if whole else ''}{self.number(abs(whole))}"

    def clock(self, moment: datetime) -> str:
        """Return the time of day, with the zone's name where it is the server's."""
        return f"{self.local(moment):%H:%M}" + ("" if self.zone else f" {self.local(moment):%Z}")


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo | None:
    """Return a time zone that there is; a cookie may name anything."""
    try:
        return ZoneInfo(name) if name and len(name) < 64 else None
    except (ValueError, ZoneInfoNotFoundError, OSError):
        return None


def _accepted(header: str) -> str:
    """The first language of the header that there is, English else."""
    for wish in header[:500].split(","):
        name = wish.split(";")[0].strip().lower()[:2]
        if name in LANGUAGES:
            return name
    return "en"


class Renderer:
    """Makes pages from templates. `templates` is a folder whose files are taken instead of ours.

    `zone` is the time zone of visitors whose browser has not said theirs.
    """

    def __init__(self, templates: Path | None = None, zone: str = "UTC") -> None:
        self._zone = zone
        own: list[BaseLoader] = [PackageLoader("ace_graph.server.page", "templates")]
        loaders = [FileSystemLoader(templates), *own] if templates else own
        self._environments = {
            language: _environment(ChoiceLoader(loaders), language) for language in LANGUAGES
        }

    def refusal(self, request: Request, text: str) -> str:
        """Return why something is not done, in the visitor's language where the page can say it."""
        return refusal(Look.of(request, self._zone).language, text) or text

    def page(
        self, request: Request, template: str, values: Mapping[str, object], status: int = 200
    ) -> HTMLResponse:
        """Return a page. `values` are what the template names."""
        look, prefix = Look.of(request, self._zone), str(request.scope.get("root_path", "")).rstrip("/")
        known: dict[str, object] = {
            "look": look,
            "prefix": prefix,
            "asset": asset_path,
            "icon": partial(_icon, prefix),
            "now": datetime.now(UTC),
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
    environment.filters["sentence"] = sentence
    environment.filters["told"] = partial(_reason, language)
    environment.filters["refusal"] = partial(refusal, language)
    environment.policies["ext.i18n.trimmed"] = True
    return environment


def _catalogue(language: str) -> gettext.NullTranslations:
    if language == "en":
        return gettext.NullTranslations()
    with (folder("locale") / CATALOGUES[language]).open("rb") as file:
        return gettext.GNUTranslations(file)


def _reason(language: str, text: str) -> str:
    """Return a reason or a record, in the page's language where the program gave it."""
    return told(language, text) or text


def refusal(language: str, text: str) -> str:
    """Return why something is not done as a sentence, empty where the page can't say it in its language."""
    said = told(language, text, refusal=True) or (text if language == "en" else "")
    return f"{said[:1].upper()}{said[1:]}{'' if said.endswith(('.', '!', '?', '…')) else '.'}" if said else ""


def _icon(prefix: str, name: str) -> Markup:
    address = f"{prefix}{asset_path('icons.svg')}#{name}"
    return Markup('<svg class="icon" aria-hidden="true"><use href="{}"/></svg>').format(address)


def sentence(text: str) -> str:
    """Return what a bullet says as people read it: their own words without the remark that they are."""
    said = text.removeprefix(ATTRIBUTION)
    return said if said == text else f"{said[:1].upper()}{said[1:]}"


MAX_MARKED_CHARS = 20_000
"""What is longer is shown as it is."""


def marked(text: str) -> Markup:
    """Return an answer's Markdown as HTML, formulas as MathML. HTML in it is text, and it loads nothing."""
    if len(text) > MAX_MARKED_CHARS:
        return Markup('<p class="text">{}</p>').format(text)
    return Markup(_markdown().render(_with_drawings(text)))  # noqa: S704  the renderer escapes all HTML


def _with_drawings(text: str) -> str:
    """Return the text with bars of characters, such as `3/4 [###.]`, as squares in a block of code."""
    lines, drawn = list[str](), False
    for line in text.split("\n"):
        bar = line.rstrip().endswith(("#]", ".]")) and ("[#" in line or "[." in line)
        if bar != drawn:
            lines.append("```")
        drawn = bar
        lines.append(_squares(line.rstrip()) if bar else line)
    return "\n".join([*lines, "```"] if drawn else lines)


def _squares(line: str) -> str:
    before, _, bar = line.rpartition("[")
    return before + bar.rstrip("]").replace("#", "■").replace(".", "□")


@cache
def _markdown() -> MarkdownIt:
    return with_formulas(
        MarkdownIt("commonmark", {"html": False, "breaks": True})
        .enable("table")
        .disable(["image", "html_block", "html_inline"])
    )
