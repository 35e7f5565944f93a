"""Lists the modules under 40 lines that a single module imports: perhaps they belong into that one.

    python dev/small_modules.py

A hint for a review, never a failure.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import grimp

FEWEST_LINES = 40


def hints(package: str) -> list[str]:
    """Return a line for every small module of `package` with one importer, the shortest first."""
    graph = grimp.build_graph(package)
    found: list[tuple[int, str, str]] = []
    for module in graph.modules:
        importers = graph.find_modules_that_directly_import(module)
        spec = find_spec(module)
        if len(importers) != 1 or graph.find_children(module) or spec is None or spec.origin is None:
            continue
        lines = len(Path(spec.origin).read_text(encoding="utf-8").splitlines())
        if lines < FEWEST_LINES:
            found.append((lines, module, next(iter(importers))))
    return [
        f"{module}: {lines} lines, imported by {importer} only" for lines, module, importer in sorted(found)
    ]


def main() -> None:
    """Print the hints, if there are any."""
    found = hints("ace_graph")
    if found:
        sys.stdout.write("For a review, not an error: small modules with one importer\n")
        sys.stdout.writelines(f"  {line}\n" for line in found)


if __name__ == "__main__":
    main()
