"""The checkout as the guards see it: its root, its tracked files, its settings."""

from __future__ import annotations

import os
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILT = frozenset({"__pycache__", "ace_graph.egg-info", "build", "dist", "htmlcov", "test-results"})
LINKED = ("memory", "nodes")


def tracked(*patterns: str) -> list[Path]:
    """Every file that git tracks or would track and that matches, relative to the root; links left out.

    In a copy without a repository, every file outside hidden and built folders.
    """
    if not (ROOT / ".git").exists():
        return sorted(path for path in _walk() if not patterns or any(map(path.match, patterns)))
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (Path(name) for name in listed.split("\0") if name)
    return sorted(path for path in paths if (ROOT / path).is_file())


def _walk() -> Iterator[Path]:
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [name for name in inner if name not in BUILT and not name.startswith(".")]
        yield from (Path(folder, name).relative_to(ROOT) for name in names if name != ".coverage")


def pyproject() -> dict[str, Any]:  # Any: TOML, whose shape the tests themselves check
    """The settings of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def package_folders() -> dict[str, Path]:
    """Each package that the folders hold, by its dotted name, with its folder relative to the root."""
    found: dict[str, Path] = {}
    for top, base in (("ace_graph", "ace_graph"), *((f"ace_graph.{name}", name) for name in LINKED)):
        for marker in (ROOT / base).rglob("__init__.py"):
            folder = marker.parent.relative_to(ROOT)
            if base == "ace_graph" and folder.parts[1:2] and folder.parts[1] in LINKED:
                continue
            found[".".join([top, *folder.parts[1:]])] = folder
    return found
