"""The texts of the page: `python dev/translations.py` reads them from the templates, compiles the catalogues.

A text that lacks a translation is listed, and the exit code is 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

PAGE = Path(__file__).resolve().parents[1] / "ace_graph" / "server" / "page"
LANGUAGES = ("de",)


def found_texts() -> Catalog:
    """Return every text of the templates."""
    catalog = Catalog(project="ace-graph", charset="utf-8")
    options = {"**.html": {"trimmed": "true", "newstyle_gettext": "true"}}
    method = [("**.html", "jinja2.ext:babel_extract")]
    for path, _, message, _, _ in extract_from_dir(PAGE / "templates", method, options):
        catalog.add(message, locations=[(path, 1)])
    return catalog


def main() -> int:
    """Update and compile every catalogue."""
    texts, missing = found_texts(), 0
    for language in LANGUAGES:
        folder = PAGE / "locale" / language / "LC_MESSAGES"
        file = folder / "page.po"
        with file.open("rb") as opened:
            catalog = read_po(opened, locale=language)
        catalog.update(texts, no_fuzzy_matching=True)
        catalog.obsolete.clear()
        lacking = [message.id for message in catalog if message.id and not _whole(message.string)]
        missing += len(lacking)
        for text in lacking:
            sys.stderr.write(f"{language}: {text!r} has no translation\n")
        with file.open("wb") as opened:
            write_po(opened, catalog, width=110, sort_output=True, omit_header=False, no_location=True)
        with (folder / "page.mo").open("wb") as opened:
            write_mo(opened, catalog)
    return 1 if missing else 0


def _whole(string: object) -> bool:
    return all(cast("tuple[str, ...]", string)) if isinstance(string, tuple) else bool(string)


if __name__ == "__main__":
    sys.exit(main())
