"""Orders to the assistant and requests for secrets are kept back in ten languages; lessons near them not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ace_graph.memory.languages import languages
from ace_graph.memory.screening.screen import screen


def _rows() -> list[tuple[str, str, str]]:
    lines = (Path(__file__).parent / "orders.tsv").read_text("utf-8").splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    return [(language, mark, text) for language, mark, text in cells]


@pytest.mark.parametrize("language", languages("persons"))
def test_what_is_kept_back_is_what_the_table_says(language: str) -> None:
    wrong = [
        text
        for spoken, mark, text in _rows()
        if spoken == language and (screen(text) is None) == (mark == "!")
    ]
    assert wrong == []


def test_every_language_has_attacks_and_lessons() -> None:
    counts = Counter((language, mark) for language, mark, _ in _rows())
    assert all(counts[each, "!"] >= 5 and counts[each, "."] >= 4 for each in languages("persons"))


@pytest.mark.parametrize("text", ["👍🏽", "🙂" * 2_000, "", "Tama ba ang sagot na ito?", "ꦲꦏ꧀ꦱꦫ ꦗꦮ"])
def test_what_no_table_knows_is_left_alone(text: str) -> None:
    assert screen(text) is None
