"""Playbooks as lines of text: `## section` headings, and one line per bullet in one of two styles.

    - [fil-00042] Draw it first (helpful=5, harmful=0)        markdown, ours
    [fil-00042] helpful=5 harmful=0 :: Draw it first          ace-agent, with counters
    [fil-00042] Draw it first                                 ace-agent, without

In markdown, id and counters may be missing and `*` may replace `-`, so that handwritten lists can be read.
Both styles are read, whichever of the two formats is named. Only line breaks end a line: a form feed or a
Unicode separator in a bullet can't make two bullets of it, or a heading.

The active bullets by section, which all foreign formats write, are here too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ace_graph.base.text import clean_line
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.formats.reading import NAME_CHARS, Collector, Document, Fields, Reading, split_advice
from ace_graph.memory.playbook import Playbook


def active(playbook: Playbook) -> list[Bullet]:
    """Return the bullets that are not in quarantine, in the order they came."""
    return [bullet for bullet in playbook.bullets() if bullet.status == "active"]


def active_by_section(playbook: Playbook) -> dict[str, list[Bullet]]:
    """Return the active bullets of each section, both in the order they came."""
    found: dict[str, list[Bullet]] = {}
    for bullet in active(playbook):
        found.setdefault(bullet.section, []).append(bullet)
    return found


def written_by_section(playbook: Playbook, line: Callable[[Bullet], str], heading: str = "##") -> str:
    """Return `## section` blocks with one line per bullet; nothing to write gives an empty text."""
    blocks = [
        "\n".join([f"{heading} {section}", *map(line, bullets)])
        for section, bullets in active_by_section(playbook).items()
    ]
    return "\n\n".join(blocks) + "\n" if blocks else ""


_HEADING = re.compile(r"#{1,6}\s+(?P<name>\S.*)|##(?P<close>[^#\s].*)")
_HEADING_CHARS = 1_000
_NUMBERED = r"\[(?P<id>[^\s\[\]]{1,100}-\d{1,9})\]"
_COUNTERS = r"helpful=(?P<helpful>\d{1,9})\s{1,9}harmful=(?P<harmful>\d{1,9})"
_ACE_COUNTED = re.compile(rf"\[(?P<id>[^\[\]]{{1,128}})\]\s{{0,9}}{_COUNTERS}\s{{0,9}}::(?P<content>.*)")
_ACE_PLAIN = re.compile(rf"{_NUMBERED}(?:\s(?P<content>.*))?")
_MARKDOWN = re.compile(r"[-*]\s+(?P<rest>\S.*)")
_VOTES = r"(?P<content>.*)\(helpful=(?P<helpful>\d{1,9}), harmful=(?P<harmful>\d{1,9})\)"
_MARKDOWN_COUNTED = re.compile(rf"(?:\[(?P<id>[^\[\]]{{1,128}})\]\s)?{_VOTES}")
_MARKDOWN_PLAIN = re.compile(rf"{_NUMBERED}(?P<content>.*)")


def lines_of(text: str) -> Iterator[str]:
    """Yield the lines that are not blank, without the space around them."""
    for line in re.split(r"[\r\n]+", text):
        if bare := line.strip():
            yield bare


def is_counted_item(text: str) -> bool:
    """Whether the text of a list item ends with votes, so that it is read as having them."""
    return _MARKDOWN_COUNTED.fullmatch(text) is not None


def read_lines(text: str) -> Reading:
    """Return the bullets; lines that are neither a bullet nor a heading are left out."""
    section, collector = "general", Collector()
    for line in lines_of(text):
        heading = _HEADING.fullmatch(line) if line.startswith("#") else None
        if heading:
            section = clean_line((heading["name"] or heading["close"])[:_HEADING_CHARS]) or section
            continue
        fields = _ace(line) or _markdown(line)
        if fields is not None:
            fields = {**fields, "section": section, **split_advice(fields["content"])}
            collector.take(fields, str(fields.get("id") or fields["content"] or line)[: NAME_CHARS + 1])
    return collector.reading()


def fit_for_brackets(bullet_id: str) -> str:
    """Return an id without brackets."""
    return bullet_id.replace("[", "(").replace("]", ")")


def numbered(bullet_id: str) -> str:
    """Return an id that is recognised without counters: it ends in a number and has no spaces."""
    fit = re.sub(r"\s", "_", fit_for_brackets(bullet_id))
    return fit if re.fullmatch(_NUMBERED, f"[{fit}]") else f"{fit[:100]}-0"


def _ace(line: str) -> Fields | None:
    if not line.startswith("["):
        return None
    match = _ACE_COUNTED.fullmatch(line) or _ACE_PLAIN.fullmatch(line)
    return None if match is None else _fields(match)


def _markdown(line: str) -> Fields | None:
    item = _MARKDOWN.fullmatch(line) if line.startswith(("-", "*")) else None
    if item is None:
        return None
    for pattern in (_MARKDOWN_COUNTED, _MARKDOWN_PLAIN):
        match = pattern.fullmatch(item["rest"])
        if match:
            return _fields(match)
    return {"content": item["rest"]}


def _fields(match: re.Match[str]) -> Fields:
    found = match.groupdict()
    counters = {name: int(found[name]) for name in ("helpful", "harmful") if found.get(name)}
    return {"id": found.get("id"), "content": (found["content"] or "").strip(), **counters}


@dataclass(frozen=True)
class LinesFormat:
    """Active bullets as lines below their sections; types, topics, tags and pins are not written.

    They are guessed when the text is read where that is possible. Anti-patterns have the prefix of prompts.
    `line` writes a bullet, `is_line` says whether a line is of this style.
    """

    name: str
    summary: str
    line: Callable[[Bullet], str]
    is_line: Callable[[str], bool]

    def recognises(self, document: Document) -> bool:
        """Whether a line is a bullet in this style."""
        return any(map(self.is_line, lines_of(document.text)))

    def read(self, document: Document) -> Reading:
        """Return the bullets; lines that are neither a bullet nor a section are left out."""
        return read_lines(document.text)

    def write(self, playbook: Playbook) -> str:
        """Return the text; an empty playbook gives an empty text."""
        return written_by_section(playbook, self.line)


def _counted(bullet: Bullet) -> str:
    votes = f"helpful={bullet.helpful} harmful={bullet.harmful}"
    return f"[{fit_for_brackets(bullet.id)}] {votes} :: {bullet.advice}"


def _plain(bullet: Bullet) -> str:
    line = f"[{numbered(bullet.id)}] {bullet.advice}"
    return _counted(bullet) if _ACE_COUNTED.fullmatch(line) else line


def _item(bullet: Bullet) -> str:
    votes = f"(helpful={bullet.helpful}, harmful={bullet.harmful})"
    return f"- [{fit_for_brackets(bullet.id)}] {bullet.advice} {votes}"


def _is_ace(line: str) -> bool:
    return _ace(line) is not None


def _is_item(line: str) -> bool:
    return line.startswith(("-", "*")) and _MARKDOWN.fullmatch(line) is not None


ACE = LinesFormat("ace", "for ace-agent", _counted, _is_ace)
"""`[calc-00001] helpful=5 harmful=0 :: content` below `## SECTION`, as ace-agent/ace has it."""
ACE_PLAIN = LinesFormat("ace-plain", "for ace-agent, without counters", _plain, _is_ace)
"""`[calc-00001] content`, as in its AppWorld playbooks."""
TEXT = LinesFormat("text", "markdown, for people", _item, _is_item)
"""`- [fil-00042] content (helpful=5, harmful=0)`."""
