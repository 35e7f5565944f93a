"""A playbook as Markdown files, and an edited file as the operations that make the playbook say it.

    files = files_of(playbook)                       # {"AGENTS.md": ..., "general.md": ...}
    change = edit_of(files["general.md"], text, playbook)

A section is a file, a bullet a line of it: `- text`, below `## context` where the bullet has one. `AGENTS.md`
holds all sections, each below `# section`. A line that is not changed stands for the bullet that it was.
Indentation, blank lines, the kind of list and the place of a new line are not kept; a heading without lines
and a line without a word are left out, and said.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from urllib.parse import unquote

from rapidfuzz import fuzz

from ace_graph.base.errors import FormatError
from ace_graph.base.text import clean_line
from ace_graph.memory.bullet import GIVEN, MAX_CONTEXT_CHARS, Bullet, BulletSource, content_hash
from ace_graph.memory.delta.operations import Add, Operation, Remove, Update
from ace_graph.memory.formats.lines import active
from ace_graph.memory.formats.reading import split_advice
from ace_graph.memory.playbook import Playbook

WHOLE = "AGENTS.md"
"""The name of the file that holds all sections."""
_SECTION_CHARS = 100
_ALIKE = 60.0
"""Lines this similar, of 100, are one that was edited; others are one that went and one that came."""
_COMPARED = 20_000
"""Pairs of lines; of more no line counts as edited."""
_QUOTED = re.compile(r'[%\\:*?"<>|#\x00-\x1f]|^[.~ ]|(?<=/)[.~ ]|[. ]$|[. ](?=/)|/(?=/)|^/|/$')
_SUFFIX = re.compile(r"[^/]*[^/.]\.[A-Za-z0-9]{1,5}")
_ITEM = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])[ \t]+")
_HEADING = re.compile(r"(#{1,6})[ \t]+")


class MemoryLine(NamedTuple):
    """A line of a file, and the bullet that it is of, if any."""

    section: str
    context: str
    text: str
    bullet_id: str = ""


@dataclass(frozen=True)
class MemoryFile:
    """A file, and what its lines were when it was read."""

    name: str
    lines: tuple[MemoryLine, ...] = ()

    @property
    def text(self) -> str:
        """The Markdown; nothing to say is an empty text."""
        return "".join(_written(self.lines, whole=self.name == WHOLE))


@dataclass(frozen=True)
class FileEdit:
    """What an edited file asks for.

    `conflicts` are sentences on lines that somebody else has changed since the file was read: those are left
    as they are by now. `left_out` are lines of the edited file that no bullet can hold.
    """

    operations: tuple[Operation, ...] = ()
    conflicts: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def file_name(section: str) -> str:
    """Return the name of a section's file; no two sections have the same."""
    name = _QUOTED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found.group().encode()), section)
    name = name if _SUFFIX.fullmatch(name.rpartition("/")[2]) and not name.endswith(".md") else f"{name}.md"
    return f"%{ord(name[0]):02X}{name[1:]}" if name == WHOLE else name


def section_of(name: str) -> str:
    """Return the section whose file has this name. Raises FormatError where there can be none."""
    section = clean_line(unquote(name.removesuffix(".md"), errors="replace"))
    if not section or len(section) > _SECTION_CHARS:
        raise FormatError(f"the name of a file has 1 to {_SECTION_CHARS} characters: choose another")
    right = file_name(section)
    if right != name:
        raise FormatError(f"memory can't hold a file of that name: name it {right}")
    return section


def files_of(playbook: Playbook, now: datetime | None = None) -> dict[str, MemoryFile]:
    """Return the files by their names: all sections in one, and each of them.

    Bullets that no prompt may show at `now` are in none, and neither are those in quarantine.
    """
    by_section = defaultdict[str, list[Bullet]](list)
    for bullet in active(playbook):
        if now is None or bullet.injectable(now):
            by_section[bullet.section].append(bullet)
    sections = {section: tuple(_lines_of(bullets)) for section, bullets in by_section.items()}
    whole = tuple(line for lines in sections.values() for line in lines)
    files = {WHOLE: MemoryFile(WHOLE, whole)}
    for section, lines in sorted(sections.items()):
        files[file_name(section)] = MemoryFile(file_name(section), lines)
    return files


