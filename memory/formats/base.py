"""What a file format of playbooks has to offer: recognise, read, write.

A reader never fails for one bad bullet: it keeps the good ones and says which it refused and why.

Does not: open files, or change a memory. Reading gives Add operations; whoever imports commits them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ace_graph.memory.delta import Add
from ace_graph.memory.playbook import Playbook

__all__ = ["Format", "Reading", "Refusal"]


@dataclass(frozen=True)
class Refusal:
    """One bullet of a file that was not taken: how it begins or what names it, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Reading:
    """The bullets found in a file, in its order: those that can be added, and those that can't."""

    bullets: tuple[Add, ...] = ()
    refused: tuple[Refusal, ...] = ()

    def __len__(self) -> int:
        return len(self.bullets) + len(self.refused)


class Format(Protocol):
    """One way to write a playbook as text."""

    @property
    def name(self) -> str:
        """The name that `--format` takes."""
        ...

    def recognises(self, text: str) -> bool:
        """Whether `text` looks like this format."""
        ...

    def read(self, text: str) -> Reading:
        """Return the bullets in `text`. Raises FormatError where it is not this format, NewerFormat."""
        ...

    def write(self, playbook: Playbook) -> str:
        """Return the playbook in this format, ending with a line break unless it is empty."""
        ...
