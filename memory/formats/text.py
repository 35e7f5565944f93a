"""Markdown: `## section`, and lines such as `- [fil-00042] content (helpful=5, harmful=0)`.

Types, topics, tags and pins are not written, and guessed when the text is read where that is possible.
Anti-patterns have the prefix of prompts.
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
    summary = "markdown, for people"

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
