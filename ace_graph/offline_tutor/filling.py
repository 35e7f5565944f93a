"""An object that fits a JSON schema: lessons where it has a place for them, the emptiest value elsewhere.

Does not: think. A schema that asks for anything but lessons gets an empty answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from pydantic import JsonValue

from ace_graph.models.json_output import JsonSchema
from ace_graph.offline_tutor.reflecting import Lesson

__all__ = ["fill"]

_MAX_DEPTH = 8
_CONTENT_NAMES = ("content", "lesson", "text", "insight", "summary")


def fill(schema: JsonSchema, lessons: Sequence[Lesson]) -> JsonSchema:
    """Return an object for `schema` in which `lessons`, if it has such a list, holds `lessons`."""
    filled = _Filler(schema, lessons).value(schema, 0)
    return filled if isinstance(filled, dict) else {}


class _Filler:
    """Walks a schema; knows its definitions."""

    def __init__(self, root: JsonSchema, lessons: Sequence[Lesson]) -> None:
        self._root = root
        self._lessons = lessons

    def value(self, schema: JsonSchema, depth: int) -> JsonValue:
        schema = self._resolved(schema)
        if "default" in schema:
            return schema["default"]
        if "const" in schema:
            return schema["const"]
        choices = schema.get("enum")
        if isinstance(choices, list) and choices:
            return choices[0]
        options = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(options, list) and options:
            kinds = [_as_schema(option) for option in options]
            empty = any(kind.get("type") == "null" for kind in kinds)
            return None if empty else self.value(kinds[0], depth + 1)
        return self._by_type(schema, depth)

    def _by_type(self, schema: JsonSchema, depth: int) -> JsonValue:
        match schema.get("type"):
            case "object" if depth < _MAX_DEPTH:
                return self._object(schema, depth)
            case "array":
                return []
            case "string":
                return "-" * _whole(schema.get("minLength"))
            case "integer" | "number":
                return _whole(schema.get("minimum"))
            case "boolean":
                return False
            case _:
                return None

    def _object(self, schema: JsonSchema, depth: int) -> JsonSchema:
        required = cast("list[str]", schema.get("required") or [])
        filled: JsonSchema = {}
        for name, kind in _as_schema(schema.get("properties")).items():
            if name == "lessons":
                filled[name] = [self._lesson(lesson, _as_schema(kind)) for lesson in self._lessons]
            elif name in required:
                filled[name] = self.value(_as_schema(kind), depth + 1)
        return filled

    def _lesson(self, lesson: Lesson, array: JsonSchema) -> JsonValue:
        item = self._resolved(_as_schema(array.get("items")))
        properties = _as_schema(item.get("properties"))
        if not properties:
            return lesson.content
        made = self._object(item, 1)
        known: JsonSchema = {
            next((name for name in _CONTENT_NAMES if name in properties), "content"): lesson.content,
            "section": "strategies",
            "topic": lesson.topic,
            "memory_type": "procedural",
        }
        return made | {name: value for name, value in known.items() if name in properties}

    def _resolved(self, schema: JsonSchema) -> JsonSchema:
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        name = reference.rpartition("/")[2]
        definitions = _as_schema(self._root.get("$defs")) or _as_schema(self._root.get("definitions"))
        return _as_schema(definitions.get(name))


def _as_schema(value: JsonValue) -> JsonSchema:
    return value if isinstance(value, dict) else {}


def _whole(value: JsonValue) -> int:
    return int(value) if isinstance(value, int | float) else 0
