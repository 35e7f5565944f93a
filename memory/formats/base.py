"""The protocol of a file format of playbooks: recognise, read, write.

Reading gives Add operations, which the import commits. A bad bullet is reported with the reason, and the
others are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from ace_graph.memory.delta.operations import Add
from ace_graph.memory.formats.strict_json import parse
from ace_graph.memory.playbook import Playbook

__all__ = ["Document", "Format", "Reading", "Refusal"]

_JSON = re.compile(r"\s*(?:\{|\[\s*(?:[{\[\"\]\d-]|null\b))")
_BULLET_LINE = re.compile(r"\s*\[[\w.-]{1,100}-\d{1,9}\]\s")


@dataclass(frozen=True)
class Refusal:
    """A bullet of a file that was refused: its name or beginning, and the reason."""

    what: str
    why: str


@dataclass(frozen=True)
class Reading:
    """The bullets of a file, in its order: those that can be added, and those that were refused.

    `left_out` maps the name of an unknown field to the number of bullets that had it.
    """

    bullets: tuple[Add, ...] = ()
    refused: tuple[Refusal, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])

    def __len__(self) -> int:
        return len(self.bullets) + len(self.refused)


@dataclass(frozen=True)
class Document:
    """The text of a file; its JSON is parsed once for all formats."""

    text: str

    @property
    def is_json(self) -> bool:
        """Whether the text begins like a JSON object or list, not like a link or an id in brackets."""
        return _JSON.match(self.text) is not None and _BULLET_LINE.match(self.text) is None

    @cached_property
    def value(self) -> object:
        """The JSON value. Raises FormatError where the text is no valid JSON."""
        return parse(self.text)


class Format(Protocol):
    """One way to write a playbook as text."""

    @property
    def name(self) -> str:
        """The name that `--format` takes."""
        ...

    @property
    def summary(self) -> str:
        """What it is for, in a few words; `ace-graph playbook export --help` lists it."""
        ...

    def recognises(self, document: Document) -> bool:
        """Whether the file looks like this format. Raises FormatError for broken JSON."""
        ...

    def read(self, document: Document) -> Reading:
        """Return the bullets in a file. Raises FormatError where it is not this format, NewerFormat."""
        ...

    def write(self, playbook: Playbook) -> str:
        """Return the playbook in this format, ending with a line break unless it is empty."""
        ...
