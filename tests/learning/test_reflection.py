"""A reflection: its six parts, and which copies are seen."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ace_graph.learning import BulletVerdict, Curation, Lesson, Reflection, copies, says_nothing

SAID = "one two three four five six seven eight nine ten eleven twelve thirteen"


def test_twelve_consecutive_words_are_a_copy_and_eleven_are_not() -> None:
    words = SAID.split()
    assert copies(f"so {' '.join(words[:12])} it is", [SAID])
    assert not copies(f"so {' '.join(words[:11])} it is", [SAID])


def test_the_six_parts_and_the_lessons_are_read() -> None:
    reply = """{
        "reasoning": "The tops and the bottoms were added.",
        "error_identification": "2/5 instead of 5/6",
        "root_cause_analysis": "the bottoms were taken for counts",
        "correct_approach": "one denominator first",
        "key_insight": "bottoms are sizes",
        "bullet_tags": [{"id": "mat-00001", "tag": "harmful"}, {"id": "mat-00002", "tag": "neutral"}],
        "lessons": [{"content": "Give both one denominator", "memory_type": "procedural"}, "Draw it"]
    }"""
    read = Reflection.model_validate_json(reply)
    assert (read.reasoning, read.error_identification, read.root_cause_analysis) == (
        "The tops and the bottoms were added.",
        "2/5 instead of 5/6",
        "the bottoms were taken for counts",
    )
    assert (read.correct_approach, read.key_insight) == ("one denominator first", "bottoms are sizes")
    assert read.bullet_tags == [
        BulletVerdict(id="mat-00001", tag="harmful"),
        BulletVerdict(id="mat-00002", tag="neutral"),
    ]
    assert read.lessons == [
        Lesson(content="Give both one denominator", memory_type="procedural"),
        Lesson(content="Draw it"),
    ]
    assert read.dropped == ()


def test_what_a_model_leaves_out_is_empty_but_lessons_must_be_there() -> None:
    read = Reflection.model_validate_json('{"lessons": [], "key_insight": null}')
    assert (read.key_insight, read.reasoning, read.bullet_tags) == ("", "", [])
    with pytest.raises(ValidationError, match="lessons"):
        Reflection.model_validate_json('{"reasoning": "cut before its lessons"}')


def test_more_than_ten_lessons_are_too_many_and_reported() -> None:
    read = Reflection.model_validate({"lessons": [f"lesson {n}" for n in range(12)]})
    assert len(read.lessons) == 10
    assert len(read.dropped) == 2


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        (f"They said {SAID}", True),
        (SAID.upper().replace(" ", ", "), True),
        ("two three four five six seven eight nine ten eleven twelve", False),
        ("What is 1/2 + 1/3", True),
        ("What is 1/2 + 1/3 about", False),
        ("", False),
    ],
)
def test_twelve_words_in_a_row_or_the_whole_text_are_a_copy(text: str, copied: bool) -> None:
    assert copies(text, [SAID, "what is 1/2 + 1/3?"]) == copied


@pytest.mark.parametrize(
    ("text", "empty"), [("", True), (" \n", True), ("…?!", True), ("5/6", False), ("通分", False)]
)
def test_a_text_without_a_word_says_nothing(text: str, empty: bool) -> None:
    assert says_nothing(text) == empty


def test_the_schema_describes_only_the_models_task() -> None:
    schema = Reflection.model_json_schema()
    descriptions = {schema["description"], *(each["description"] for each in schema["$defs"].values())}
    assert descriptions == {
        "What the turn teaches, if anything.",
        "Whether a playbook item that was used helped or harmed.",
        "What the learner says about themselves; `quote` is an exact part of the question.",
        "What is worth knowing next time, in one sentence. `section` and `topic` are short words.",
    }
    assert "dropped" not in schema["properties"]


def test_the_curator_schema_describes_only_its_task() -> None:
    schema = Curation.model_json_schema()
    descriptions = {schema["description"], *(each["description"] for each in schema["$defs"].values())}
    assert descriptions == {
        "One decision for every lesson, a few proposed changes of items, and one sentence on why.",
        "What a new lesson means for the playbook; give exactly one for every lesson. Lessons count from 1.",
        "What an item did for this answer.",
        "Items that say the same.",
        "An item that has been more harmful than helpful.",
    }
