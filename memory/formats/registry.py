"""The formats there are, by name, and which one a text is in.

Does not: know what a format looks like.
"""

from __future__ import annotations

from ace_graph.errors import FormatError
from ace_graph.memory.formats.base import Format, Reading
from ace_graph.memory.formats.json import JsonFormat
from ace_graph.memory.formats.text import TextFormat

__all__ = ["FORMATS", "format_named", "read_bullets"]

FORMATS: tuple[Format, ...] = (JsonFormat(), TextFormat())
"""In the order in which a text is offered to them: the strictest first."""


def format_named(name: str) -> Format:
    """Return the format. Raises FormatError naming those there are."""
    for each in FORMATS:
        if each.name == name:
            return each
    raise FormatError(f"{name!r} is no format: use one of {', '.join(each.name for each in FORMATS)}")


def read_bullets(text: str, name: str = "auto") -> Reading:
    """Return the bullets in `text`, read in the format named or, with `auto`, the first that recognises it.

    Raises FormatError when there is none in it, NewerFormat.
    """
    if name == "auto":
        chosen = next((each for each in FORMATS if each.recognises(text)), None)
        if chosen is None:
            known = ", ".join(each.name for each in FORMATS)
            raise FormatError(f"no bullet was found: the file is in none of the formats {known}")
    else:
        chosen = format_named(name)
    reading = chosen.read(text)
    if not len(reading):
        raise FormatError(f"no bullet was found in it, read as {chosen.name}: check the file or its format")
    return reading
