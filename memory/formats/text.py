"""Text: `## section` lines and one markdown line per bullet, `- [fil-00042] content (helpful=5, harmful=0)`.

Does not: carry types, topics, tags or pins; they are inferred anew where that is possible. What is to be
avoided says so.
"""

from __future__ import annotations

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.formats.base import Document, Reading
from ace_graph.memory.formats.lines import (
    fit_for_brackets,
    is_markdown_line,
    lines_of,
    read_lines,
    written_by_section,
)
from ace_graph.memory.playbook import Playbook

__all__ = ["TextFormat"]


class TextFormat:
    """Active bullets, readable by people."""

    name = "text"

    def recognises(self, document: Document) -> bool:
        """Whether a line is a list item."""
        return any(map(is_markdown_line, lines_of(document.text)))

    def read(self, document: Document) -> Reading:
        """Return the bullets; lines that are neither a bullet nor a section are left out."""
        return read_lines(document.text)

    def write(self, playbook: Playbook) -> str:
        """Return the markdown; an empty playbook gives an empty text."""
        return written_by_section(playbook, _line)


def _line(bullet: Bullet) -> str:
    votes = f"(helpful={bullet.helpful}, harmful={bullet.harmful})"
    return f"- [{fit_for_brackets(bullet.id)}] {bullet.advice} {votes}"
