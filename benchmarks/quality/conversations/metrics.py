"""What a way of retrieval finds of a conversation's facts, what it costs, and what it shows for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from benchmarks.quality.conversations.conversation import Conversation, Kind, as_case
from benchmarks.quality.retrieval.cases import Case, Question
from benchmarks.quality.retrieval.methods import Shown, Way

__all__ = ["Answered", "Row", "answer"]


@dataclass(frozen=True)
class Row:
    """A question, the bullets that answer it, and what was shown."""

    language: str
    kind: Kind
    relevant: frozenset[str]
    shown: Shown


@dataclass(frozen=True)
class Answered:
    """All questions of some conversations, answered in one way."""

    rows: Sequence[Row]

    def recall(self, first: int, keep: Callable[[Row], bool] = lambda row: True) -> float:
        """Return the mean share of a question's facts among the first bullets shown; nan where none asks."""
        found = [
            len(row.relevant.intersection(row.shown.ids[:first])) / len(row.relevant)
            for row in self.rows
            if row.relevant and keep(row)
        ]
        return mean(found) if found else float("nan")

    def tokens(self) -> float:
        """Return the mean tokens of bullets for a question that has an answer."""
        return _mean(row.shown.tokens for row in self.rows if row.relevant)

    def for_nothing(self, kind: Kind) -> tuple[float, float]:
        """Return the mean tokens for questions of this kind, and the share that gets any."""
        shown = [row.shown for row in self.rows if row.kind == kind]
        return _mean(one.tokens for one in shown), _mean(bool(one.ids) for one in shown)


def answer(conversations: Sequence[Conversation], way: Way, *, turns: bool = False) -> Answered:
    """Return what `way` shows for all questions, of the facts or of the `turns` themselves.

    Each learner is also asked what the others of the same language are asked, as questions of somebody else.
    """
    rows = list[Row]()
    for conversation in conversations:
        case = as_case(conversation, turns=turns)
        for asked, question in zip(conversation.questions, case.questions, strict=True):
            rows.append(Row(conversation.language, asked.kind, question.relevant, way(case, question)))
        rows.extend(_of_others(conversation, conversations, case, way))
    return Answered(rows)


def _of_others(
    conversation: Conversation, conversations: Iterable[Conversation], case: Case, way: Way
) -> Iterable[Row]:
    for other in conversations:
        if other is not conversation and other.language == conversation.language:
            for asked in other.questions:
                if asked.evidence:
                    shown = way(case, Question(asked.text, frozenset()))
                    yield Row(conversation.language, "other", frozenset(), shown)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return mean(found) if found else 0.0
