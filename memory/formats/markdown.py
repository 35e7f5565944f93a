"""The list items of a Markdown document that a person or another program wrote, as lines of one item each.

An item may go on in the next lines, may be numbered, and may be nested. Code blocks and paragraphs are no
advice that stands alone: they are left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.formats.base import Reading
from ace_graph.memory.formats.lines import is_counted_item, numbered, read_lines
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.sharing.outgoing import leaves_owner

__all__ = ["plain_item", "public_lessons", "read_items"]

_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?P<rest>\S.*)")
_HEADING = re.compile(r"#{1,6}[ \t]")
_FENCES = ("```", "~~~")


def read_items(text: str, is_known: Callable[[str], bool]) -> Reading:
    """Return the list items as bullets, under the headings above them.

    Lines that are neither are left out, and counted unless they are `is_known`.
    """
    left_out: dict[str, int] = {}
    reading = read_lines("\n".join(_one_line_each(text, is_known, left_out)))
    return Reading(reading.bullets, reading.refused, {**reading.left_out, **left_out})


def plain_item(bullet: Bullet) -> str:
    """Return a bullet as a list item with its id and without its votes, which are the owner's."""
    line = f"[{numbered(bullet.id)}] {bullet.advice}"
    if is_counted_item(line):  # its text ends like votes, and would be read as these
        return f"- {line} (helpful={bullet.helpful}, harmful={bullet.harmful})"
    return f"- {line}"


def public_lessons(playbook: Playbook) -> Playbook:
    """Return what others may see of a playbook, the pinned bullets that are no learner's own among it."""
    return Playbook.of(
        bullet for bullet in playbook.bullets() if leaves_owner(bullet.model_copy(update={"pinned": False}))
    )


def _one_line_each(text: str, is_known: Callable[[str], bool], left_out: dict[str, int]) -> Iterator[str]:
    item: list[str] = []
    for line in _outside_code(re.split(r"\r\n?|\n", text), left_out):
        bare = line.strip()
        found = _ITEM.fullmatch(bare)
        if item and bare and not found and not _HEADING.match(bare):
            item.append(bare)
            continue
        if item:
            yield " ".join(item)
            item = []
        if found:
            item = [f"- {found['rest']}"]
        elif _HEADING.match(bare):
            yield bare
        elif bare and not is_known(bare):
            left_out["line of text"] = left_out.get("line of text", 0) + 1
    if item:
        yield " ".join(item)


def _outside_code(lines: Iterable[str], left_out: dict[str, int]) -> Iterator[str]:
    """Yield the lines outside code blocks, and a blank line for each block."""
    fence = ""
    for line in lines:
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
            continue
        mark = next((each for each in _FENCES if bare.startswith(each)), "")
        if mark:
            fence = bare[: len(bare) - len(bare.lstrip(mark[0]))]
            left_out["code block"] = left_out.get("code block", 0) + 1
            yield ""
        else:
            yield line
