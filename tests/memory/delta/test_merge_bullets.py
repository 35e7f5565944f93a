"""Merging two bullets: which one survives, and what it takes over from the other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory import MAX_KEYWORDS, Bullet, Stated
from ace_graph.memory.delta import choose_survivor, with_keywords_of
from ace_graph.memory.delta.merge import merge
from ace_graph.memory.search import Index

OLD = datetime(2025, 1, 1, tzinfo=UTC)
NEW = datetime(2025, 2, 1, tzinfo=UTC)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def bullet(content: str, key: str = "str-00001", **fields: object) -> Bullet:
    return Bullet.model_validate({"id": key, "section": "strategies", "content": content, **fields})


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


def test_a_bullet_takes_over_the_others_words_as_keywords() -> None:
    mine = bullet("Find the common denominator", keywords=("lcd",))
    found = with_keywords_of(
        mine, bullet("Find the common denominator of taxes", "str-00002", keywords=("lcd", "vat"))
    )
    assert found.keywords[:2] == ("lcd", "vat")
    assert any(word.startswith("tax") for word in found.keywords[2:])
    assert found.model_copy(update={"keywords": mine.keywords}) == mine
    many = bullet("Find it", "str-00003", keywords=tuple(f"word{n}" for n in range(40)))
    assert with_keywords_of(mine, many).keywords == ("lcd", *(f"word{n}" for n in range(31)))


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


def test_a_trajectory_behind_both_is_evidence_once() -> None:
    kept = bullet("Draw a bar", examples=("t1", "t2"), evidence_count=9, context="With fractions")
    gone = bullet("Draw a bar!", "str-00002", examples=("t2", "t3"), evidence_count=3, context="Elsewhere")
    merged = merge(kept, gone, NOW)
    assert (merged.examples, merged.evidence_count) == (("t1", "t2", "t3"), 11)
    assert merged.context == "With fractions"
    assert merge(gone.model_copy(update={"context": None}), kept, NOW).context == "With fractions"


def test_two_statements_become_one_by_their_counts() -> None:
    later = NOW + timedelta(days=1)
    kept = bullet("Draw a bar", stated=Stated(confidence=0.9, count=3, at=later))
    gone = bullet("Draw a bar!", "str-00002", stated=Stated(confidence=0.5, count=1, at=NOW))
    stated = merge(kept, gone, NOW).stated
    assert stated is not None
    assert (round(stated.confidence, 9), stated.count, stated.at) == (0.8, 4, NOW)
    assert merge(bullet("Draw a bar"), gone, NOW).stated == gone.stated
    empty = Stated(confidence=1, count=0, at=NOW), Stated(confidence=0, count=0, at=NOW)
    both = merge(bullet("a", stated=empty[0]), bullet("a", "str-00002", stated=empty[1]), NOW).stated
    assert both == Stated(confidence=0.5, count=0, at=NOW)


def test_the_survivor_is_found_by_the_words_of_the_dropped_bullet() -> None:
    kept, gone = bullet("Simplify the fraction"), bullet("Vereinfache den Bruch", "str-00002")
    merged = merge(kept, gone, NOW)
    assert "bruch" in merged.keywords
    assert Index.build([merged]).nominate("Bruch vereinfache") == ("str-00001",)
    assert merge(merged, gone, NOW).keywords == merged.keywords


def test_the_language_of_the_kept_text_says_which_words_are_known() -> None:
    kept = bullet("Vereinfache die Brüche vor dem Addieren", keywords=("the", "and", "with", "of", "are"))
    gone = bullet("Vereinfachen der Brüche", "str-00002")
    assert with_keywords_of(kept, gone).keywords == kept.keywords, "they are found by the same stems"
    other = bullet("Simplify the fractions", "str-00002")
    assert with_keywords_of(kept, other).keywords == (*kept.keywords, "simplify", "fractions")
    long = bullet("x" * 300, "str-00003")
    assert with_keywords_of(kept, long).keywords[-1] == "x" * 256


def test_keywords_sources_and_examples_are_bounded() -> None:
    survivor = bullet("Simplify the fraction")
    for number in range(100):
        gone = bullet(f"word{number} other{number}", f"a-{number:05d}", sources=(f"turn{number}",))
        gone = gone.model_copy(update={"examples": gone.sources, "evidence_count": 1})
        survivor = merge(survivor, gone, NOW + timedelta(seconds=number))
    assert len(survivor.keywords) == MAX_KEYWORDS
    assert survivor.sources[-1] == "turn99"
    assert len(survivor.sources) == 64
    assert survivor.examples == survivor.sources
    assert (survivor.seen, survivor.evidence_count) == (101, 100)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_no_vote_is_lost_or_invented_by_a_merge(a: int, b: int, c: int, d: int) -> None:
    first, second = bullet("x", helpful=a, harmful=b), bullet("x", "str-00002", helpful=c, harmful=d)
    merged = merge(*choose_survivor(first, second), NOW)
    assert (merged.helpful, merged.harmful) == (a + c, b + d)


def test_every_field_of_a_merged_bullet() -> None:
    kept = bullet(
        "Find the common denominator", "a-00001", helpful=3, harmful=1, neutral=2, seen=4, created_at=OLD,
        updated_at=OLD, tags=("bars",), keywords=("lcd",), importance=0.4, ttl_days=2.0, sources=("turn-1",),
        examples=("t1", "t2"), evidence_count=5, distinct_from=("a-00007",), consolidation_version=1,
        stated=Stated(confidence=0.9, count=3, at=NEW), context="With fractions",
    )  # fmt: skip
    dropped = bullet(
        "Look for the denominator", "a-00002", helpful=1, harmful=2, neutral=1, seen=2, created_at=NEW,
        updated_at=NEW, tags=("bars", "order"), keywords=("sums",), importance=0.6, ttl_days=5.0, pinned=True,
        topic="fractions", concept="sums", slot="goal", sources=("turn-2",), examples=("t2", "t3"),
        evidence_count=3, distinct_from=("a-00009",), consolidation_version=2, consolidated_from=("a-00000",),
        stated=Stated(confidence=0.5, count=1, at=OLD), context="Elsewhere",
    )  # fmt: skip
    expected = {
        "helpful": 4, "harmful": 3, "neutral": 3, "seen": 6, "updated_at": NOW, "tags": ("bars", "order"),
        "keywords": ("lcd", "sums", "look"), "importance": 0.6, "ttl_days": 5.0, "pinned": True,
        "topic": "fractions", "concept": "sums", "slot": "goal", "sources": ("turn-1", "turn-2"),
        "examples": ("t1", "t2", "t3"), "evidence_count": 7, "distinct_from": ("a-00007", "a-00009"),
        "consolidation_version": 2, "consolidated_from": ("a-00001", "a-00000", "a-00002"),
        "stated": Stated(confidence=0.8, count=4, at=OLD),
    }  # fmt: skip
    assert merge(kept, dropped, NOW) == kept.model_copy(update=expected)
