"""A table, for people on a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table as RichTable

__all__ = ["Table"]


@dataclass(frozen=True)
class Table:
    """Rows of texts under a title; the first column is a name, the others are right-aligned."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def show(self, console: Console) -> None:
        """Print it."""
        table = RichTable(title=self.title, title_justify="left", caption=self.note, caption_justify="left")
        for n, column in enumerate(self.columns):
            table.add_column(column, justify="right" if n else "left", no_wrap=bool(n))
        for row in self.rows:
            table.add_row(*row)
        console.print(table)

    def markdown(self) -> str:
        """Return it as Markdown, with its title as a heading."""
        lines = [
            f"### {self.title}",
            "",
            _line(self.columns),
            _line([":--", *("--:" for _ in self.columns[1:])]),
            *map(_line, self.rows),
        ]
        return "\n".join([*lines, "", self.note] if self.note else lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
