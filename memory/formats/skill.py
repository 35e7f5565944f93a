"""SKILL.md of an agent skill (agentskills.io/specification): YAML front matter, then Markdown.

    ---
    name: api-client
    description: Lessons from earlier work about errors, paging. Read them before such a task.
    ---
    ## errors
    - [err-00001] Read the status before the body

What others may see of a playbook is written; see `ace_graph.memory.sharing.outgoing`. Votes are not.
"""

from __future__ import annotations

import re
import unicodedata

from ace_graph.errors import FormatError
from ace_graph.memory.formats.base import Document, Reading
from ace_graph.memory.formats.front_matter import has_front_matter, read_front_matter, written_front_matter
from ace_graph.memory.formats.lines import active_by_section, written_by_section
from ace_graph.memory.formats.markdown import plain_item, public_lessons, read_items
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.text import clean_line, shorten

__all__ = ["SkillFormat", "as_skill_name", "check_skill_name"]

MAX_NAME_CHARS = 64
MAX_DESCRIPTION_CHARS = 1_024

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_INTRO = "Lessons from earlier work, one a line. Follow those that fit the task."
_KNOWN = frozenset({"name", "description", "metadata"})


class SkillFormat:
    """The lessons of a playbook as an agent skill."""

    name = "skill"
    summary = "SKILL.md, for agents that read skills: lessons only"

    def __init__(self, skill_name: str = "playbook", description: str = "") -> None:
        check_skill_name(skill_name)
        self._skill_name = skill_name
        self._description = shorten(clean_line(description), MAX_DESCRIPTION_CHARS)

    def recognises(self, document: Document) -> bool:
        """Whether the text begins with front matter that has a name and a description."""
        return has_front_matter(document.text, "name", "description")

    def read(self, document: Document) -> Reading:
        """Return the list items below the front matter. Raises FormatError."""
        fields, body = read_front_matter(document.text)
        check_skill_name(fields.get("name", ""))
        if not fields.get("description", "").strip():
            raise FormatError("a skill has a description in its front matter: this one has none")
        reading = read_items(body, lambda line: line == _INTRO)
        known = _KNOWN if _INTRO in body else _KNOWN - {"description"}
        unread = {clean_line(each)[:60]: 1 for each in fields if each not in known}
        return Reading(reading.bullets, reading.refused, {**reading.left_out, **unread})

    def write(self, playbook: Playbook) -> str:
        """Return the text; a playbook without lessons for others gives an empty text."""
        lessons = public_lessons(playbook)
        if not len(lessons):
            return ""
        head = written_front_matter(
            {
                "name": self._skill_name,
                "description": self._description or _about(lessons),
                "metadata": {"generator": "ace-graph"},
            }
        )
        return f"{head}\n{_INTRO}\n\n{written_by_section(lessons, plain_item)}"


def check_skill_name(name: str) -> None:
    """Raise FormatError for a name that the specification does not allow."""
    if len(name) > MAX_NAME_CHARS or not _NAME.fullmatch(name):
        shown = shorten(clean_line(name[:200]), 40)
        raise FormatError(
            f"{shown!r} is no name of a skill: use lowercase letters a to z, digits and single hyphens, "
            f"at most {MAX_NAME_CHARS}"
        )


def as_skill_name(name: str) -> str:
    """Return the name of a playbook as a skill may be named."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain))[:MAX_NAME_CHARS].strip("-") or "playbook"


def _about(lessons: Playbook) -> str:
    sections = ", ".join(active_by_section(lessons))
    known = shorten(clean_line(sections), MAX_DESCRIPTION_CHARS - 100)
    return f"Lessons from earlier work about {known}. Read them before such a task."
