"""Text: `## section` lines and one line per bullet, `- [fil-00042] content (helpful=5, harmful=0)`.

What is written is `Playbook.as_prompt()`. When reading, the id and the counters may be missing and `*` may
stand for `-`, so a list written by hand can be imported.

Does not: carry types, topics, tags or pins; they are inferred anew where that is possible.
"""

from __future__ import annotations

import re

from ace_graph.memory.bullet import MAX_CONTENT_CHARS, clean_line
from ace_graph.memory.delta import Add
from ace_graph.memory.formats.base import Reading, Refusal
from ace_graph.memory.playbook import Playbook

__all__ = ["TextFormat"]

_SECTION = re.compile(r"#{1,6}\s+(?P<name>\S.*)")
_BULLET = re.compile(r"[-*]\s+(?:\[(?P<id>[^\s\[\]]{1,100}-\d{1,9})\]\s*)?(?P<rest>\S.*)")
_COUNTERS = re.compile(r"(?P<content>.*?)\s*\(helpful=(?P<helpful>\d{1,9}), harmful=(?P<harmful>\d{1,9})\)")
_NAME_CHARS = 60


class TextFormat:
    """Active bullets, readable by people."""

    name = "text"

    def recognises(self, text: str) -> bool:
        """Whether a line of the text is a bullet."""
        return any(_BULLET.fullmatch(line.strip()) for line in text.splitlines())

    def read(self, text: str) -> Reading:
        """Return the bullets; lines that are neither a bullet nor a section are left out."""
        section, found, refused = "general", list[Add](), list[Refusal]()
        for line in text.lstrip("\ufeff").splitlines():
            heading = _SECTION.fullmatch(line.strip())
            if heading:
                section = clean_line(heading["name"])
            read = _bullet(line.strip(), section)
            if isinstance(read, Add):
                found.append(read)
            elif read is not None:
                refused.append(read)
        return Reading(tuple(found), tuple(refused))

    def write(self, playbook: Playbook) -> str:
        """Return the markdown; an empty playbook gives an empty text."""
        text = playbook.as_prompt()
        return f"{text}\n" if text else ""


def _bullet(line: str, section: str) -> Add | Refusal | None:
    match = _BULLET.fullmatch(line)
    if match is None:
        return None
    counted = _COUNTERS.fullmatch(match["rest"])
    content = clean_line(counted["content"] if counted else match["rest"])
    name = match["id"] or content[:_NAME_CHARS]
    if not content:
        return Refusal(name or line[:_NAME_CHARS], "empty text")
    if len(content) > MAX_CONTENT_CHARS:
        return Refusal(name, f"longer than {MAX_CONTENT_CHARS} characters")
    return Add(
        content=content,
        section=section,
        id=match["id"],
        helpful=int(counted["helpful"]) if counted else 0,
        harmful=int(counted["harmful"]) if counted else 0,
    )
