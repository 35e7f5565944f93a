"""Near-duplicates: what merges, what never may, and what is left of two bullets after a merge."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.memory import Bullet
from ace_graph.memory.bullet import MAX_KEYWORDS
from ace_graph.memory.search.index import Index
from ace_graph.memory.similarity.compare import choose_survivor, compare, merge, mergeable_scope, taught
from tests.memory.similarity.near_duplicates import LESSONS, SAME
from tests.memory.similarity.other_claims import APART

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


def test_the_outcome_does_not_depend_on_the_order_of_the_two() -> None:
    pairs = [pair for group in (SAME, APART) for pairs in group.values() for pair in pairs]
    assert [pair for pair in pairs if outcome(*pair) != outcome(*reversed(pair))] == []


def test_different_lessons_are_different() -> None:
    pairs = [(a, b) for a in LESSONS for b in LESSONS if a < b]
    assert [pair for pair in pairs if outcome(*pair) != "different"] == []


@given(st.sampled_from(LESSONS), st.integers(2, 9_999), st.integers(2, 9_999))
@settings(max_examples=60)
def test_another_number_never_merges(lesson: str, a: int, b: int) -> None:
    same = outcome(f"{lesson}, at most {a} times", f"{lesson}, at most {b} times") == "same"
    assert same == (a == b)


@given(st.text(min_size=1, max_size=80).filter(lambda text: bool(bullet_or_none(text))))
@settings(max_examples=60)
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
def test_a_like_claim_about_another_subject_is_no_rival(a: str, b: str) -> None:
    assert compare(bullet(a), bullet(b), 0.9).outcome == "different"


def test_two_topics_make_no_rivals_of_two_rules() -> None:
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
        ({"memory_type": "episodic"}, False),
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


def test_two_topics_do_not_merge() -> None:
    assert not mergeable_scope(bullet("x", topic="a"), bullet("x", topic="b"))
    assert mergeable_scope(bullet("x", topic="A"), bullet("x", topic="a"))


def test_the_bullet_with_more_net_votes_survives_and_the_votes_add_up() -> None:
    voted = bullet("x", "a-00001", helpful=3, created_at=OLD, topic="fractions")
    newer = bullet("x", "a-00002", helpful=1, created_at=NEW, topic="sums")
    assert choose_survivor(newer, voted) == choose_survivor(voted, newer) == (voted, newer)
    merged = merge(voted, newer, NOW)
    assert (merged.id, merged.helpful, merged.topic) == ("a-00001", 4, "fractions")


@pytest.mark.parametrize(("old_id", "new_id"), [("a-00001", "a-00002"), ("a-00002", "a-00001")])
def test_of_equals_the_newest_survives(old_id: str, new_id: str) -> None:
    old = bullet("x", old_id, helpful=1, created_at=OLD, updated_at=NOW)
    new = bullet("x", new_id, helpful=1, created_at=NEW, updated_at=NEW)
    assert choose_survivor(old, new)[0] == choose_survivor(new, old)[0] == new


def test_of_equals_of_one_date_the_last_changed_survives() -> None:
    left = bullet("x", "a-00002", created_at=OLD, updated_at=OLD)
    changed = bullet("x", "a-00001", created_at=OLD, updated_at=NOW)
    assert choose_survivor(left, changed)[0] == choose_survivor(changed, left)[0] == changed


def test_harm_counts_against_a_survivor() -> None:
    harmed = bullet("x", "a-00002", helpful=5, harmful=5, created_at=NEW)
    assert choose_survivor(harmed, bullet("x", "a-00001", helpful=1, created_at=OLD))[0].id == "a-00001"
    disliked = bullet("x", "a-00002", harmful=1, created_at=NEW)
    assert choose_survivor(disliked, bullet("x", "a-00001", created_at=OLD))[0].id == "a-00001"


def test_a_bullet_is_taught_the_others_words_and_keywords() -> None:
    mine = bullet("Find the common denominator", keywords=("lcd",))
    told = taught(mine, bullet("Find the common denominator of taxes", "str-00002", keywords=("lcd", "vat")))
    assert told.keywords[:2] == ("lcd", "vat")
    assert any(word.startswith("tax") for word in told.keywords[2:])
    assert told.model_copy(update={"keywords": mine.keywords}) == mine
    many = bullet("Find it", "str-00003", keywords=tuple(f"word{n}" for n in range(40)))
    assert taught(mine, many).keywords == ("lcd", *(f"word{n}" for n in range(31)))


def test_a_merge_unites_what_both_knew() -> None:
    kept = bullet(
        "Find the common denominator", tags=("a", "b"), sources=("t1",), consolidated_from=("x-00001",)
    )
    gone = bullet(
        "Find the common denominator, please",
        "str-00002",
        harmful=1,
        neutral=2,
        seen=3,
        tags=("b", "c"),
        sources=("t2",),
        concept="lcd",
        topic="fractions",
        importance=0.9,
        pinned=True,
        ttl_days=3,
        consolidated_from=("x-00002",),
    )
    merged = merge(kept, gone, NOW)
    assert merged.content == kept.content
    assert (merged.tags, merged.sources) == (("a", "b", "c"), ("t1", "t2"))
    assert (merged.helpful, merged.harmful, merged.neutral, merged.seen) == (0, 1, 2, 4)
    assert (merged.concept, merged.topic, merged.importance, merged.pinned) == ("lcd", "fractions", 0.9, True)
    assert merged.consolidated_from == ("x-00001", "x-00002", "str-00002")
    assert (merged.ttl_days, merged.updated_at) == (None, NOW)


def test_the_survivor_is_found_by_the_words_of_the_dropped_bullet() -> None:
    kept, gone = bullet("Simplify the fraction"), bullet("Vereinfache den Bruch", "str-00002")
    merged = merge(kept, gone, NOW)
    assert "bruch" in merged.keywords
    assert Index.build([merged]).nominate("Bruch vereinfache") == ("str-00001",)
    assert merge(merged, gone, NOW).keywords == merged.keywords


def test_keywords_and_sources_are_bounded() -> None:
    survivor = bullet("Simplify the fraction")
    for number in range(100):
        gone = bullet(f"word{number} other{number}", f"a-{number:05d}", sources=(f"turn{number}",))
        survivor = merge(survivor, gone, NOW + timedelta(seconds=number))
    assert len(survivor.keywords) == MAX_KEYWORDS
    assert survivor.sources[-1] == "turn99"
    assert len(survivor.sources) == 64
    assert survivor.seen == 101


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_no_vote_is_lost_or_invented_by_a_merge(a: int, b: int, c: int, d: int) -> None:
    first, second = bullet("x", helpful=a, harmful=b), bullet("x", "str-00002", helpful=c, harmful=d)
    merged = merge(*choose_survivor(first, second), NOW)
    assert (merged.helpful, merged.harmful) == (a + c, b + d)
