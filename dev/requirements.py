"""Prints requirements that pyproject.toml names, one on a line, for any installer.

Groups are read here, not by the installer, because pip learned `--group` only in 25.1 and a fresh venv often
holds an older one.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def group_requirements(name: str, pyproject: Path = PYPROJECT) -> list[str]:
    """The requirements of the dependency group `name`; raises KeyError when there is none."""
    groups: dict[str, list[str]] = tomllib.loads(pyproject.read_text(encoding="utf-8"))["dependency-groups"]
    return groups[name]


if __name__ == "__main__":
    for group in sys.argv[1:]:
        sys.stdout.write("\n".join(group_requirements(group)) + "\n")
