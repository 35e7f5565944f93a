"""The playbook text of ace-agent/ace: `[calc-00001] helpful=5 harmful=0 :: content` under `## SECTION`.

`ace-plain` is the same without counters, `[calc-00001] content`, as in its AppWorld playbooks. Each name
reads both. Types, topics, tags and pins are not written; anti-patterns have the prefix of prompts.
"""

from __future__ import annotations

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.formats.base import Document, Reading
from ace_graph.memory.formats.lines import (
    fit_for_brackets,
    is_ace_line,
    is_counted_line,
    lines_of,
    numbered,
    read_lines,
    written_by_section,
)
from ace_graph.memory.playbook import Playbook

__all__ = ["AceFormat"]


class AceFormat:
    """Active bullets, for ace-agent."""

    def __init__(self, *, counters: bool = True) -> None:
        self.name = "ace" if counters else "ace-plain"
        self.summary = "for ace-agent" if counters else "for ace-agent, without counters"
        self._line = _counted if counters else _plain

    def recognises(self, document: Document) -> bool:
        """Whether a line begins with an id in brackets."""
        return any(map(is_ace_line, lines_of(document.text)))

    def read(self, document: Document) -> Reading:
        """Return the bullets; lines that are neither a bullet nor a section are left out."""
        return read_lines(document.text)

    def write(self, playbook: Playbook) -> str:
        """Return the text; an empty playbook gives an empty text."""
        return written_by_section(playbook, self._line)


def _counted(bullet: Bullet) -> str:
    votes = f"helpful={bullet.helpful} harmful={bullet.harmful}"
    return f"[{fit_for_brackets(bullet.id)}] {votes} :: {bullet.advice}"


def _plain(bullet: Bullet) -> str:
    line = f"[{numbered(bullet.id)}] {bullet.advice}"
    return _counted(bullet) if is_counted_line(line) else line
