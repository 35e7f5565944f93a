"""Retrieval: asks all questions in all ways and writes RESULTS_RETRIEVAL.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path

from langchain_core.embeddings import Embeddings

from benchmarks.quality.retrieval.cases import Case, foreign_cases, read_cases, united
from benchmarks.quality.retrieval.methods import WAYS, Way, semantic_ways
from benchmarks.quality.retrieval.metrics import Answered, answer

__all__ = ["RESULTS", "report"]

RESULTS = Path(__file__).parents[1] / "RESULTS_RETRIEVAL.md"
_COLUMNS = (
    "way",
    "recall@10",
    "of short English questions",
    "of chatty ones",
    "in other languages",
    "right bullet first",
    "tokens a prompt",
    "others injected",
    "injected where nothing is to be found",
    "such questions that get any",
)
_NO_MODEL = "No embeddings were given (`--embeddings provider:model`), so nothing was retrieved by meaning."


def report(embeddings: Embeddings | None = None, data: Path | None = None) -> str:
    """Return the tables in Markdown; `data` is a folder with playbooks to make another set of."""
    ways = {**WAYS, **(semantic_ways(embeddings) if embeddings else {})}
    cases = read_cases()
    told = [
        _told("Written for this project, each learner's own playbook", cases, ways),
        _told("All of it in one playbook", [united(cases)], ways),
    ]
    told.extend(_told(f"Made of {case.name}", [case], ways) for case in (foreign_cases(data) if data else ()))
    told.append(_NO_MODEL if embeddings is None else f"Embeddings: {type(embeddings).__name__}.")
    return "\n\n".join(told)


def _told(title: str, cases: Sequence[Case], ways: Mapping[str, Way]) -> str:
    bullets = sum(len(case.playbook.entries) for case in cases)
    asked = [question for case in cases for question in case.questions]
    nothing = sum(not question.relevant for question in asked)
    answered = {name: answer(cases, way) for name, way in ways.items()}
    lines = [
        f"### {title}",
        "",
        f"{bullets} bullets in {len(cases)} playbooks, {len(asked) - nothing} questions with an answer, "
        f"{nothing} without.",
        "",
        f"| {' | '.join(_COLUMNS)} |",
        f"| --- | {' | '.join('--:' for _ in _COLUMNS[1:])} |",
        *(f"| {name} | {' | '.join(_row(found))} |" for name, found in answered.items()),
    ]
    return "\n".join(lines)


def _row(found: Answered) -> list[str]:
    wrongly = found.wrongly()
    recalls = (
        found.recall(),
        found.recall(lambda question: not (question.foreign or question.chatty)),
        found.recall(lambda question: question.chatty and not question.foreign),
        found.recall(lambda question: question.foreign),
    )
    return [
        *("-" if isnan(recall) else f"{recall:.3f}" for recall in recalls),
        f"{found.first():.3f}",
        f"{found.tokens():.0f}",
        f"{found.unrelated():.2f}",
        *(("-", "-") if wrongly is None else (f"{wrongly[0]:.2f}", f"{wrongly[1]:.3f}")),
    ]
