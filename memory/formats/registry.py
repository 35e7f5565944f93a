"""All formats by name, and the detection of a text's format."""

from __future__ import annotations

from typing import Literal

from ace_graph.errors import FormatError
from ace_graph.memory.formats.ace_agent import AceFormat
from ace_graph.memory.formats.agents import AgentsFormat
from ace_graph.memory.formats.base import Document, Format, Reading
from ace_graph.memory.formats.json import JsonFormat
from ace_graph.memory.formats.kayba import KaybaFormat, KaybaV1Format
from ace_graph.memory.formats.lmb import LmbFormat
from ace_graph.memory.formats.skill import SkillFormat
from ace_graph.memory.formats.text import TextFormat

__all__ = ["FORMATS", "FormatName", "detected", "format_named", "read_bullets", "read_playbook"]

_KAYBA, _KAYBA_V1, _LMB, _JSON = KaybaFormat(), KaybaV1Format(), LmbFormat(), JsonFormat()
_SKILL, _AGENTS = SkillFormat(), AgentsFormat()
_ACE, _ACE_PLAIN, _TEXT = AceFormat(), AceFormat(counters=False), TextFormat()

FormatName = Literal["json", "text", "ace", "ace-plain", "kayba", "kayba-v1", "lmb", "skill", "agents"]
"""The names of FORMATS, as a type for the schema of the HTTP routes."""

FORMATS: tuple[Format, ...] = (_JSON, _TEXT, _ACE, _ACE_PLAIN, _KAYBA, _KAYBA_V1, _LMB, _SKILL, _AGENTS)
_STRICTEST_FIRST: tuple[Format, ...] = (_KAYBA, _KAYBA_V1, _LMB, _JSON, _SKILL, _AGENTS, _ACE, _TEXT)


def format_named(name: str) -> Format:
    """Return the format. Raises FormatError naming those there are."""
    for each in FORMATS:
        if each.name == name:
            return each
    raise FormatError(f"{name!r} is no format: use one of {_names()}")


def detected(document: Document) -> Format:
    """Return the format of a file, by its content. Raises FormatError where it is in none."""
    found = next((each for each in _STRICTEST_FIRST if each.recognises(document)), None)
    if found is None:
        raise FormatError(f"no bullet was found: the file is in none of the formats {_names()}")
    return found


def read_playbook(text: str, name: str = "auto") -> Reading:
    """Return the bullets in `text`, read in the format named or, with `auto`, the one detected.

    An empty playbook is one too. Raises FormatError, NewerFormat.
    """
    document = Document(text.removeprefix("\ufeff"))
    return (detected(document) if name == "auto" else format_named(name)).read(document)


def read_bullets(text: str, name: str = "auto") -> Reading:
    """Return the same as `read_playbook`. Raises FormatError also when there is no bullet in it."""
    reading = read_playbook(text, name)
    if not len(reading):
        raise FormatError("no bullet was found in it: check the file or its --format")
    return reading


def _names() -> str:
    return ", ".join(each.name for each in FORMATS)