def _lines_of(bullets: Iterable[Bullet]) -> Iterator[MemoryLine]:
    """Yield the lines of a section, those without a context first, and of one context together."""
    by_context = defaultdict[str, list[MemoryLine]](list)
    by_context[""] = []
    for bullet in bullets:
        context = bullet.context or ""
        by_context[context].append(MemoryLine(bullet.section, context, bullet.advice, bullet.id))
    for lines in by_context.values():
        yield from lines


def _written(lines: Sequence[MemoryLine], *, whole: bool) -> Iterator[str]:
    section, context = None, ""
    for place, line in enumerate(lines):
        gap = "\n" if place else ""
        if whole and line.section != section:
            yield f"{gap}# {line.section}\n\n"
            context, gap = "", ""
        if line.context != context:
            yield f"{gap}## {line.context}\n\n"
        section, context = line.section, line.context
        yield f"- {line.text}\n"


def read_file(name: str, text: str) -> tuple[list[MemoryLine], list[str]]:
    """Return the lines of an edited file, and what no bullet can hold. Raises FormatError for its name."""
    section = "general" if name == WHOLE else section_of(name)
    headings, lines, left_out = list[tuple[int, str]](), list[MemoryLine](), list[str]()
    unused = list[tuple[int, str]]()
    for raw in re.split(r"\r\n?|\n", text):
        bare = raw.strip()
        heading = _HEADING.match(bare)
        if heading and (title := clean_line(bare[heading.end() :])):
            depth = len(heading[1])
            left_out += (each for deep, each in unused if deep >= depth)
            unused = [*((d, each) for d, each in unused if d < depth), (depth, bare)]
            if depth == 1 and name == WHOLE:
                section, headings = title[:_SECTION_CHARS], []
            else:
                headings = [*((d, t) for d, t in headings if d < depth), (depth, title)]
        elif bare:
            item = _ITEM.match(bare)
            said = clean_line(bare[item.end() :] if item else bare)
            if re.search(r"\w", said):
                context = " / ".join(title for _, title in headings)[:MAX_CONTEXT_CHARS]
                lines.append(MemoryLine(section, context, said))
                unused = []
            else:
                left_out.append(bare)
    return lines, [*left_out, *(each for _, each in unused)]


def edit_of(read: MemoryFile, text: str, present: Playbook) -> FileEdit:
    """Return what makes the playbook as it is by now say what the edited file says.

    Only what differs from the file as it was `read` is changed. Raises FormatError for a name that no file
    can have.
    """
    lines, left_out = read_file(read.name, text)
    pairs, gone, new = _compared(read.lines, lines)
    operations, conflicts = list[Operation](), list[str]()
    adds = list(new)
    for old, line in pairs:
        bullet = _present(present, old)
        if bullet is None:
            adds.append(line)
            conflicts.append(f"{_short(old.text)} was removed meanwhile: your text is kept as a new line")
        elif line.text not in (old.text, bullet.advice) and bullet.advice != old.text:
            conflicts.append(
                f"{_short(old.text)} was changed meanwhile to {_short(bullet.advice)}: yours was not written"
            )
        else:
            operations += _update(bullet, old, line)
    for old in gone:
        bullet = _present(present, old)
        if bullet is not None and bullet.advice != old.text:
            conflicts.append(
                f"{_short(old.text)} was changed meanwhile to {_short(bullet.advice)}: it was not removed"
            )
        elif bullet is not None and bullet.section != old.section:
            where = file_name(bullet.section)
            conflicts.append(f"{_short(old.text)} was moved meanwhile to {where}: it was not removed")
        elif bullet is not None:
            operations.append(Remove(bullet_id=bullet.id))
    operations += (_add(line, place) for place, line in enumerate(adds))
    return FileEdit(tuple(operations), tuple(conflicts), tuple(left_out))


def known_lines(file: MemoryFile, text: str) -> MemoryFile:
    """Return the file with the lines only that a text says as well."""
    said = {_words(line) for line in read_file(file.name, text)[0]}
    return MemoryFile(file.name, tuple(line for line in file.lines if _words(line) in said))


