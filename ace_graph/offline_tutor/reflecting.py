"""The tutor as a reflector: a lesson only where there is evidence, and nothing but what it shows.

Does not: judge the answer itself, or make up advice.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from pydantic import JsonValue

from ace_graph.models.reply import find_json_object
from ace_graph.offline_tutor.expression import Refusal
from ace_graph.offline_tutor.forms import ADVICE, restated
from ace_graph.offline_tutor.reading import block
from ace_graph.offline_tutor.solving import Kind, Solution, solve
from ace_graph.offline_tutor.wording import find_problem

__all__ = ["Lesson", "reflect"]

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
    if found is None or solution is None or found[1] == solution.answer:
        return None
    return f"In {solution.kind.replace('_', ' ')}, {ADVICE[found[0]]}."


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
    solution = solve(problem) if problem is not None else None
    return None if solution is None or isinstance(solution, Refusal) else solution
