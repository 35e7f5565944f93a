"""What is wrong with a request's shape, in words: the field as the client wrote it, and what it must be.

Does not: say what was sent. It may be a secret, and it may be long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

__all__ = ["sentence_of"]

_MOST_CHARS = 300
_TEXT, _TRUTH, _OBJECT, _LIST = "must be text", "must be true or false", "must be an object", "must be a list"
_TIME = "must be a time, written as 2026-01-31T12:00:00Z"
_PLACES = frozenset({"body", "query", "path", "header"})

_Detail = Mapping[str, object]
_Bounds = Mapping[str, object]

_WORDS: Mapping[str, str | Callable[[_Bounds], str]] = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "string_type": _TEXT,
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "dict_type": _OBJECT,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "json_invalid": "must be JSON",
    "string_pattern_mismatch": "must be made of the letters, digits and signs that its description allows",
    "datetime_type": _TIME,
    "datetime_parsing": _TIME,
    "datetime_from_date_parsing": _TIME,
    "literal_error": lambda bounds: f"must be {bounds['expected']}".replace("'", ""),
    "string_too_short": lambda bounds: _at_least(bounds["min_length"], "character"),
    "string_too_long": lambda bounds: _at_most(bounds["max_length"], "character"),
    "too_short": lambda bounds: _at_least(bounds["min_length"], "character"),
    "too_long": lambda bounds: _at_most(bounds["max_length"], _unit(bounds)),
    "greater_than_equal": lambda bounds: f"must be {bounds['ge']} or more",
    "less_than_equal": lambda bounds: f"must be {bounds['le']} or less",
    "value_error": lambda bounds: str(bounds["error"]),
}


def sentence_of(details: Iterable[_Detail]) -> str:
    """Return one sentence about pydantic's findings: each field once."""
    told: dict[str, str] = {}
    for detail in details:
        where = _where(cast("Sequence[object]", detail["loc"]))
        told.setdefault(where, _what(detail))
    return "; ".join(f"{where} {what}" for where, what in told.items())[:_MOST_CHARS]


def _what(detail: _Detail) -> str:
    words = _WORDS.get(str(detail["type"]), "is not as described")
    bounds = {"input": detail.get("input"), **cast("_Bounds", detail.get("ctx") or {})}
    return words if isinstance(words, str) else words(bounds)


def _where(place: Sequence[object]) -> str:
    """The field: `conversationHistory[0].content`. Behind a parameter pydantic names our own functions."""
    first = str(place[0]) if place else "body"
    inside = list(place[1:] if first == "body" else place[1:2]) if first in _PLACES else list(place)
    if not inside or (first == "body" and isinstance(inside[0], int)):  # the place in JSON that can't be read
        return f"the {first}"
    path = str(inside[0])
    for part in inside[1:]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path


def _at_least(count: object, unit: str) -> str:
    return "must not be empty" if count == 1 else f"must have at least {count} {unit}s"


def _at_most(count: object, unit: str) -> str:
    return f"may have at most {count} {unit}s"


def _unit(bounds: _Bounds) -> str:
    return "character" if isinstance(bounds["input"], str) else "element"
