"""What leaves the playbook without being named: by evidence against it, and beyond the cap."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ace_graph.memory import Policy, content_hash
from ace_graph.memory.delta import Add, Archived, Judge, Merge, Restore, Tag, Touch
from ace_graph.testing.conformance import NOON
from tests.memory.store_scenario import Life, bullet

ONE = "gen-00001"


def _fails(turn: str, *names: str) -> Judge:
    return Judge(turn_id=turn, source="learner", verdict="failure", bullet_ids=names or (ONE,))


def test_three_failures_more_than_successes_archive_a_bullet() -> None:
    life = Life(bullet(1, helpful=1, harmful=2))
    life.does(_fails("t1"))
    assert ONE in life.playbook.entries, "two more: it is hidden only"
    effect = life.does(_fails("t2"))
    assert effect.report.removed == (ONE,)
    (gone,) = [change for change in effect.changes if isinstance(change, Archived)]
    assert (gone.why, gone.bullet.helpful, gone.bullet.harmful) == ("harmful", 1, 4)
    assert len(life.playbook) == 0


def test_a_failing_bullet_is_archived_at_the_harm_limit() -> None:
    life = Life(bullet(1))
    for turn in range(110):
        life.does(_fails(f"t{turn}"))
    assert len(life.playbook) == 0


def test_votes_by_hand_archive_too_and_the_limit_can_be_set() -> None:
    life = Life(bullet(1), policy=Policy(harm_limit=5))
    life.does(Tag(bullet_id=ONE, tag="harmful", by=4))
    assert ONE in life.playbook.entries
    life.does(Tag(bullet_id=ONE, tag="harmful"))
    assert ONE not in life.playbook.entries


@pytest.mark.parametrize("fields", [{"pinned": True}, {"section": "profile"}, {"slot": "name"}])
def test_the_core_is_never_archived_for_harm(fields: dict[str, Any]) -> None:  # Any: fields of a Bullet
    life = Life(bullet(1, **fields))
    life.does(Tag(bullet_id=ONE, tag="harmful", by=110))
    assert life[ONE].harmful == 110


def test_a_restored_harmful_bullet_stays_until_it_fails_again() -> None:
    life = Life(bullet(1, harmful=2), bullet(2))
    gone = life[ONE].model_copy(update={"harmful": 3})
    life.does(_fails("t1"))
    life.does(Restore(bullet=gone))
    life.does(Add(content="Name the unit"), Touch(bullet_ids=(ONE,)))
    assert life[ONE].harmful == 3
    life.does(_fails("t2"))
    assert ONE not in life.playbook.entries


def test_counters_from_an_import_or_a_merge_archive_nothing() -> None:
    life = Life(bullet(1, harmful=2), bullet(2, harmful=2))
    life.does(Add(content="Draw a bar", harmful=110))
    life.does(Merge(bullet_ids=(ONE, "gen-00002"), force=True))
    assert sorted(b.harmful for b in life.playbook.bullets()) == [4, 110]


# Beyond the cap


def test_of_equal_strength_the_least_helpful_goes_first() -> None:
    life = Life(
        bullet(1, helpful=3, harmful=3),
        bullet(2, helpful=1, harmful=1, created_at=NOON + timedelta(days=1)),
        policy=Policy(max_bullets=2),
    )
    assert [p.id for p in life.does(Add(content="Draw a bar", helpful=9)).report.pruned] == ["gen-00002"]


def test_of_equal_strength_and_votes_the_oldest_goes_first() -> None:
    life = Life(
        bullet(1, created_at=NOON + timedelta(days=1)),
        bullet(2, created_at=NOON),
        bullet(3, created_at=NOON + timedelta(days=2)),
        policy=Policy(max_bullets=3),
    )
    assert [p.id for p in life.does(Add(content="Draw a bar")).report.pruned] == ["gen-00002"]


def test_of_bullets_added_together_the_first_is_archived_first() -> None:
    life = Life(bullet(2), bullet(1), policy=Policy(max_bullets=2))
    assert [p.id for p in life.does(Add(content="Draw a bar")).report.pruned] == ["gen-00002"]


def test_a_pruned_text_that_is_added_again_is_a_new_bullet() -> None:
    life = Life(policy=Policy(max_bullets=1))
    life.does(Add(content="Draw a bar"))
    assert [p.id for p in life.does(Add(content="Name the unit", helpful=1)).report.pruned] == [ONE]
    assert content_hash("Draw a bar") not in life.playbook.hashes
    assert life.does(Add(content="Draw a bar", helpful=5)).report.added == ("gen-00003",)
    assert [b.content for b in life.playbook.bullets()] == ["Draw a bar"]


@pytest.mark.parametrize(("rate", "goes"), [(0.5, "gen-00002"), (0.0, ONE)])
def test_decayed_bullets_are_archived_first(rate: float, goes: str) -> None:
    policy = Policy.model_validate({"max_bullets": 2, "decay": {"semantic": rate}})
    life = Life(bullet(1), bullet(2, created_at=NOON + timedelta(days=1)), policy=policy)
    life.does(Touch(bullet_ids=("gen-00002",)))
    for _ in range(3):
        life.does(Touch(bullet_ids=(ONE,)))
    assert [p.id for p in life.does(Add(content="Draw a bar")).report.pruned] == [goes]
