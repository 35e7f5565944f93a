"""The tutor as a reflector: a lesson only where there is evidence, and nothing but what it shows.

An object that fits a JSON schema: lessons where it has a place for them, the emptiest value elsewhere.

Does not: judge the answer itself, or make up advice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from ace_graph.arithmetic import NoValue
from ace_graph.models.local import JsonSchema
from ace_graph.models.reply import find_json_object
from ace_graph.offline_tutor.number_forms import ADVICE, restated
from ace_graph.offline_tutor.parser import find_problem
from ace_graph.offline_tutor.prompt_reader import block
from ace_graph.offline_tutor.solver import Kind, Solution, solve

__all__ = ["Lesson", "fill", "reflect"]


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


_VERDICT = re.compile(r"\bverdict\b\W{1,5}(success|failure)\b", re.IGNORECASE)
_TEXT = re.compile(r"\b(?:text|feedback|detail)\b\W{1,5}(.+)", re.IGNORECASE)
_CORRECTED, _CORRECTED_CHARS = "(corrected value: ", 300
_MAX_WORDS = 11  # a lesson with twelve consecutive words of the conversation counts as a copy

_METHODS: dict[Kind, str] = {
    "fraction_addition": (
        "Rewrite both fractions with their smallest common denominator, then add the tops only."
    ),
    "fraction_subtraction": (
        "Rewrite both fractions with their smallest common denominator, then subtract the tops only."
    ),
    "fraction_multiplication": "Multiply the tops, multiply the bottoms, then simplify.",
    "fraction_division": "Divide by a fraction by multiplying with its reciprocal.",
    "fraction_comparison": "Compare fractions by giving both the same denominator.",
    "fraction_simplification": "Simplify a fraction by dividing both parts by their greatest common divisor.",
    "percentages": "Read percent as out of a hundred before calculating.",
}


@dataclass(frozen=True, slots=True)
class Lesson:
    """A reusable sentence, the topic it is about, and what kind of advice it is."""

    content: str
    topic: str
    failed: bool


@dataclass(frozen=True, slots=True)
class _Evidence:
    source: str
    failed: bool
    text: str


def reflect(prompt: str) -> list[Lesson]:
    """Return at most one lesson, from the `<evidence>` block of a reflector's prompt."""
    judged = next((found for line in block(prompt, "evidence").splitlines() if (found := _read(line))), None)
    if judged is None or not judged.text:
        return []
    solution = _solution(block(prompt, "question"))
    kind = solution.kind if solution is not None else None
    content = _form_lesson(judged, solution, block(prompt, "ground_truth")) or _content(judged, kind)
    return [Lesson(content, kind or "conversation", judged.failed)] if content else []


def _form_lesson(judged: _Evidence, solution: Solution | None, truth: str) -> str | None:
    """A lesson about the form of results, where the right value is ours in another form."""
    right = {"learner": _corrected(judged.text), "ground_truth": truth}.get(judged.source, "")
    found = restated(right, solution.value) if solution is not None and judged.failed else None
    if found is None or solution is None or found.written == solution.answer:
        return None
    return f"In {solution.kind.replace('_', ' ')}, {ADVICE[found.form]}."


def _corrected(text: str) -> str:
    """The value that the learner gave instead, '' for none."""
    said = text.rstrip()
    end = said[-_CORRECTED_CHARS - len(_CORRECTED) - 1 :]
    _, found, value = end.partition(_CORRECTED)
    return value[:-1] if found and said.endswith(")") else ""


def _content(judged: _Evidence, kind: Kind | None) -> str | None:
    method = _METHODS.get(kind) if kind is not None else None
    topic = kind.replace("_", " ") if kind is not None else "questions like this"
    if judged.source in ("ground_truth", "learner"):  # they say that, not why
        return None if judged.failed else method
    said = " ".join(judged.text.split()[:_MAX_WORDS]).rstrip(".!,;")
    if judged.failed:
        return f"With {topic}, mind what went wrong before: {said}."
    return f"With {topic}, keep what worked before: {said}."


def _read(line: str) -> _Evidence | None:
    """One judgement: a JSON object with source, verdict and text, or words that name verdict and text."""
    found = find_json_object(line)
    if found is not None:
        verdict = str(found.get("verdict", "")).lower()
        if verdict not in ("success", "failure"):
            return None
        return _Evidence(str(found.get("source", "")), verdict == "failure", _plain(found.get("text")))
    verdict_in_words = _VERDICT.search(line)
    if verdict_in_words is None:
        return None
    text = _TEXT.search(line)
    source = "ground_truth" if "ground_truth" in line else ""
    return _Evidence(source, verdict_in_words[1].lower() == "failure", text[1].strip() if text else "")


def _plain(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value) if value else ""


def _solution(question: str) -> Solution | None:
    problem = find_problem(question)
    try:
        return solve(problem) if problem is not None else None
    except NoValue:
        return None
