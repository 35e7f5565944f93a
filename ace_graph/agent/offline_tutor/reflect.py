"""The tutor as a reflector: at most one lesson, from the evidence, as an object of the schema asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from langchain_core.utils.json_schema import dereference_refs
from pydantic import JsonValue

from ace_graph.agent.models.local import JsonSchema
from ace_graph.agent.models.reply import find_json_object
from ace_graph.agent.offline_tutor.parser import find_problem
from ace_graph.agent.offline_tutor.preferences import find_restatement
from ace_graph.agent.offline_tutor.prompt_reader import Prompt
from ace_graph.agent.offline_tutor.solver import WorkedSolution, solve
from ace_graph.agent.offline_tutor.teaching import teaching
from ace_graph.memory.arithmetic import NoValue

_MOST_CHARS = 320
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
    if judged is None:
        return []
    problem = find_problem(prompt.blocks.get("question", ""))
    try:
        solution = solve(problem) if problem is not None else None
    except NoValue:
        solution = None
    content = _form_lesson(judged, solution, prompt) or _lesson(judged, solution)
    return [TutorLesson(content, solution.kind if solution else "conversation")] if content else []


def _form_lesson(judged: _Judgement, solution: WorkedSolution | None, prompt: Prompt) -> str | None:
    """A lesson about the form of results, where the right value is ours in another form."""
    if solution is None or not judged.failed:
        return None
    right = prompt.blocks.get("ground_truth", "") if judged.source == "ground_truth" else ""
    if judged.source == "learner":
        _, corrected, value = judged.text[-_MOST_CHARS:].partition("(corrected value: ")
        right = value[:-1] if corrected and value.endswith(")") else ""
    found = find_restatement(right, solution.value)
    if found is None or found.written == solution.answer:
        return None
    return f"In {solution.kind.replace('_', ' ')}, {teaching().forms[found.form]}."


def _lesson(judged: _Judgement, solution: WorkedSolution | None) -> str | None:
    if judged.source in ("ground_truth", "learner"):  # they say that, not why
        return teaching().methods.get(solution.kind) if solution is not None and not judged.failed else None
    topic = solution.kind.replace("_", " ") if solution is not None else "questions like this"
    reason = " ".join(judged.text.split()[:_MAX_WORDS]).rstrip(".!,;")
    advice = "mind what went wrong" if judged.failed else "keep what worked"
    return f"With {topic}, {advice} before: {reason}."


def _read(line: str) -> _Judgement | None:
    found = find_json_object(line) or {}
    verdict, text = found.get("verdict"), found.get("text")
    if verdict not in ("success", "failure") or not isinstance(text, str) or not text:
        return None
    return _Judgement(str(found.get("source")), verdict == "failure", text)


def fill(schema: JsonSchema, lessons: Sequence[TutorLesson]) -> JsonSchema:
    """Return an object for `schema`: `lessons` in its list of that name, the emptiest value elsewhere."""
    wanted = dereference_refs(schema)
    match wanted:
        case {"properties": {"lessons": {"items": {"properties": dict()} as item}}}:
            common: JsonSchema = {"section": "strategies", "memory_type": "procedural"}
            filled: list[JsonValue] = [_object(item, common | lesson._asdict()) for lesson in lessons]
        case _:
            filled = [lesson.content for lesson in lessons]
    return _object(wanted, {"lessons": filled})


def _object(schema: JsonSchema, values: JsonSchema) -> JsonSchema:
    """An object with `values`, where the schema has a place for them, and all that is required."""
    required = cast("list[str]", schema.get("required") or [])
    return {
        name: values[name] if name in values else _emptiest(part)
        for name, part in cast("JsonSchema", schema.get("properties") or {}).items()
        if name in values or name in required
    }


def _emptiest(schema: JsonValue) -> JsonValue:
    match schema:
        case {"default": value} | {"const": value} | {"enum": [value, *_]}:
            return value
        case {"anyOf": [first, *others]} | {"oneOf": [first, *others]}:
            return None if {"type": "null"} in (first, *others) else _emptiest(first)
        case {"type": "object"}:
            return _object(cast("JsonSchema", schema), {})
        case {"type": "string", **limits}:
            return "-" * cast("int", limits.get("minLength", 0))
        case {"type": "integer" | "number", **limits}:
            return cast("int | float", limits.get("minimum", 0))
        case {"type": "boolean"}:
            return False
        case {"type": "array"}:
            return []
        case _:
            return None
