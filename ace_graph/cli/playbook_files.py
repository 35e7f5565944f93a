"""A playbook as a file: what `playbook import` reads, and the text, skill or section that `export` writes."""

from __future__ import annotations

import codecs
import os
import sys
from pathlib import Path

from ace_graph.base.errors import FormatError
from ace_graph.cli.command import DEFAULT_NAME
from ace_graph.cli.terminal import counted, print_notice
from ace_graph.memory.formats.markdown import AgentsFormat, with_section
from ace_graph.memory.formats.reading import Reading
from ace_graph.memory.formats.registry import read_bullets, read_stream, read_text
from ace_graph.memory.formats.skill import SKILL_FILE, SkillFormat, as_skill_name, checked_skill_folder
from ace_graph.memory.playbook import Playbook

_NOTHING = "it holds no lesson that others may see: nothing was written (playbook show lists the bullets)"


def read_file(file: Path, name: str = "auto") -> Reading:
    """Return the bullets in a file of the format `name`, or on stdin for -. Raises FormatError, OSError."""
    try:
        text = read_stream(sys.stdin.buffer) if str(file) == "-" else read_text(file)
        reading = read_bullets(text, name)
    except FormatError as error:
        raise FormatError(f"{file}: {error}") from error
    if file.is_dir() and (unread := checked_skill_folder(file).others):
        print_notice(f"{counted(len(unread), 'other file')} of {file} not read, such as {unread[0]!a}")
    return reading


def read_usable_file(file: Path, name: str = "auto") -> Reading:
    """Do what `read_file` does; a file of which every bullet is refused is an error, too."""
    reading = read_file(file, name)
    if reading.refused and not reading.bullets:
        raise FormatError(f"{file}: every bullet was refused ({reading.refused[0].why}): correct the file")
    return reading


def write_text(text: str, file: Path | None) -> None:
    """Write `text` to `file`, or to stdout."""
    if file is None:
        sys.stdout.write(text)
    else:
        file.write_text(text, encoding="utf-8")


def write_skill(playbook: Playbook, name: str, description: str, path: Path | None) -> Path | None:
    """Write a playbook as a skill, and return the file: `path` where it ends in `.md`, else in that folder.

    A skill is named as its folder, elsewhere as the playbook. Raises FormatError where there is no lesson.
    """
    is_folder = path is not None and path.suffix != ".md"
    skill = SkillFormat(path.resolve().name if path and is_folder else _section(name), description)
    text = skill.write(playbook)
    if path is None:
        write_text(text, None)
        return None
    if not text:
        raise FormatError(_NOTHING)
    if is_folder:
        path.mkdir(parents=True, exist_ok=True)
        path /= SKILL_FILE
    _replace(path, text.encode())
    return path


def write_agents_section(playbook: Playbook, name: str, path: Path | None) -> None:
    """Write a playbook as a section of a file, in its place or at the end; without lessons it is removed."""
    block = AgentsFormat(_section(name)).write(playbook)
    if path is None:
        write_text(block, None)
        return
    if not path.exists():
        if not block:
            raise FormatError(_NOTHING)
        _replace(path, block.encode())
        return
    try:
        document = with_section(read_text(path), _section(name), block)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error
    with path.open("rb") as file:
        mark = codecs.BOM_UTF8 if file.read(3) == codecs.BOM_UTF8 else b""
    _replace(path, mark + document.encode())


def _section(name: str) -> str:
    return "playbook" if name == DEFAULT_NAME else as_skill_name(name)


def _replace(path: Path, content: bytes) -> None:
    """Write a file as a whole or not at all. A link stays one, and the file that it names is replaced."""
    target = path.resolve()
    new = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        new.write_bytes(content)
        if target.exists():
            new.chmod(target.stat().st_mode & 0o777)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)
