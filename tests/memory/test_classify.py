"""Topics and memory types by rules."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ace_graph.memory import infer_memory_type, infer_topic
from ace_graph.memory.delta import Add
from tests.memory.store_scenario import Life

TYPES = Path(__file__).with_name("memory_types.tsv")
"""Instructions and other texts of ten languages, of which every second one is held out."""


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


@pytest.mark.parametrize(("part", "instructions", "others"), [("tuning", 45, 49), ("held-out", 45, 46)])
def test_an_imperative_of_ten_languages_is_a_procedure(part: str, instructions: int, others: int) -> None:
    table = csv.DictReader(TYPES.read_text(encoding="utf-8").splitlines(), delimiter="\t")
    rows = [row for row in table if row["part"] == part]
    right = [
        row["type"]
        for row in rows
        if (infer_memory_type(row["text"]) == "procedural") == (row["type"] != "other")
    ]
    assert (len(rows), len({row["language"] for row in rows})) == (98, 10)
    assert right.count("procedural") >= instructions
    assert right.count("other") >= others


@pytest.mark.parametrize(
    ("instruction", "other"),
    [
        ("Restate the answer", "Restatement of the answer"),
        ("Restart the server", "Is the server running?"),
        ("Refactor the parser", "Parser the refactor"),
        ("Prune branches on Fridays", "Water boils at 100 degrees"),
        ("To add fractions, find a common denominator", "The addition of fractions is easy"),
        ("You should wash the cups", "You are right"),
    ],
)
def test_a_form_makes_an_instruction_and_no_list_of_verbs(instruction: str, other: str) -> None:
    assert infer_memory_type(instruction) == "procedural"
    assert infer_memory_type(other) != "procedural"


@pytest.mark.parametrize(
    "other", ["The cups should be washed before the meeting", "Before the meeting, the cups must be washed"]
)
def test_the_same_claim_merges_whatever_type_its_words_have(other: str) -> None:
    life = Life()
    life.does(Add(content="Wash the cups before the meeting"))
    life.does(Add(content=other))
    (bullet,) = life.playbook.entries.values()
    assert (bullet.memory_type, bullet.seen) == ("procedural", 2)


def test_a_stated_type_takes_the_place_of_an_inferred_one() -> None:
    said = "Wash the cups before the meeting"
    life = Life()
    life.does(Add(content=said))
    life.does(Add(content=said, memory_type="semantic"))
    (bullet,) = life.playbook.entries.values()
    assert bullet.memory_type == "semantic"


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
