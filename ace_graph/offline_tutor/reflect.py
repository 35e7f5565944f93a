"""The tutor as a reflector: at most one lesson, from the evidence, as an object of the schema asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple, cast

from pydantic import JsonValue

from ace_graph.arithmetic import NoValue
from ace_graph.models.local import JsonSchema
from ace_graph.models.reply import find_json_object
from ace_graph.offline_tutor.advice import method_for
from ace_graph.offline_tutor.number_forms import ADVICE, find_restatement
from ace_graph.offline_tutor.parser import find_problem
from ace_graph.offline_tutor.prompt_reader import Prompt
from ace_graph.offline_tutor.solver import Kind, WorkedSolution, solve

__all__ = ["TutorLesson", "fill", "reflect"]

_VERDICT = re.compile(r"\bverdict\b\W{1,5}(success|failure)\b", re.IGNORECASE)
_TEXT = re.compile(r"\b(?:text|feedback|detail)\b\W{1,5}(.+)", re.IGNORECASE)
_CORRECTED, _CORRECTED_CHARS = "(corrected value: ", 300
_MAX_DEPTH = 8
_MAX_WORDS = 11  # a lesson with twelve consecutive words of the conversation counts as a copy


class TutorLesson(NamedTuple):
    """A reusable sentence, and the topic it is about."""

    content: str
    topic: str


class _Judgement(NamedTuple):
    source: str
    failed: bool
    text: str


def reflect(prompt: Prompt) -> list[TutorLesson]:
    """Return at most one lesson, from the `<evidence>` block of a reflector's prompt."""
    lines = prompt.blocks.get("evidence", "").splitlines()
    judged = next((judgement for line in lines if (judgement := _read(line)) is not None), None)
    if judged is None or not judged.text:
        return []
    problem = find_problem(prompt.blocks.get("question", ""))
    try:
        solution = solve(problem) if problem is not None else None
    except NoValue:
        solution = None
    if solution is None:
        content = _lesson(judged, None)
    else:
        content = _form_lesson(judged, solution, prompt.blocks.get("ground_truth", ""))
        content = content or _lesson(judged, solution.kind)
    return [TutorLesson(content, solution.kind if solution else "conversation")] if content else []


def _form_lesson(judged: _Judgement, solution: WorkedSolution, truth: str) -> str | None:
    """A lesson about the form of results, where the right value is ours in another form."""
    right = {"learner": _corrected(judged.text), "ground_truth": truth}.get(judged.source, "")
    found = find_restatement(right, solution.value) if judged.failed else None
    if found is None or found.written == solution.answer:
        return None
    return f"In {solution.kind.replace('_', ' ')}, {ADVICE[found.form]}."


def _corrected(text: str) -> str:
    """The value that the learner gave instead, '' for none."""
    judgement_text = text.rstrip()
    end = judgement_text[-_CORRECTED_CHARS - len(_CORRECTED) - 1 :]
    _, found, value = end.partition(_CORRECTED)
    return value[:-1] if found and judgement_text.endswith(")") else ""


def _lesson(judged: _Judgement, kind: Kind | None) -> str | None:
    if judged.source in ("ground_truth", "learner"):  # they say that, not why
        return method_for(kind) if kind is not None and not judged.failed else None
    topic = kind.replace("_", " ") if kind is not None else "questions like this"
    reason = " ".join(judged.text.split()[:_MAX_WORDS]).rstrip(".!,;")
    advice = "mind what went wrong" if judged.failed else "keep what worked"
    return f"With {topic}, {advice} before: {reason}."


def _read(line: str) -> _Judgement | None:
    """One judgement: a JSON object with source, verdict and text, or words that name verdict and text."""
    found = find_json_object(line)
    if found is not None:
        source, verdict, text = (found.get(name) or "" for name in ("source", "verdict", "text"))
    else:
        words, reason = _VERDICT.search(line), _TEXT.search(line)
        source = "ground_truth" if "ground_truth" in line else ""
        verdict, text = words[1] if words else "", reason[1].strip() if reason else ""
    outcome = str(verdict).lower()
    if outcome not in ("success", "failure"):
        return None
    return _Judgement(str(source), outcome == "failure", text if isinstance(text, str) else json.dumps(text))


def fill(schema: JsonSchema, lessons: Sequence[TutorLesson]) -> JsonSchema:
    """Return an object for `schema`: `lessons` in its list of that name, the emptiest value elsewhere."""
    filler = _Filler(_as_schema(schema.get("$defs") or schema.get("definitions")))
    wanted = _as_schema(_as_schema(schema.get("properties")).get("lessons"))
    item = filler.resolve(wanted.get("items"))
    filled: list[JsonValue] = [
        filler.object(item, {"section": "strategies", "memory_type": "procedural", **lesson._asdict()})
        if "properties" in item
        else lesson.content
        for lesson in lessons
    ]
    return filler.object(schema, {"lessons": filled})


class _Filler(NamedTuple):
    """Makes values for the parts of one schema, which may refer to its definitions."""

    definitions: JsonSchema

    def resolve(self, schema: JsonValue) -> JsonSchema:
        reference = _as_schema(schema).get("$ref")
        name = reference.rpartition("/")[2] if isinstance(reference, str) else None
        return _as_schema(schema if name is None else self.definitions.get(name))

    def object(self, schema: JsonSchema, values: JsonSchema, depth: int = 0) -> JsonSchema:
        """An object with `values`, where the schema has a place for them, and all that is required."""
        required = cast("list[str]", schema.get("required") or [])
        return {
            name: values[name] if name in values else self._value(part, depth + 1)
            for name, part in _as_schema(schema.get("properties")).items()
            if name in values or name in required
        }

    def _value(self, schema: JsonValue, depth: int) -> JsonValue:
        kind = self.resolve(schema)
        for fixed in ("default", "const"):
            if fixed in kind:
                return kind[fixed]
        choices, options = kind.get("enum"), kind.get("anyOf") or kind.get("oneOf")
        if isinstance(choices, list) and choices:
            return choices[0]
        if isinstance(options, list) and options:
            optional = any(_as_schema(option).get("type") == "null" for option in options)
            return None if optional else self._value(options[0], depth + 1)
        if kind.get("type") == "object" and depth < _MAX_DEPTH:
            return self.object(kind, {}, depth)
        least = _whole(kind.get("minimum"))
        text = "-" * _whole(kind.get("minLength"))
        emptiest: JsonSchema = {
            "string": text,
            "integer": least,
            "number": least,
            "boolean": False,
            "array": [],
        }
        return emptiest.get(str(kind.get("type")))


def _as_schema(value: JsonValue) -> JsonSchema:
    return value if isinstance(value, dict) else {}


def _whole(value: JsonValue) -> int:
    return int(value) if isinstance(value, int | float) else 0
