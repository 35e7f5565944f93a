"""The rooms of the package, the imports between them, and the picture of both in docs/architecture.md.

A room is a folder or a file directly inside `ace_graph`; `memory` and `nodes` count as folders of it. An
arrow is an import from one room into another, but for those under TYPE_CHECKING. `python -m dev.rooms` prints
the picture.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "ace_graph"


@cache
def arrows() -> dict[str, frozenset[str]]:
    """Return for each room the rooms that it imports."""
    found: dict[str, set[str]] = {}
    for folder in (PACKAGE, "memory", "nodes"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if folder == PACKAGE and parts[1] in ("memory", "nodes"):
                continue  # the links to the two folders
            room = parts[1] if folder == PACKAGE else folder
            if room == "__init__":
                continue  # the face of the whole
            imports = found.setdefault(room, set())
            imports |= {name for name in _imported(ast.parse(path.read_text("utf-8"))) if name != room}
    return {room: frozenset(names & found.keys()) for room, names in found.items()}


def floors() -> list[list[str]]:
    """Return the rooms by floor, the ground floor last. Raises ValueError where rooms import in a circle."""
    left: dict[str, frozenset[str]] = dict(arrows())
    done = list[list[str]]()
    while left:
        floor = sorted(room for room, names in left.items() if not names & left.keys())
        if not floor:
            raise ValueError(f"these rooms import each other in a circle: {', '.join(sorted(left))}")
        done.append(floor)
        left = {room: names for room, names in left.items() if room not in floor}
    return done[::-1]


def picture() -> str:
    """Return the house as text: a line for each floor, and what each room of it imports."""
    width = max(map(len, arrows()))
    lines = [
        f"{room:<{width}} -> {' '.join(sorted(arrows()[room])) or '(nothing)'}"
        for floor in floors()
        for room in floor
    ]
    return "\n".join(lines)


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the rooms whose modules are imported, but for type checkers only."""
    typed = {
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in typed:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            parts = (node.module or "").split(".")
            yield from [parts[1]] if len(parts) > 1 else [name.name for name in node.names]
        elif isinstance(node, ast.Import):
            yield from (name.name.split(".")[1] for name in node.names if name.name.startswith(f"{PACKAGE}."))


if __name__ == "__main__":
    sys.stdout.write(f"{picture()}\n")
