"""The tutor as a reflector: at most one lesson, from the evidence, as an object of the schema asked for."""

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
from ace_graph.offline_tutor.number_forms import ADVICE, find_restatement
from ace_graph.offline_tutor.parser import find_problem
from ace_graph.offline_tutor.prompt_reader import block
from ace_graph.offline_tutor.solver import Kind, WorkedSolution, solve

__all__ = ["TutorLesson", "fill", "reflect"]


_MAX_DEPTH = 8
_CONTENT_NAMES = ("content", "lesson", "text", "insight", "summary")


def fill(schema: JsonSchema, lessons: Sequence[TutorLesson]) -> JsonSchema:
    """Return an object for `schema`: `lessons` in the list of that name, the emptiest value elsewhere."""
    definitions = _as_schema(schema.get("$defs")) or _as_schema(schema.get("definitions"))
    filled = _Filler(definitions, lessons).value(schema, 0)
    return filled if isinstance(filled, dict) else {}


@dataclass(frozen=True, slots=True)
class _Filler:
    """Makes values for the parts of one schema, which may refer to its definitions."""

    definitions: JsonSchema
    lessons: Sequence[TutorLesson]

    def value(self, schema: JsonValue, depth: int) -> JsonValue:
        kind = self._resolved(schema)
        for fixed in ("default", "const"):
            if fixed in kind:
                return kind[fixed]
        choices, options = kind.get("enum"), kind.get("anyOf") or kind.get("oneOf")
        if isinstance(choices, list) and choices:
            return choices[0]
        if isinstance(options, list) and options:
            optional = any(_as_schema(option).get("type") == "null" for option in options)
            return None if optional else self.value(options[0], depth + 1)
        match kind.get("type"):
            case "object" if depth < _MAX_DEPTH:
                return self._object(kind, depth)
            case "array":
                return []
            case "string":
                return "-" * _whole(kind.get("minLength"))
            case "integer" | "number":
                return _whole(kind.get("minimum"))
            case "boolean":
                return False
            case _:
                return None

    def _object(self, schema: JsonSchema, depth: int) -> JsonSchema:
        required = cast("list[str]", schema.get("required") or [])
        filled: JsonSchema = {}
        for name, kind in _as_schema(schema.get("properties")).items():
            if name == "lessons":
                item = self._resolved(_as_schema(kind).get("items"))
                filled[name] = [self._lesson(lesson, item) for lesson in self.lessons]
            elif name in required:
                filled[name] = self.value(kind, depth + 1)
        return filled

    def _lesson(self, lesson: TutorLesson, item: JsonSchema) -> JsonValue:
        properties = _as_schema(item.get("properties"))
        if not properties:
            return lesson.content
        content = next((name for name in _CONTENT_NAMES if name in properties), "content")
        known: JsonSchema = {
            content: lesson.content,
            "topic": lesson.topic,
            "section": "strategies",
            "memory_type": "procedural",
        }
        filled = self._object(item, 1)
        return filled | {name: value for name, value in known.items() if name in properties}

    def _resolved(self, schema: JsonValue) -> JsonSchema:
        reference = _as_schema(schema).get("$ref")
        name = reference.rpartition("/")[2] if isinstance(reference, str) else None
        return _as_schema(schema if name is None else self.definitions.get(name))


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
class TutorLesson:
    """A reusable sentence, and the topic it is about."""

    content: str
    topic: str


@dataclass(frozen=True, slots=True)
class _Evidence:
    source: str
    failed: bool
    text: str


def reflect(prompt: str) -> list[TutorLesson]:
    """Return at most one lesson, from the `<evidence>` block of a reflector's prompt."""
    judged = next((found for line in block(prompt, "evidence").splitlines() if (found := _read(line))), None)
    if judged is None or not judged.text:
        return []
    solution = _solution(block(prompt, "question"))
    kind = solution.kind if solution is not None else None
    content = _form_lesson(judged, solution, block(prompt, "ground_truth")) or _content(judged, kind)
    return [TutorLesson(content, kind or "conversation")] if content else []


def _form_lesson(judged: _Evidence, solution: WorkedSolution | None, truth: str) -> str | None:
    """A lesson about the form of results, where the right value is ours in another form."""
    right = {"learner": _corrected(judged.text), "ground_truth": truth}.get(judged.source, "")
    found = find_restatement(right, solution.value) if solution is not None and judged.failed else None
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


def _solution(question: str) -> WorkedSolution | None:
    problem = find_problem(question)
    try:
        return solve(problem) if problem is not None else None
    except NoValue:
        return None
