"""What no tracked file may hold: secrets, machine paths, registry addresses, stubs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.repository import LINKED, ROOT, tracked

# No pattern matches its own text here.
FORBIDDEN = {
    "a registry address": r"https?://[\w.-]*(?:pypi[.]org|pythonhosted[.]org|registry[.]npmjs|maven[.]org|maven2)\b",
    "a path of one machine": r"(?<![\w.])/(?:home|Users|root|work)/(?!\.\.\.)[a-z][\w.-]*/",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE[ ]KEY-----",
    "a Google key": r"AIza[0-9A-Za-z_-]{35}",
    "a secret key": r"\bsk-(?:proj-|ant-)?[A-Za-z0-9_]{24,}\b",
    "a GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{36}\b",
    "a Tavily key": r"\btvly-[A-Za-z0-9]{20,}\b",
    "a cloud key": r"\bAKIA[0-9A-Z]{16}\b",
    "unfinished work": r"\b(?:TO[D]O|FIX[M]E)\b",
}
# Tests that show how a lesson with a secret in it is held back need a secret that is plainly none.
MADE_UP = re.compile(r"EXAMPLE|0123456789|abcdef|xxxx", re.I)
BINARY = frozenset({".mo", ".png", ".jpg", ".gz", ".db", ".zip"})


def _python(*tops: str) -> Iterator[tuple[Path, str]]:
    for path in tracked("*.py"):
        if not tops or path.parts[0] in tops:
            yield path, (ROOT / path).read_text(encoding="utf-8")


def _matches(text: str) -> Iterator[str]:
    for what, pattern in FORBIDDEN.items():
        for match in re.finditer(pattern, text):
            if not MADE_UP.search(match.group()):
                yield f"line {text.count(chr(10), 0, match.start()) + 1}: {what}"


def test_no_file_holds_a_secret_a_local_path_or_a_registry() -> None:
    texts = {path: (ROOT / path).read_text("utf-8") for path in tracked() if path.suffix not in BINARY}
    assert [f"{path} {found}" for path, text in texts.items() for found in _matches(text)] == []


@pytest.mark.parametrize(
    ("what", "sample"),
    [
        ("a registry address", "https://" + "pypi" + ".org/simple"),
        ("a path of one machine", "see /ho" + "me/ann/project/x"),
        ("a Google key", "AI" + "za" + "Sy" + "Q7" * 16 + "k"),
        ("a private key", "-----BEGIN RSA PRIVATE" + " KEY-----"),
        ("unfinished work", "# TO" + "DO later"),
    ],
)
def test_the_scan_finds_what_it_looks_for(what: str, sample: str) -> None:
    assert [found for found in _matches(sample) if what in found]


def test_nothing_that_npm_makes_is_tracked() -> None:
    """A lock file holds a registry's addresses; the client is generated from the server that is run."""
    made = {"node_modules", "package-lock.json", "npm-shrinkwrap.json", "api.ts"}
    assert [str(path) for path in tracked() if not made.isdisjoint(path.parts)] == []


def test_no_part_of_the_package_is_a_stub() -> None:
    modules = _python("ace_graph", *LINKED)
    assert [str(path) for path, text in modules if "raise NotImplementedError" in text] == []


def test_every_module_says_what_it_does() -> None:
    silent = [
        str(path)
        for path, text in _python("ace_graph", *LINKED)
        if path.name != "__init__.py" and not ast.get_docstring(ast.parse(text))
    ]
    assert silent == []
