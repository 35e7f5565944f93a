"""Meaning in the gate, the rank and the cutoff, with similarities that are given."""

from __future__ import annotations

import pytest

from tests.memory.retrieval.queries import ask, bullet, ids

QUESTION = "Which quadrilateral fits the sphinx?"
"""It shares no word with any of the bullets."""

WORDS = (
    *("apples", "boats", "cellars", "doors", "engines", "forests"),
    *("gloves", "harbours", "islands", "jackets", "kettles", "ladders"),
)
BULLETS = [bullet(f"b{n:02d}", f"Sentence {n} about {word}") for n, word in enumerate(WORDS)]


def _near(**similar: float) -> list[str]:
    return ids(ask(BULLETS, QUESTION, semantic=similar))


def test_a_bullet_that_is_near_enough_is_shown() -> None:
    assert _near(b00=0.38, b01=0.37) == ["b00", "b01"]


def test_without_a_near_bullet_nothing_is_shown() -> None:
    assert _near(b00=0.36, b01=0.3) == []


def test_a_bullet_that_is_clearly_nearest_is_shown() -> None:
    assert _near(b00=0.26, b01=0.13) == ["b00"]
    assert _near(b00=0.24, b01=0.01) == []


def test_words_and_meaning_open_the_gate_together() -> None:
    question = "Which sphinx guards the harbours of the pharaoh in the desert oasis?"
    assert ids(ask(BULLETS, question, semantic={"b07": 0.1, "b00": 0.09})) == []
    assert ids(ask(BULLETS, question, semantic={"b07": 0.34, "b00": 0.33}))[0] == "b07"


@pytest.mark.parametrize(("nearest", "second", "shown"), [(0.38, 0.2, 1), (0.9, 0.2, 2)])
def test_a_gate_that_is_barely_open_lets_little_through(nearest: float, second: float, shown: int) -> None:
    assert len(_near(b00=nearest, b01=second)) == shown


def test_at_most_ten_lines_are_filled() -> None:
    found = _near(**{f"b{n:02d}": 0.8 - n / 100 for n in range(12)})
    assert found == [f"b{n:02d}" for n in range(10)]


def test_quarantined_and_unknown_ids_are_not_shown() -> None:
    held = bullet("held", "Sentence of old", status="quarantined")
    assert ids(ask([held, *BULLETS], QUESTION, semantic={"held": 0.9, "gone": 0.95, "b00": 0.5})) == ["b00"]


def test_a_greeting_opens_no_gate() -> None:
    bullets = [*BULLETS, bullet("early", "Practise in the morning")]
    assert ids(ask(bullets, f"Good morning! {QUESTION}", semantic={"early": 0.15, "b00": 0.1})) == []
