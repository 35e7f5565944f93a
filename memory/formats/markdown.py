"""The list items of a Markdown document that a person or another program wrote, as lines of one item each.

An item may go on in the next lines, may be numbered, and may be nested. Code blocks and paragraphs are no
advice that stands alone: they are left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from ace_graph.base.errors import FormatError
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.formats.lines import is_counted_item, numbered, read_lines, written_by_section
from ace_graph.memory.formats.reading import Document, Reading
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.sharing import leaves_owner

if TYPE_CHECKING:
    import yaml  # type: ignore[import-untyped]  # its stubs are a package of their own, for this file only

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


# The YAML block between two lines `---` at the beginning of a Markdown file.
#
# It is untrusted. Nothing is built of it but texts: the parser's events are read, no objects are made.
# Tags, anchors and aliases are refused, and so are nesting and length beyond what such a block needs.


MAX_CHARS = 10_000
"""Ten times the longest description that a skill may have."""
_MAX_DEPTH = 4
_EDGE = "---"


class FrontMatter(NamedTuple):
    """The fields of the block, with the text of each that has one and else "", and what follows the block."""

    fields: Mapping[str, str]
    body: str


def has_front_matter(text: str, *names: str) -> bool:
    """Whether `text` begins with such a block, and lines in it begin with each of these field names."""
    found = _split(text)
    if found is None:
        return False
    lines = found[0].split("\n")
    return all(any(line.startswith(f"{name}:") for line in lines) for name in names)


def read_front_matter(text: str) -> FrontMatter:
    """Return the fields and the rest of the text. Raises FormatError."""
    found = _split(text)
    if found is None:
        raise FormatError(
            f"it has no front matter: a block between two lines {_EDGE} at its beginning, "
            f"of at most {MAX_CHARS} characters"
        )
    return FrontMatter(_fields(found[0]), found[1])


def written_front_matter(fields: Mapping[str, object]) -> str:
    """Return the block, with a line break at its end."""
    import yaml  # with every format that is loaded with the graph, it would cost each start 15 ms

    text = yaml.safe_dump(dict(fields), allow_unicode=True, sort_keys=False, width=MAX_CHARS)
    return f"{_EDGE}\n{text}{_EDGE}\n"


def _split(text: str) -> tuple[str, str] | None:
    """Return what is between the two lines and what is after them, or None."""
    first, _, rest = text.partition("\n")
    if first.rstrip() != _EDGE:
        return None
    at = 0
    for line in rest[:MAX_CHARS].split("\n"):
        if line.rstrip() == _EDGE:
            return rest[:at].replace("\r\n", "\n"), rest[at + len(line) + 1 :]
        at += len(line) + 1
    return None


def _fields(block: str) -> dict[str, str]:
    import yaml

    try:
        return _top_level(cast("Iterator[yaml.Event]", yaml.parse(block, Loader=yaml.SafeLoader)))
    except yaml.MarkedYAMLError as error:
        where = f" (line {error.problem_mark.line + 2})" if error.problem_mark else ""
        raise FormatError(f"its front matter is not valid YAML{where}: correct it") from error
    except yaml.YAMLError as error:
        raise FormatError("its front matter is not valid YAML: correct it") from error


def _top_level(events: Iterator[yaml.Event]) -> dict[str, str]:
    """Return the names at the top with their texts; a list or a mapping has the text ""."""
    import yaml

    found: dict[str, str] = {}
    depth, name = 0, None
    for event in events:
        _check(event, depth)
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.NodeEvent) and depth <= 1:
            text = event.value if isinstance(event, yaml.ScalarEvent) else None
            if depth == 1 and name is not None:
                found[name], name = text or "", None
            elif depth == 1:
                if text is None:
                    raise FormatError("its front matter has a name that is not text: correct it")
                if text in found:
                    raise FormatError("a name occurs twice in its front matter: leave one")
                name = text
            elif not isinstance(event, yaml.MappingStartEvent):
                raise FormatError("its front matter is not a list of `name: value` lines: correct it")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
    return found


def _check(event: yaml.Event, depth: int) -> None:
    import yaml

    if isinstance(event, yaml.NodeEvent) and (event.anchor or getattr(event, "tag", None)):
        raise FormatError("its front matter has a YAML tag, anchor or alias: write the value itself")
    if depth > _MAX_DEPTH:
        raise FormatError("its front matter is nested too deep: a skill needs names and texts only")
    if isinstance(event, yaml.DocumentEndEvent) and event.explicit:
        raise FormatError("its front matter ends with `...`: remove that line")


# A section of an AGENTS.md, the file with instructions for coding agents (agents.md).
#
#     <!-- ace-graph:begin api-client -->
#     ## Lessons from earlier work
#     ### errors
#     - [err-00001] Read the status before the body
#     <!-- ace-graph:end api-client -->
#
# The two comments are lines of their own. Only what is between them is read and replaced; the rest of the
# file belongs to its owner and stays as it is, byte for byte. Several playbooks have sections of their own.


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
            raise FormatError("it has no section for ace-graph: <!-- ace-graph:begin NAME --> is missing")
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
