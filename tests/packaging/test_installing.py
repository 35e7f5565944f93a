"""How extras are installed: no index has this project, so no text may name it as if one had."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from ace_graph.base import how_to_install
from tests.packaging.repository import ROOT

FOLDERS = ("ace_graph", "memory", "nodes", "docs", "examples", "notebooks")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
_BY_NAME = re.compile(r"""pip install [\\'"]*ace[-_]graph(?![-_.\w]*\.whl)""")
_NAMED = re.compile(r"how_to_install\(['\"](\w+)['\"]\)")


def _texts() -> list[Path]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in _KINDS]
    return [ROOT / "README.md", *found]


_KINDS = frozenset({".py", ".md", ".ipynb"})


def test_nothing_is_installed_by_a_name_that_no_index_has() -> None:
    wrong = [path.relative_to(ROOT) for path in _texts() if _BY_NAME.search(path.read_text("utf-8"))]
    assert wrong == []


def test_every_extra_that_is_named_exists() -> None:
    named = {name for path in _texts() for name in _NAMED.findall(path.read_text("utf-8"))}
    assert len(named) > 5
    assert named <= set(EXTRAS)
    assert how_to_install("mcp").startswith("pip install '.[mcp]' in the folder of the repository")
