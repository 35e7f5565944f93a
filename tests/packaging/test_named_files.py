"""A docstring or a comment that sends its reader to a file names one that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"(?<![\w./-])((?:[\w-]+/)*[a-z_]+\.(?:py|toml|sql))\b(?!\()")
SOURCES = sorted(
    path for folder in ("ace_graph", "memory", "nodes") for path in (ROOT / folder).rglob("*.py")
)
FOLDERS = ("ace_graph", "memory", "nodes", "tests", "benchmarks", "dev")
FILES = {
    path.relative_to(ROOT).as_posix()
    for folder in FOLDERS
    for pattern in ("*.py", "*.toml", "*.sql")
    for path in (ROOT / folder).rglob(pattern)
}
OF_OTHERS = {"my_backend.py", "pyproject.toml"}
"""What an example calls a file of its reader's."""


def _is_there(name: str) -> bool:
    return name in OF_OTHERS or any(path == name or path.endswith(f"/{name}") for path in FILES)


@pytest.mark.parametrize("folder", ["ace_graph", "memory", "nodes"])
def test_what_the_source_names_is_there(folder: str) -> None:
    sources = [path for path in SOURCES if path.is_relative_to(ROOT / folder)]
    assert sources
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources
        for name in NAMED.findall(path.read_text(encoding="utf-8"))
        if not _is_there(name)
    }
    assert missing == set()
