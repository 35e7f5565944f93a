"""The YAML block between two lines `---` at the beginning of a Markdown file.

It is untrusted. Nothing is built of it but texts: the parser's events are read, no objects are made. Tags,
anchors and aliases are refused, and so are nesting and length beyond what such a block needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from ace_graph.errors import FormatError

if TYPE_CHECKING:
    import yaml  # type: ignore[import-untyped]  # its stubs are a package of their own, for this file only

__all__ = ["FrontMatter", "has_front_matter", "read_front_matter", "written_front_matter"]

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
        raise FormatError(f"its front matter is no valid YAML{where}: correct it") from error
    except yaml.YAMLError as error:
        raise FormatError("its front matter is no valid YAML: correct it") from error


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
                name = _new_name(text, found)
            elif not isinstance(event, yaml.MappingStartEvent):
                raise FormatError("its front matter is no list of `name: value` lines: correct it")
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


def _new_name(text: str | None, found: Mapping[str, str]) -> str:
    if text is None:
        raise FormatError("its front matter has a name that is no text: correct it")
    if text in found:
        raise FormatError("a name occurs twice in its front matter: leave one")
    return text
