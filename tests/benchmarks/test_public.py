"""Public test sets as a command: a made-up file in the published form, and what is wrong with others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.public.fact_consolidation import ask_all, read_facts
from benchmarks.public.rewording import reworded

FACTS = (
    "Jonas Brandt works in the city of Kiel.",
    "The keeper of Skagen lighthouse is Jonas Brandt.",
    "Greta Lund works in the city of Aarhus.",
    "Jonas Brandt works in the city of Lisbon.",
    *(f"The colour of wagon {n} is shade{n}." for n in range(40)),
)
QUESTIONS = {
    "In which city does Jonas Brandt work?": ["Lisbon"],
    "In which city does the keeper of Skagen lighthouse work?": ["Lisbon"],
    "In which city does Olga Petrova work?": ["Odessa"],
}


@pytest.fixture
def published(tmp_path: Path) -> Path:
    numbered = "\n".join(f"{n}. {fact}" for n, fact in enumerate(FACTS))
    held = {
        "context": f"Here is a list of facts:\n{numbered}",
        "questions": [*QUESTIONS],
        "answers": [*QUESTIONS.values()],
    }
    file = tmp_path / "facts.json"
    file.write_text(json.dumps(held), encoding="utf-8")
    return file


async def test_prompts_are_judged_by_the_newest_value(published: Path) -> None:
    one, chain, unknown = await ask_all(read_facts(published))
    assert (one.found, one.first, one.outdated) == (True, True, False)
    assert (chain.found, chain.first) == (True, False)
    assert not unknown.found


def test_reworded_facts_keep_subject_and_value_and_their_order(published: Path) -> None:
    facts = ["The capital of Orsa is Belm.", "Orsa was founded by Vera Holt.", "Wagons squeak."]
    told = {tuple(reworded(facts, seed)) for seed in range(40)}
    assert {capital for capital, _, _ in told} == {
        facts[0],
        "Orsa's capital is Belm.",
        "Belm is the capital of Orsa.",
    }
    assert all("Vera Holt" in founder and "Orsa" in founder for _, founder, _ in told)
    assert {last for _, _, last in told} == {"Wagons squeak."}
    held = read_facts(published, 1)
    assert held.facts == reworded(held.published, 1)
    assert held.facts != held.published


async def test_a_value_that_was_replaced_in_other_words_is_not_shown_as_true(tmp_path: Path) -> None:
    told = ("The capital of Orsa is Belm.", "The capital of Orsa is Kiel.")
    held = {
        "context": "\n".join(f"{n}. {fact}" for n, fact in enumerate(told)),
        "questions": ["What is the capital of Orsa?"],
        "answers": [["Kiel"]],
    }
    file = tmp_path / "facts.json"
    file.write_text(json.dumps(held), encoding="utf-8")
    for seed in range(6):
        [asked] = await ask_all(read_facts(file, seed))
        assert (asked.first, asked.outdated, asked.lines) == (True, False, 1), seed


def test_the_command_prints_a_row_for_each_file(published: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.public", "fact-consolidation", "--data", str(published)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "facts" in printed
    assert "0.67" in printed, "two of three are found"


@pytest.mark.parametrize("text", ["[]", "{}", "no JSON", '{"context": "", "questions": [], "answers": []}'])
def test_a_file_of_another_shape_is_refused_by_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"other\.json"):
        read_facts(file)
