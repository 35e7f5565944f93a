"""Writes dev/constraints.txt, the versions that `make setup` installs, for every Python and platform.

    python dev/constraints.py               take the newest that pyproject.toml allows (make constraints)
    python dev/constraints.py --outdated    only say what is newer, and what pyproject.toml holds back and why

It needs uv (pip install uv). With --outdated it exits with 1 where something is newer.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "dev" / "constraints.txt"
_HELD = re.compile(r'^\s*"([^"]*(?:<|==)\d[^"]*)",?\s*(?:# (.*))?$', re.MULTILINE)


def newest() -> str:
    """Return a line `name==version` for each package, some with the platform they are for."""
    uv = shutil.which("uv")
    if uv is None:
        raise SystemExit("uv is missing: pip install uv")
    asked = ["--all-extras", "--group", "dev", "--universal", "--python-version", "3.11"]
    plain = ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", "--quiet"]
    command = [uv, "pip", "compile", "pyproject.toml", *asked, *plain]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def outdated(kept: str, found: str) -> list[str]:
    """Return a line for each package of which another version would be taken now."""
    before, now = _versions(kept), _versions(found)
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    return [f"{name} {before.get(name, 'none')} -> {now.get(name, 'none')}" for name in names]


def held_back(pyproject: str) -> Iterator[tuple[str, str]]:
    """Yield each requirement with a version that it stays below, and the comment beside it that says why."""
    for found in _HELD.finditer(pyproject):
        yield found[1], found[2] or ""


def _versions(constraints: str) -> dict[str, str]:
    versions = dict[str, list[str]]()
    for line in constraints.splitlines():
        name, _, version = line.partition(" ;")[0].partition("==")
        versions.setdefault(name, []).append(version)
    return {name: ", ".join(sorted(each)) for name, each in versions.items()}


def main() -> int:
    found = newest()
    if "--outdated" not in sys.argv[1:]:
        CONSTRAINTS.write_text(found, encoding="utf-8")
        return 0
    newer = outdated(CONSTRAINTS.read_text(encoding="utf-8"), found)
    print("Newer than dev/constraints.txt:", *(newer or ["nothing"]), sep="\n  ")
    held = held_back((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    print("Held back by pyproject.toml:", *(f"{asked}: {why}" for asked, why in held), sep="\n  ")
    return 1 if newer else 0


if __name__ == "__main__":
    raise SystemExit(main())
