"""What learners say about an answer in ten languages, as a table of messages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from ace_graph.learning import doubts, read_feedback
from ace_graph.memory.languages import languages

ANSWER = "1/2 + 1/3 = 2/5."
VERDICTS = {"-": "failure", "+": "success", "~": "partial", ".": None}


class Row(NamedTuple):
    language: str
    message: str
    verdict: str | None
    correction: str | None


def rows() -> list[Row]:
    lines = (Path(__file__).parent / "feedback.tsv").read_text("utf-8").splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    return [
        Row(language, message.replace("\\n", "\n"), VERDICTS[verdict], correction or None)
        for language, message, verdict, correction in cells
    ]


@pytest.mark.parametrize("language", [*languages("feedback"), "mixed"])
def test_messages_of_a_language_are_read_as_the_table_says(language: str) -> None:
    wrong = list[str]()
    for row in rows():
        if row.language == language:
            found = read_feedback(row.message, ANSWER)
            read = (found.verdict, found.correction) if found else (None, None)
            if read != (row.verdict, row.correction):
                wrong.append(f"{row.message}: {read}")
    assert wrong == []


def test_every_language_has_twenty_messages_and_all_verdicts() -> None:
    found = rows()
    counts = Counter(row.language for row in found)
    assert min(counts[language] for language in languages("feedback")) > 20
    for language in languages("feedback"):
        assert {row.verdict for row in found if row.language == language} == set(VERDICTS.values())


def test_a_no_that_answers_a_question_is_no_feedback_in_any_language() -> None:
    asked = "Das Ergebnis ist 5/6. Möchtest du noch eine Aufgabe?"
    for message in ("Nein, es ist spät.", "Non, c'est trop tard.", "No, es tarde.", "不，是周末。"):
        assert read_feedback(message, asked) is None
    failed = read_feedback("Das ist falsch, es ist 7.", asked)
    assert failed is not None
    assert failed.correction == "7"


@pytest.mark.parametrize(
    "message",
    [
        "Are you sure?",
        "Bist du sicher?",
        "Stimmt das?",
        "Tu es sûr ?",
        "¿Estás seguro?",
        "Tem certeza?",
        "Sei sicuro?",
        "Weet je het zeker?",
        "Ты уверен?",
        "你确定吗？",
        "对吗",
        "本当ですか？",
    ],
)
def test_a_doubt_is_understood_in_ten_languages(message: str) -> None:
    assert doubts(message)
    assert read_feedback(message, ANSWER) is None


@pytest.mark.parametrize("message", ["Bist du müde?", "¿Estás seguro de que llueve?", "Sicher.", "你是谁？"])
def test_another_question_doubts_nothing(message: str) -> None:
    assert not doubts(message)
