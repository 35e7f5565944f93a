"""A skill on disk: a folder with a SKILL.md, and what other files may lie beside it.

Only SKILL.md is ever opened. A folder with links, scripts or what is no file is refused: it may be made to
have something else read or run. Whoever trusts it names the SKILL.md itself.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ace_graph.errors import FormatError

__all__ = ["SKILL_FILE", "SkillFolder", "checked_skill_folder"]

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
        raise FormatError(f"it holds something that is no file, {shown}: {_instead(folder)}")
    if name != SKILL_FILE and (mode & 0o111 or Path(name).suffix.lower() in _SCRIPTS):
        raise FormatError(
            f"it holds a script, {shown}, and no playbook holds scripts: look at it, then {_instead(folder)}"
        )


def _instead(folder: Path) -> str:
    return f"import {SKILL_FILE} itself if you trust it ({folder.name}/{SKILL_FILE})"
