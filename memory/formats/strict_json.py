"""Parses untrusted JSON. A name that occurs twice in one object is reported, not silently overwritten.

NaN and infinities are parsed, and refused where a bullet would hold them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import cast

from ace_graph.errors import FormatError

__all__ = ["Fields", "as_fields", "pairs_of", "parse"]

Fields = dict[str, object]


class _WithRepeatedNames(Fields):
    """An object with a repeated name: it has the first value, `later` has the others."""

    later: tuple[tuple[str, object], ...] = ()


def parse(text: str) -> object:
    """Return the value of a JSON text. Raises FormatError."""
    try:
        return cast(object, json.loads(text, object_pairs_hook=_object))
    except RecursionError as error:
        raise FormatError("it is JSON nested too deep to be a playbook") from error
    except ValueError as error:
        raise FormatError(f"it is no valid JSON ({error}): fix it, or name its --format") from error


def as_fields(value: object) -> Fields | None:
    """Return `value` where it is a JSON object, else None."""
    return cast(Fields, value) if isinstance(value, dict) else None


def pairs_of(fields: Fields) -> Iterator[tuple[str, object]]:
    """Yield all names and values of an object, with repeated names."""
    yield from fields.items()
    if isinstance(fields, _WithRepeatedNames):
        yield from fields.later


def _object(pairs: list[tuple[str, object]]) -> Fields:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    first = _WithRepeatedNames()
    later: list[tuple[str, object]] = []
    for name, value in pairs:
        if name in first:
            later.append((name, value))
        else:
            first[name] = value
    first.later = tuple(later)
    return first
