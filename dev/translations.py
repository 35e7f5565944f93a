"""The texts of the page: `python dev/translations.py` reads them from the templates, compiles the catalogues.

What the program says and the page tells in its own words (told.toml) is read from the code. A text that lacks
a translation is listed, and the exit code is 1.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

PACKAGE = Path(__file__).resolve().parents[1] / "ace_graph"
PAGE = PACKAGE / "server" / "page"
LANGUAGES = ("de",)
SPEAKING = (
    *("agent/evidence.py", "learning/batch_reflection.py", "learning/curator.py"),
    *("learning/curate_reflections.py", "learning/dreaming.py"),
    *("learning/trajectory_feedback.py", "learning/turn_record.py", "memory/audit.py", "memory/delta"),
    *("memory/dream.py", "memory/sharing.py", "playbooks/consolidation.py", "playbooks/content.py"),
    *("playbooks/handle.py", "playbooks/proposing.py", "playbooks/sharing.py", "server/auth.py"),
    *(
        "server/conversations",
        "server/errors.py",
        "server/middleware.py",
        "server/page",
        "server/rate_limit.py",
    ),
    *("server/routes/conversations.py", "server/routes/edit.py", "server/routes/learner.py"),
    *("server/routes/playbook.py", "server/routes/sharing.py", "server/turns.py"),
)
"""The files and folders whose reasons and refusals reach the page."""
PLACES_OF_SENTENCES = {
    "RequestRefused": 2,
    "_unauthorized": 1,
    **dict.fromkeys(("ChangeRefused", "InvalidGrant", "PlaybookChanged", "Refused"), 0),
    **dict.fromkeys(("OutdatedBullet", "_kept_back", "_removed", "_replaced"), -1),
}
"""By the name of what is called: which of its arguments is a sentence."""
NAMED_SENTENCES = frozenset({"quarantine_reason", "task", "why"})
SCREENS = ("memory/screening/data/secrets.toml", "memory/languages/data/by_language/*/agent_orders.toml")
NO_SENTENCE = frozenset(
    {"harmful", "consolidated", "pruned", "removed", "reset", "", "+{}/-{}", "{}", "{}: {}", "{} of {}"}
)
"""Words for programs under these names, and what says nothing by itself."""


Rules = list[Mapping[str, str]]


def found_texts() -> Catalog:
    """Return every text of the templates."""
    catalog = Catalog(project="ace-graph", charset="utf-8")
    options = {"**.html": {"trimmed": "true", "newstyle_gettext": "true"}}
    method = [("**.html", "jinja2.ext:babel_extract")]
    for path, _, message, _, _ in extract_from_dir(PAGE / "templates", method, options):
        catalog.add(message, locations=[(path, 1)])
    return catalog


def found_sentences() -> set[str]:
    """Return what the program says to people, with {} for each part that varies."""
    found = set[str]()
    for place in SPEAKING:
        root = PACKAGE / place
        for file in [root] if root.is_file() else root.rglob("*.py"):
            found.update(_sentences(ast.parse(file.read_text("utf-8"))))
    for pattern in SCREENS:
        for file in PACKAGE.glob(pattern):
            tables = cast("Mapping[str, object]", tomllib.loads(file.read_text("utf-8")))
            rules = [
                rule for table in tables.values() if isinstance(table, list) for rule in cast("Rules", table)
            ]
            found.update(rule["kind"] for rule in rules)
    replies = tomllib.loads((PACKAGE / "server" / "data" / "errors.toml").read_text("utf-8"))
    found.update(sentence for status, _, sentence in replies["errors"].values() if status != 404)
    return found - NO_SENTENCE


def lacking_sentences(language: str) -> set[str]:
    """Return what the program says and told.toml does not tell in this language."""
    told = tomllib.loads((PACKAGE / "server" / "data" / "told.toml").read_text("utf-8"))[language]
    known = {*told["reason"], *told["refusal"]}
    return {text for text in found_sentences() - known if not text.startswith("in another language, ")}


def _sentences(module: ast.Module) -> Iterator[str]:
    """Yield the sentences of a module: arguments of calls, and the values of names among these."""
    values = dict[str, list[ast.expr]]()
    for node in ast.walk(module):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, []).append(node.value)
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            place = PLACES_OF_SENTENCES.get(name)
            given = [word.value for word in node.keywords if word.arg in NAMED_SENTENCES]
            not_there = (
                bool(node.args) and getattr(node.args[0], "value", None) == 404
            )  # the page has its own words
            if place is not None and len(node.args) > max(place, 0) and not not_there:
                given.append(node.args[place])
            for each in given:
                yield from _texts(each, values)


def _texts(node: ast.expr, values: Mapping[str, Sequence[ast.expr]]) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
        case ast.IfExp(body=first, orelse=second):
            yield from (*_texts(first, values), *_texts(second, values))
        case ast.Subscript(value=inner):
            yield from _texts(inner, values)
        case ast.Name(id=name):
            for value in values.get(name, ()):
                yield from _texts(value, {})
        case _:
            pass


def main() -> int:
    """Update and compile every catalogue."""
    texts, missing = found_texts(), 0
    for language in LANGUAGES:
        for sentence in sorted(lacking_sentences(language)):
            missing += 1
            sys.stderr.write(f"{language}: {sentence!r} is not in told.toml\n")
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
