"""Near-duplicates: what may merge, and what never may."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.memory import Bullet
from ace_graph.memory.similarity import mergeable_scope
from ace_graph.memory.similarity.compare import compare
from tests.memory.similarity.near_duplicates import LESSONS, SAME
from tests.memory.similarity.other_claims import APART
from tests.plugins.sizes import HEAVY

OLD = datetime(2025, 1, 1, tzinfo=UTC)
NEW = datetime(2025, 2, 1, tzinfo=UTC)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def bullet(content: str, key: str = "str-00001", **fields: object) -> Bullet:
    return Bullet.model_validate({"id": key, "section": "strategies", "content": content, **fields})


def outcome(a: str, b: str) -> str:
    return compare(bullet(a), bullet(b, "str-00002"), 0.9).outcome


@pytest.mark.parametrize(("name", "share"), [("format", 1), ("order", 1), ("filler", 0.95), ("typo", 0.95)])
def test_pairs_that_say_the_same_merge(name: str, share: float) -> None:
    missed = [pair for pair in SAME[name] if outcome(*pair) != "same"]
    assert len(missed) <= (1 - share) * len(SAME[name]), missed


@pytest.mark.parametrize(
    ("name", "pair"), [(name, pair) for name, pairs in APART.items() for pair in pairs], ids=str
)
def test_pairs_that_say_something_else_never_merge(name: str, pair: tuple[str, str]) -> None:
    assert outcome(*pair) != "same"


@pytest.mark.parametrize(
    ("duty", "other"),
    [
        ("The report must be signed by both owners", "The report can be signed by both owners"),
        ("You need to close the valve before the test", "You can close the valve before the test"),
        (
            "The nurse checked the dose before the shift",
            "The nurse should have checked the dose before the shift",
        ),
        ("The bridge was closed at noon", "The bridge could have been closed at noon"),
    ],
)
def test_a_duty_a_choice_and_what_did_not_happen_stay_apart(duty: str, other: str) -> None:
    assert outcome(duty, other) == outcome(other, duty) == "different"
    assert outcome(duty, f"Please note: {duty}") == "same"


def test_advice_in_other_forms_of_one_mode_merges() -> None:
    assert outcome("You must sign the report twice", "You need to sign the report twice") == "same"
    assert outcome("You should simplify the fraction first", "Simplify the fraction first") == "same"


def test_the_outcome_does_not_depend_on_the_order_of_the_two() -> None:
    pairs = [pair for group in (SAME, APART) for pairs in group.values() for pair in pairs]
    assert [pair for pair in pairs if outcome(*pair) != outcome(*reversed(pair))] == []


def test_different_lessons_are_different() -> None:
    pairs = [(a, b) for a in LESSONS for b in LESSONS if a < b]
    assert [pair for pair in pairs if outcome(*pair) != "different"] == []


@given(st.sampled_from(LESSONS), st.integers(2, 9_999), st.integers(2, 9_999))
@settings(max_examples=60 if HEAVY else 20)
def test_another_number_never_merges(lesson: str, a: int, b: int) -> None:
    same = outcome(f"{lesson}, at most {a} times", f"{lesson}, at most {b} times") == "same"
    assert same == (a == b)


@given(st.text(min_size=1, max_size=80).filter(lambda text: bool(bullet_or_none(text))))
@settings(max_examples=60 if HEAVY else 20)
def test_a_text_says_the_same_as_itself(text: str) -> None:
    assert outcome(text, text) == "same"


def bullet_or_none(text: str) -> Bullet | None:
    try:
        return bullet(text)
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("a", "b", "guard"),
    [
        ("Round to 2 decimal places", "Round to 3 decimal places", "number"),
        ("Wait 30 seconds before a call", "Wait 30 minutes before a call", "unit"),
        ("Always retry on a server error", "Never retry on a server error", "negation"),
        ("Increase the timeout for slow services", "Decrease the timeout for slow services", "antonym"),
        ("Check the balance before the payment", "Check the balance after the payment", "direction"),
        ("The capital of Australia is Sydney", "The capital of Australia is Canberra", "words"),
        ("The LCM of 4 and 6 is 12", "The LCM of 4 and 6 is 24", "number"),
        ("The dog chases the cat", "The cat chases the dog", "order"),
        (
            "Change money at a bank rather than at a hotel",
            "Change money at a hotel rather than at a bank",
            "direction",
        ),
    ],
)
def test_another_claim_about_the_same_subject_is_a_rival(a: str, b: str, guard: str) -> None:
    comparison = compare(bullet(a), bullet(b), 0.9)
    assert (comparison.outcome, comparison.guard) == ("rival", guard)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The LCM of 4 and 6 is 12", "The LCM of 4 and 8 is 8"),
        ("Error 404 means that the page is missing", "Error 410 means that the page is missing"),
        ("Convert meters to feet in the report", "Convert feet to meters in the report"),
        ("The numerator is the top number", "The denominator is the bottom number"),
        ("Use a number line for fractions", "Use a pie chart for fractions"),
        ("A convex mirror shrinks the image", "A concave mirror shrinks the image"),
        ("To read a file use the stream", "To write a file use the stream"),
        ("An unsigned 8-bit number is below 256", "An unsigned 16-bit number is below 65536"),
    ],
)
def test_a_similar_claim_about_another_subject_is_no_rival(a: str, b: str) -> None:
    assert compare(bullet(a), bullet(b), 0.9).outcome == "different"


def test_rules_on_two_topics_are_no_rivals() -> None:
    money = bullet("Round to 2 decimal places", topic="money")
    physics = bullet("Round to 3 decimal places", topic="physics")
    assert compare(money, physics, 0.9).outcome == "different"


def test_two_values_of_one_slot_are_rivals_whatever_their_words() -> None:
    anna = bullet("Call me Anna", slot="name")
    doctor = bullet("The learner's title is Doctor Weber", slot="name")
    assert compare(anna, doctor, 0.9).outcome == "rival"


def test_a_threshold_of_one_keeps_typos_apart() -> None:
    a, b = bullet("Simplify the result at the end"), bullet("Simplfy the result at the end")
    assert compare(a, b, 0.9).outcome == "same"
    assert compare(a, b, 1.0).outcome == "different"


@pytest.mark.parametrize(
    ("fields", "mergeable"),
    [
        ({}, True),
        ({"memory_type": "episodic"}, True),
        ({"polarity": "anti_pattern"}, False),
        ({"topic": "fractions"}, True),
        ({"section": "other"}, True),
        ({"section": "preferences"}, False),
        ({"slot": "name"}, False),
        ({"status": "quarantined"}, False),
    ],
)
def test_the_scope_of_a_merge(fields: dict[str, str], mergeable: bool) -> None:
    assert mergeable_scope(bullet("x"), bullet("x", **fields)) is mergeable
    assert mergeable_scope(bullet("x", **fields), bullet("x")) is mergeable


def test_types_that_somebody_stated_keep_two_bullets_apart() -> None:
    claim = "Wash the cups before the meeting"
    instruction, passive = bullet(claim), bullet("The cups are washed before the meeting")
    inferred = instruction.model_copy(update={"memory_type": "procedural"})
    assert mergeable_scope(inferred, passive)
    assert mergeable_scope(bullet(claim, memory_type="semantic"), inferred)
    assert not mergeable_scope(bullet(claim, memory_type="semantic"), bullet(claim, memory_type="episodic"))


def test_two_topics_do_not_merge() -> None:
    assert not mergeable_scope(bullet("x", topic="a"), bullet("x", topic="b"))
    assert mergeable_scope(bullet("x", topic="A"), bullet("x", topic="a"))


def _calls(words: int) -> int:
    """How many calls it takes to compare two texts of so many words, of which a part is the same."""
    chance, counted = Random(words), 0
    a, b = (" ".join(f"word{chance.randrange(words)}x" for _ in range(words)) for _ in range(2))

    def count(_: object, event: str, __: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        outcome(a, b)
    finally:
        sys.setprofile(None)
    return counted


def test_the_work_grows_with_the_length_of_the_texts_not_its_square() -> None:
    _calls(20)  # reads the tables
    assert _calls(160) < 2.5 * _calls(80)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Never give aspirin to a small child", "Rarely give aspirin to a small child"),
        ("He rarely calls his brother", "He calls his brother"),
        ("Gib dem Hund nie Schokolade", "Gib dem Hund selten Schokolade"),
        ("Our train was late in Geneva", "Their train was late in Geneva"),
        ("My sister likes green tea", "Her sister likes green tea"),
    ],
)
def test_seldom_is_not_never_and_what_is_ours_is_not_theirs(one: str, other: str) -> None:
    assert outcome(one, other) != "same"
    assert outcome(other, one) != "same"
