"""SKILL.md of an agent skill (agentskills.io/specification): YAML front matter, then Markdown.

    ---
    name: api-client
    description: Lessons from earlier work about errors, paging. Read them before such a task.
    ---
    ## errors
    - [err-00001] Read the status before the body

What others may see of a playbook is written; see `ace_graph.memory.sharing`. Votes are not.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ace_graph.base.errors import FormatError
from ace_graph.base.text import clean_line, shorten
from ace_graph.memory.formats.lines import active_by_section, written_by_section
from ace_graph.memory.formats.markdown import (
    has_front_matter,
    plain_item,
    public_lessons,
    read_front_matter,
    read_items,
    written_front_matter,
)
from ace_graph.memory.formats.reading import Document, Reading
from ace_graph.memory.playbook import Playbook

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
            f"{shown!r} is not a skill name: use lowercase letters a to z, digits and single hyphens, "
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


# A skill on disk: a folder with a SKILL.md, and what other files may lie beside it.
#
# Only SKILL.md is ever opened. A folder with links, scripts or what is no file is refused: it may be made
# to have something else read or run. Whoever trusts it names the SKILL.md itself.


SKILL_FILE = "SKILL.md"
MAX_ENTRIES = 1_000
_MAX_DEPTH = 10
_SCRIPTS = frozenset(
    {
        *(".bash", ".bat", ".cmd", ".com", ".dll", ".exe", ".jar", ".php", ".pl", ".ps1", ".py", ".rb"),
        *(".cjs", ".js", ".lua", ".mjs", ".sh", ".so", ".ts", ".vbs", ".zsh"),
    }
)


class SkillFolder(NamedTuple):
    """The file with the skill, and the names of the others, which are not read."""

    file: Path
    others: tuple[str, ...]


def checked_skill_folder(folder: Path) -> SkillFolder:
    """Return what is in the folder of a skill. Raises FormatError where it is none or not safe, OSError."""
    others = list[str]()
    found = False
    for count, entry in enumerate(_entries(folder, 0), start=1):
        if count > MAX_ENTRIES:
            raise FormatError(f"it holds more than {MAX_ENTRIES} files: {_instead(folder)}")
        name = Path(entry.path).relative_to(folder).as_posix()
        _check(entry, name, folder)
        if name == SKILL_FILE:
            found = not entry.is_dir(follow_symlinks=False)
        elif not entry.is_dir(follow_symlinks=False):
            others.append(name)
    if not found:
        raise FormatError(f"it is a folder without a {SKILL_FILE}: name a file, or the folder of a skill")
    return SkillFolder(folder / SKILL_FILE, tuple(sorted(others)))


def _entries(folder: Path | str, depth: int) -> Iterator[os.DirEntry[str]]:
    if depth > _MAX_DEPTH:
        raise FormatError(f"its folders are nested deeper than {_MAX_DEPTH}")
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(entry.path, depth + 1)


def _check(entry: os.DirEntry[str], name: str, folder: Path) -> None:
    mode = entry.stat(follow_symlinks=False).st_mode
    shown = ascii(name[:60])
    if stat.S_ISLNK(mode):
        raise FormatError(f"it holds a link, {shown}: {_instead(folder)}")
    if stat.S_ISDIR(mode):
        return
    if not stat.S_ISREG(mode):
        raise FormatError(f"it contains something that is not a file, {shown}: {_instead(folder)}")
    if name != SKILL_FILE and (mode & 0o111 or Path(name).suffix.lower() in _SCRIPTS):
        raise FormatError(
            f"it holds a script, {shown}, and no playbook holds scripts: look at it, then {_instead(folder)}"
        )


def _instead(folder: Path) -> str:
    return f"import {SKILL_FILE} itself if you trust it ({folder.name}/{SKILL_FILE})"
