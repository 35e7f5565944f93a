"""What a way of retrieving finds, what it costs, and what it injects that nobody asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from benchmarks.quality.retrieval.cases import Case, Question
from benchmarks.quality.retrieval.methods import TOP, Shown, Way

__all__ = ["Answered", "answer"]


@dataclass(frozen=True)
class Answered:
    """The questions of some cases and what one way showed for each."""

    rows: Sequence[tuple[Case, Question, Shown]]

    def recall(self, keep: Callable[[Question], bool] = lambda question: True) -> float:
        """Return the mean share of a question's bullets among the first ten shown; nan where none asks."""
        found = [
            len(question.relevant.intersection(shown.ids[:TOP])) / len(question.relevant)
            for _, question, shown in self.rows
            if question.relevant and keep(question)
        ]
        return mean(found) if found else float("nan")

    def first(self) -> float:
        """Return the share of questions whose first bullet answers them."""
        found = [shown.ids[:1] for _, question, shown in self.rows if question.relevant]
        asked = [question.relevant for _, question, _ in self.rows if question.relevant]
        return mean(bool(r.intersection(ids)) for r, ids in zip(asked, found, strict=True)) if asked else 0.0

    def unrelated(self) -> float:
        """Return how many bullets that do not answer it a question with an answer gets."""
        return _mean(len(set(s.ids) - q.relevant) for _, q, s in self.rows if q.relevant)

    def tokens(self) -> float:
        """Return the mean tokens of bullets in a prompt whose question has an answer."""
        return _mean(shown.tokens for _, question, shown in self.rows if question.relevant)

    def wrongly(self) -> tuple[float, float] | None:
        """Return for questions with nothing to find: bullets injected, and the share that gets any."""
        counts = [len(shown.ids) for _, question, shown in self.rows if not question.relevant]
        return (mean(counts), mean(map(bool, counts))) if counts else None


def answer(cases: Iterable[Case], way: Way) -> Answered:
    """Return what `way` shows for every question of `cases`."""
    return Answered([(case, question, way(case, question)) for case in cases for question in case.questions])


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return mean(found) if found else 0.0
