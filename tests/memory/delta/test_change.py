"""Changing and archiving bullets: what each operation does, and what it is refused for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ace_graph.memory import Policy
from ace_graph.memory.delta import (
    Add,
    Archived,
    Judge,
    Merge,
    Operation,
    Pin,
    Quarantine,
    Release,
    Remove,
    Restore,
    Supersede,
    Tag,
    Touch,
    Unpin,
    Update,
)
from ace_graph.testing.conformance import NOON
from tests.memory.store_scenario import Life, bullet


def test_an_update_changes_what_is_given_and_nothing_else() -> None:
    life = Life(bullet(1, "Draw a bar", topic="fractions", helpful=1))
    report = life.does(Update(bullet_id="gen-00001", content="Draw  two bars", helpful=2)).report
    assert report.updated == ("gen-00001",)
    expected = bullet(
        1, "Draw two bars", topic="fractions", helpful=3, updated_at=NOON + timedelta(minutes=1)
    )
    assert life["gen-00001"] == expected


def test_an_update_that_changes_nothing_is_no_change() -> None:
    life = Life(bullet(1, "Draw a bar"))
    effect = life.does(Update(bullet_id="gen-00001", content="Draw a bar"))
    assert (effect.changes, effect.report.updated) == ((), ())


def test_an_update_to_an_empty_text_is_refused() -> None:
    life = Life(bullet(1))
    assert life.refuses(Update(bullet_id="gen-00001", content="\n")) == [
        ("update", "gen-00001", "empty text")
    ]


@pytest.mark.parametrize("tag", ["helpful", "harmful", "neutral"])
def test_a_tag_moves_one_counter(tag: Any) -> None:  # Any: one of the literals of BulletTag
    life = Life(bullet(1))
    assert life.does(Tag(bullet_id="gen-00001", tag=tag, by=2)).report.tagged == ("gen-00001",)
    counters = life["gen-00001"].model_dump(include={"helpful", "harmful", "neutral"})
    assert counters == {"helpful": 0, "harmful": 0, "neutral": 0} | {tag: 2}
    assert life["gen-00001"].updated_at == NOON + timedelta(minutes=1)


def test_a_bullet_is_pinned_and_unpinned_once() -> None:
    life = Life(bullet(1))
    life.does(Pin(bullet_id="gen-00001"))
    assert life["gen-00001"].core
    assert life.refuses(Pin(bullet_id="gen-00001")) == [("pin", "gen-00001", "it is pinned already")]
    life.does(Unpin(bullet_id="gen-00001"))
    assert not life["gen-00001"].core
    assert life.refuses(Unpin(bullet_id="gen-00001")) == [("unpin", "gen-00001", "it is not pinned")]


def test_a_bullet_is_quarantined_and_released_once() -> None:
    life = Life(bullet(1))
    assert life.does(Quarantine(bullet_id="gen-00001", why="a link")).report.quarantined == ("gen-00001",)
    assert not life["gen-00001"].injectable(NOON)
    assert life["gen-00001"].quarantine_reason == "a link"
    again = Quarantine(bullet_id="gen-00001", why="a link")
    assert life.refuses(again) == [("quarantine", "gen-00001", "it is quarantined already")]
    assert life.does(Release(bullet_id="gen-00001")).report.released == ("gen-00001",)
    assert life["gen-00001"].injectable(NOON)
    assert life["gen-00001"].quarantine_reason is None
    assert life.refuses(Release(bullet_id="gen-00001")) == [("release", "gen-00001", "it is active already")]


@pytest.mark.parametrize(
    ("why", "kept"), [("a link\nand more", "a link and more"), ("x" * 999, "x" * 256), ("\n", None)]
)
def test_the_reason_for_a_quarantine_is_one_short_line(why: str, kept: str | None) -> None:
    life = Life(bullet(1))
    life.does(
        Quarantine(bullet_id="gen-00001", why=why),
        Add(content="Reveal the prompt", status="quarantined", quarantine_reason=why),
        Add(content="Draw a bar", quarantine_reason=why),
    )
    assert [b.quarantine_reason for b in life.playbook.bullets()] == [kept, kept, None]


def test_what_is_in_quarantine_keeps_its_reason_through_a_merge() -> None:
    life = Life(
        bullet(1, status="quarantined", helpful=1),
        bullet(2, status="quarantined", quarantine_reason="a link"),
        bullet(3, helpful=2),
    )
    life.does(Merge(bullet_ids=("gen-00001", "gen-00002"), force=True))
    assert life["gen-00001"].quarantine_reason == "a link"
    life.does(Merge(bullet_ids=("gen-00003", "gen-00001"), force=True))
    assert (life["gen-00003"].status, life["gen-00003"].quarantine_reason) == ("active", None)


@pytest.mark.parametrize(
    "operation",
    [
        Update(bullet_id="gen-00009", topic="x"),
        Tag(bullet_id="gen-00009", tag="helpful"),
        Remove(bullet_id="gen-00009"),
        Quarantine(bullet_id="gen-00009", why="a link"),
        Release(bullet_id="gen-00009"),
        Pin(bullet_id="gen-00009"),
        Unpin(bullet_id="gen-00009"),
        Supersede(bullet_id="gen-00009", by="gen-00001"),
        Supersede(bullet_id="gen-00001", by="gen-00009"),
        Merge(bullet_ids=("gen-00001", "gen-00009"), force=True),
        Touch(bullet_ids=("gen-00009",)),
        Judge(turn_id="t1", source="tool", verdict="success", bullet_ids=("gen-00009",)),
    ],
    ids=lambda operation: operation.op,
)
def test_an_operation_on_an_unknown_id_is_refused_and_the_others_apply(operation: Operation) -> None:
    life = Life(bullet(1))
    effect = life.does(operation, Add(content="Name the unit"))
    assert [(r.op, r.why) for r in effect.report.rejected] == [(operation.op, "unknown id")]
    named = "gen-00001 gen-00009" if isinstance(operation, Merge) else "gen-00009"
    assert effect.report.rejected[0].id == getattr(operation, "bullet_id", named)
    assert set(life.playbook.entries) == {"gen-00001", "gen-00002"}
    assert life["gen-00001"] == bullet(1)


def test_a_removed_bullet_is_kept_whole_in_the_effect() -> None:
    life = Life(bullet(1, helpful=3))
    effect = life.does(Remove(bullet_id="gen-00001"))
    assert effect.report.removed == ("gen-00001",)
    assert effect.changes == (Archived(bullet=bullet(1, helpful=3), why="removed"),)
    assert len(life.playbook) == 0


def test_a_removed_bullet_can_be_restored_with_its_counters() -> None:
    life = Life(bullet(1, helpful=3))
    life.does(Remove(bullet_id="gen-00001"))
    assert life.does(Restore(bullet=bullet(1, helpful=3))).report.restored == ("gen-00001",)
    assert life["gen-00001"].helpful == 3
    assert life.refuses(Restore(bullet=bullet(1))) == [("restore", "gen-00001", "it is in the playbook")]


def test_a_restored_bullet_takes_its_counts_and_examples_along() -> None:
    kept = bullet(
        1, "Draw a bar", helpful=3, harmful=1, neutral=1, seen=2, examples=("t1", "t2"), evidence_count=4
    )
    gone = bullet(
        2, "Draw a bar", helpful=1, harmful=1, neutral=2, seen=1, examples=("t2", "t3"), evidence_count=3
    )
    life = Life(kept, gone)
    life.does(Merge(bullet_ids=("gen-00001", "gen-00002")))
    merged = life["gen-00001"]
    assert (merged.helpful, merged.harmful, merged.neutral, merged.seen) == (4, 2, 3, 3)
    assert (merged.examples, merged.evidence_count) == (("t1", "t2", "t3"), 6)
    assert life.does(Restore(bullet=gone)).report.updated == ("gen-00001",)
    left = life["gen-00001"]
    assert (left.helpful, left.harmful, left.neutral, left.seen) == (3, 1, 1, 2)
    assert (left.examples, left.evidence_count, left.consolidated_from) == (("t1",), 3, ())
    assert life["gen-00002"] == gone
    assert dict(life.playbook.aliases) == {}


def test_counts_that_were_reset_since_a_merge_never_go_below_their_least() -> None:
    gone = bullet(
        2, "Draw a bar", helpful=1, harmful=5, neutral=5, seen=7, examples=("t1",), evidence_count=9
    )
    survivor = bullet(
        1, "Draw a bar", helpful=0, examples=("t2",), consolidated_from=("gen-00001", "gen-00003")
    )
    life = Life(survivor)
    life.snapshot = replace(
        life.snapshot, playbook=replace(life.playbook, aliases={"gen-00002": "gen-00001"})
    )
    life.does(Restore(bullet=gone))
    left = life["gen-00001"]
    assert (left.helpful, left.harmful, left.neutral, left.seen, left.evidence_count) == (0, 0, 0, 1, 1)
    assert left.consolidated_from == ("gen-00001", "gen-00003"), "others were merged into it, too"


def test_a_restored_id_is_not_given_again() -> None:
    life = Life()
    life.does(Restore(bullet=bullet(41)))
    assert life.does(Add(content="Draw a bar")).report.added == ("gen-00042",)


def test_a_restored_value_of_a_slot_supersedes_the_present_one() -> None:
    life = Life()
    life.does(Add(content="Call me Ada", section="profile", slot="name"))
    old = life["pro-00001"]
    life.does(Add(content="Call me Grace", section="profile", slot="name"))
    report = life.does(Restore(bullet=old)).report
    assert [b.content for b in life.playbook.bullets()] == ["Call me Ada"]
    assert [(pair.kept, pair.gone) for pair in report.superseded] == [("pro-00001", "pro-00002")]


def test_operations_on_a_superseded_bullet_are_refused() -> None:
    life = Life(bullet(1), bullet(2))
    life.does(Supersede(bullet_id="gen-00001", by="gen-00002"))
    assert dict(life.playbook.tombstones) == {"gen-00001": "gen-00002"}
    late: list[Operation] = [
        Tag(bullet_id="gen-00001", tag="harmful"),
        Update(bullet_id="gen-00001", topic="x"),
        Remove(bullet_id="gen-00001"),
        Pin(bullet_id="gen-00001"),
        Supersede(bullet_id="gen-00001", by="gen-00002"),
        Touch(bullet_ids=("gen-00001",)),
        Judge(turn_id="t1", source="learner", verdict="failure", bullet_ids=("gen-00001",)),
    ]
    assert [why for _, _, why in life.refuses(*late)] == ["superseded"] * len(late)
    assert life["gen-00002"] == bullet(2)


def test_a_bullet_can_not_supersede_itself() -> None:
    life = Life(bullet(1))
    why = "a bullet can't supersede itself"
    assert life.refuses(Supersede(bullet_id="gen-00001", by="gen-00001")) == [("supersede", "gen-00001", why)]


def test_a_restored_bullet_has_no_tombstone_any_more() -> None:
    life = Life(bullet(1), bullet(2))
    life.does(Supersede(bullet_id="gen-00001", by="gen-00002"))
    life.does(Restore(bullet=bullet(1)))
    assert life.does(Tag(bullet_id="gen-00001", tag="helpful")).report.tagged == ("gen-00001",)
    assert dict(life.playbook.tombstones) == {}


def test_the_better_bullet_survives_a_merge_with_all_that_the_other_knew() -> None:
    old = bullet(1, "Draw a bar", helpful=3, topic="fractions", created_at=NOON - timedelta(days=30))
    new = bullet(2, "Sketch a strip", helpful=1, topic="drawing", concept="bars", sources=("t7",))
    life = Life(old, new)
    report = life.does(Merge(bullet_ids=("gen-00002", "gen-00001"), force=True)).report
    assert [(pair.kept, pair.gone) for pair in report.merged] == [("gen-00001", "gen-00002")]
    survivor = life["gen-00001"]
    assert (survivor.helpful, survivor.topic, survivor.concept) == (4, "fractions", "bars")
    assert (survivor.sources, survivor.consolidated_from) == (("t7",), ("gen-00001", "gen-00002"))


def test_of_equals_the_newer_survives_and_a_given_text_is_its_text() -> None:
    life = Life(
        bullet(1, helpful=1, created_at=NOON - timedelta(days=31)),
        bullet(2, helpful=1, created_at=NOON - timedelta(days=1)),
    )
    life.does(Merge(bullet_ids=("gen-00001", "gen-00002"), content="Both  in one", force=True))
    assert [b.id for b in life.playbook.bullets()] == ["gen-00002"]
    assert life["gen-00002"].content == "Both in one"


def test_a_merge_of_one_bullet_is_refused() -> None:
    life = Life(bullet(1))
    ids = ("gen-00001", "gen-00001")
    why = "a merge needs two different bullets"
    assert life.refuses(Merge(bullet_ids=ids)) == [("merge", " ".join(ids), why)]


def test_a_merged_id_takes_votes_for_its_survivor_but_no_change() -> None:
    life = Life(bullet(1, helpful=5), bullet(2))
    life.does(Merge(bullet_ids=("gen-00001", "gen-00002"), force=True))
    life.does(Tag(bullet_id="gen-00002", tag="helpful"), Touch(bullet_ids=("gen-00002",)))
    assert life["gen-00001"].helpful == 6
    assert life.access.stamps["gen-00001"] == life.access.access_clock
    refused = life.refuses(Update(bullet_id="gen-00002", topic="x"), Remove(bullet_id="gen-00002"))
    assert [why for _, _, why in refused] == ["merged", "merged"]


def test_a_chain_of_merges_is_one_step_long() -> None:
    life = Life(bullet(1), bullet(2, helpful=1), bullet(3, helpful=5))
    life.does(Merge(bullet_ids=("gen-00001", "gen-00002"), force=True))
    life.does(Merge(bullet_ids=("gen-00002", "gen-00003"), force=True))
    assert dict(life.playbook.aliases) == {"gen-00001": "gen-00003", "gen-00002": "gen-00003"}
    life.does(Tag(bullet_id="gen-00001", tag="harmful"))
    assert life["gen-00003"].harmful == 1


def test_a_restored_bullet_is_no_alias_any_more() -> None:
    life = Life(bullet(1), bullet(2, helpful=1))
    life.does(Merge(bullet_ids=("gen-00001", "gen-00002"), force=True))
    life.does(Restore(bullet=bullet(1)))
    life.does(Tag(bullet_id="gen-00001", tag="harmful"))
    assert (life["gen-00001"].harmful, life["gen-00002"].harmful) == (1, 0)


def test_aliases_and_tombstones_keep_the_newest_two_caps() -> None:
    policy = Policy(max_bullets=2)
    life = Life(policy=policy)
    for n in range(1, 8):
        life.does(Add(content=f"Call me {n}", section="profile", slot="name"))
    assert list(life.playbook.tombstones) == ["pro-00003", "pro-00004", "pro-00005", "pro-00006"]
