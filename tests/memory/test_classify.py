"""Topics and memory types by rules."""

from __future__ import annotations

import pytest

from ace_graph.memory import infer_memory_type, infer_topic


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("I keep messing up 1/2 + 1/3", "fraction_addition"),
        ("add 1/2 + 1/3", "fraction_addition"),
        ("help me add ½ and ⅓", "fraction_addition"),
        ("How do I subtract fractions?", "fraction_subtraction"),
        ("3/4 times 2/5", "fraction_multiplication"),
        ("dividing a fraction by a fraction", "fraction_division"),
        ("is 1/3 bigger than 1/4?", "fraction_comparison"),
        ("what does the numerator mean", "fractions"),
        ("decimals", "decimals"),
        ("0.3 + 0.25", "decimals"),
        ("50%", "percentages"),
        ("solve 2x + 3 = 7", "equations"),
        ("what is 12*5", "multiplication"),
        ("and/or", None),
        ("the shop is open 24/7", None),
        ("on 1/2/2025", None),
        ("120 km/h", None),
        ("hello", None),
        ("", None),
    ],
)
def test_the_topic_of_a_question(text: str, topic: str | None) -> None:
    assert infer_topic(text) == topic


@pytest.mark.parametrize(
    ("text", "memory_type"),
    [
        ("Convert the fraction first", "procedural"),
        ("Step 1: convert to a common denominator", "procedural"),
        ("Always look at the specification before a call", "procedural"),
        ("Before reading files, list the directory", "procedural"),
        ("Don't add the denominators", "procedural"),
        ("Student prefers pictures", "episodic"),
        ("Common mistake: adding tops", "episodic"),
        ("I prefer short answers", "episodic"),
        ("The LCM of 2 and 3 is 6", "semantic"),
        ("Read-only files can't be written", "semantic"),
    ],
)
def test_the_memory_type_of_a_lesson(text: str, memory_type: str) -> None:
    assert infer_memory_type(text) == memory_type


def test_an_unknown_verb_is_no_instruction() -> None:
    assert infer_memory_type("restate the answer") != "procedural"


@pytest.mark.parametrize(
    "text",
    [
        "to " * 20_000,
        "first " * 9_000,
        "when " * 9_000,
        "x" + " " * 40_000 + "=",
        "1." * 20_000,
        "\ud800" * 99,
    ],
)
def test_an_adversarial_text_matches_no_rule(text: str) -> None:
    assert infer_memory_type(text) == "semantic"
    assert infer_topic(text) is None
