"""Lessons without a subject are known in ten languages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ace_graph.learning import is_platitude
from ace_graph.memory.languages import languages


def _rows() -> list[tuple[str, str, str]]:
    lines = (Path(__file__).parent / "platitudes.tsv").read_text("utf-8").splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    return [(language, mark, text) for language, mark, text in cells]


@pytest.mark.parametrize("language", languages("platitudes"))
def test_lessons_without_a_subject_are_those_of_the_table(language: str) -> None:
    rows = [(mark, text) for spoken, mark, text in _rows() if spoken == language]
    assert [text for mark, text in rows if is_platitude(text) != (mark == "!")] == []
    counts = Counter(mark for mark, _ in rows)
    assert counts["!"] >= 2
    assert counts["."] >= 2


def test_a_lesson_in_a_language_that_no_table_knows_is_kept() -> None:
    assert not is_platitude("Suriin palagi ang sagot bago ibigay.")
    assert not is_platitude("बिना जाँचे उत्तर मत दो।")
    assert is_platitude("👍👍")