def removal_of(read: Iterable[MemoryFile], present: Playbook) -> FileEdit:
    """Return what removes the lines of these files; what was changed since they were read stays."""
    edits = [edit_of(file, "", present) for file in read]
    return FileEdit(
        tuple(each for edit in edits for each in edit.operations),
        tuple(each for edit in edits for each in edit.conflicts),
    )


def renaming_of(files: Mapping[str, str], present: Playbook) -> FileEdit:
    """Return what gives files other names, by their old ones. Raises FormatError for a name."""
    sections = {section_of(old): section_of(new) for old, new in files.items()}
    return FileEdit(
        tuple(
            Update(bullet_id=bullet.id, section=sections[bullet.section])
            for bullet in active(present)
            if bullet.section in sections
        )
    )


def _short(text: str) -> str:
    return f'"{text if len(text) <= 80 else text[:79] + "…"}"'


def _present(playbook: Playbook, line: MemoryLine) -> Bullet | None:
    bullet = playbook.entries.get(line.bullet_id)
    return bullet if bullet is not None and bullet.status == "active" else None


def _compared(
    old: Sequence[MemoryLine], new: Sequence[MemoryLine]
) -> tuple[list[tuple[MemoryLine, MemoryLine]], list[MemoryLine], list[MemoryLine]]:
    """Return the lines that were moved or edited, those that went, and those that came."""
    pairs = list[tuple[MemoryLine, MemoryLine]]()
    same, left = _paired(old, new, lambda line: line[:3])
    moved, left = _paired([line for line in old if line not in same], left, _words)
    pairs += moved.items()
    gone = [line for line in old if line not in same and line not in moved]
    came = list[MemoryLine]()
    compared = len(gone) * len(left) <= _COMPARED
    for line in left:
        near = [(fuzz.ratio(each.text, line.text), each) for each in gone] if compared else []
        score, best = max(near, key=lambda pair: pair[0], default=(0.0, line))
        if score >= _ALIKE:
            gone.remove(best)
            pairs.append((best, line))
        else:
            came.append(line)
    return pairs, gone, came


def _words(line: MemoryLine) -> str:
    return content_hash(line.text)


def _paired(
    old: Iterable[MemoryLine], new: Iterable[MemoryLine], key: Callable[[MemoryLine], object]
) -> tuple[dict[MemoryLine, MemoryLine], list[MemoryLine]]:
    """Return the lines with the same key by the old ones, each once, and the new ones that are left."""
    waiting, pairs = defaultdict[object, list[MemoryLine]](list), dict[MemoryLine, MemoryLine]()
    left = list[MemoryLine]()
    for line in old:
        waiting[key(line)].append(line)
    for line in new:
        if known := waiting.get(key(line)):
            pairs[known.pop(0)] = line
        else:
            left.append(line)
    return pairs, left


def _update(bullet: Bullet, old: MemoryLine, line: MemoryLine) -> Iterator[Update]:
    """Yield what changes a bullet from the old line to the new one, if anything does."""
    advice = split_advice(line.text) if line.text not in (old.text, bullet.advice) else {}
    if advice and bullet.polarity == "anti_pattern":
        advice.setdefault("polarity", "strategy")
    section = {"section": line.section} if line.section not in (old.section, bullet.section) else {}
    context = {"context": line.context} if line.context not in (old.context, bullet.context or "") else {}
    # What a person said is not what the agent makes of it.
    given = tuple(name for name in bullet.sources if name in GIVEN) if advice else ()
    writer = {"withdrawn": given, "sources": (BulletSource.AGENT,)} if given else {}
    if advice or section or context:
        yield Update.model_validate({"bullet_id": bullet.id, **advice, **section, **context, **writer})


def _add(line: MemoryLine, place: int) -> Add:
    return Add.model_validate(
        {
            "ref": f"line-{place}",
            "section": line.section,
            "context": line.context or None,
            "sources": (BulletSource.AGENT,),
            **split_advice(line.text),
        }
    )
