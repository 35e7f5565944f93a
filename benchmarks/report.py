"""RESULTS.md: what a run measured, written by the run; what a person wrote below the mark stays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import Table

__all__ = ["write_report"]

MARK = "<!-- Below this line nothing is generated. -->"


def write_report(
    path: Path, title: str, command: str, machine: Sequence[str], tables: Sequence[Table]
) -> None:
    """Write the tables under the lines about the machine, and keep what stands below the mark."""
    old = path.read_text("utf-8") if path.exists() else ""
    notes = old.partition(MARK)[2].strip()
    head = f"# {title}\n\n`{command}` writes this file.\n\n" + "".join(f"- {line}\n" for line in machine)
    told = "\n".join(table.markdown() for table in tables)
    path.write_text(f"{head}\n{told}\n{MARK}\n\n{notes}\n", "utf-8")
