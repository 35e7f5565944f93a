"""A section of an AGENTS.md, the file with instructions for coding agents (agents.md).

    <!-- ace-graph:begin api-client -->
    ## Lessons from earlier work
    ### errors
    - [err-00001] Read the status before the body
    <!-- ace-graph:end api-client -->

The two comments are lines of their own. Only what is between them is read and replaced; the rest of the
file belongs to its owner and stays as it is, byte for byte. Several playbooks have sections of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ace_graph.errors import FormatError
from ace_graph.memory.formats.base import Document, Reading
from ace_graph.memory.formats.lines import written_by_section
from ace_graph.memory.formats.markdown import plain_item, public_lessons, read_items
from ace_graph.memory.playbook import Playbook

__all__ = ["AgentsFormat", "with_section"]

_MARK = re.compile(r"<!-- ace-graph:(?P<edge>begin|end)(?: (?P<name>[a-z0-9-]{1,64}))? -->")
_TITLE = "## Lessons from earlier work"
_HINT = "<!-- The next export replaces this section. Import it first to keep what you change. -->"


class AgentsFormat:
    """The lessons of a playbook as a section of an AGENTS.md."""

    name = "agents"
    summary = "a section of AGENTS.md, replaced in place with -o: lessons only"

    def __init__(self, section: str = "playbook") -> None:
        self._section = section

    def recognises(self, document: Document) -> bool:
        """Whether a line begins a section. Raises FormatError for a section without an end."""
        return "<!-- ace-graph:begin" in document.text and any(True for _ in _sections(document.text))

    def read(self, document: Document) -> Reading:
        """Return the list items between the comments, of all sections. Raises FormatError."""
        found = list(_sections(document.text))
        if not found:
            raise FormatError("it has no section of ours: the line <!-- ace-graph:begin NAME --> is missing")
        inside = "\n".join(document.text[each.inside : each.last] for each in found)
        return read_items(inside, lambda line: line == _HINT)

    def write(self, playbook: Playbook) -> str:
        """Return the section with its comments; without lessons for others, an empty text."""
        lessons = public_lessons(playbook)
        if not len(lessons):
            return ""
        body = written_by_section(lessons, plain_item, heading="###")
        return (
            f"<!-- ace-graph:begin {self._section} -->\n{_HINT}\n{_TITLE}\n\n"
            f"{body}<!-- ace-graph:end {self._section} -->\n"
        )


def with_section(document: str, name: str, block: str) -> str:
    """Return a document with `block` as its section of this name: in its place, else at the end.

    An empty `block` removes the section. Raises FormatError where a section has no end.
    """
    if "\r\n" in document:
        block = block.replace("\n", "\r\n")
    for each in _sections(document):
        if each.name == name:
            return document[: each.start] + block + document[each.end :]
    if not block or not document:
        return document + block
    gap = "\r\n" if "\r\n" in document else "\n"
    return document + (gap if document.endswith("\n") else gap * 2) + block


class _Section(NamedTuple):
    """Where a section is: its name, its first character, its content from `inside` to `last`, its end."""

    name: str
    start: int
    inside: int
    last: int
    end: int


def _sections(document: str) -> Iterator[_Section]:
    name, start, inside, at = None, 0, 0, 0
    seen: set[str] = set()
    for line in document.split("\n"):
        found = _MARK.fullmatch(line.strip())
        after = min(at + len(line) + 1, len(document))
        if found and found["edge"] == "begin":
            if name is not None:
                raise FormatError(f"its section {name} has no end: add <!-- ace-graph:end {name} -->")
            name, start, inside = found["name"] or "playbook", at, after
        elif found and name is not None and (found["name"] or "playbook") == name:
            if name in seen:
                raise FormatError(f"it has two sections {name}: remove one")
            seen.add(name)
            yield _Section(name, start, inside, at, after)
            name = None
        elif found:
            raise FormatError("a line <!-- ace-graph:end ... --> ends no section: remove it")
        at = after
    if name is not None:
        raise FormatError(f"its section {name} has no end: add <!-- ace-graph:end {name} -->")
