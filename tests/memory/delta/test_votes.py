"""Votes, touches, insights and resets."""

from __future__ import annotations

from typing import Any

import pytest

from ace_graph.memory import Access, BaseVotes, Playbook, Policy, RecentInsight, Snapshot
from ace_graph.memory.delta import Add, Delta, Judge, Merge, Reflect, Remove, Reset, Tag, Touch
from ace_graph.memory.delta.resolve import resolve
from ace_graph.testing.conformance import NOON
from tests.memory.store_scenario import Life, bullet


def _judge(verdict: Any, *ids: str, turn: str = "t1", source: Any = "tool") -> Judge:  # Any: literals
    return Judge(turn_id=turn, source=source, verdict=verdict, bullet_ids=ids)


def test_a_verdict_moves_the_counter_that_belongs_to_it() -> None:
    life = Life(bullet(1), bullet(2))
    report = life.does(_judge("success", "gen-00001", "gen-00002")).report
    assert report.tagged == ("gen-00001", "gen-00002")
    life.does(_judge("failure", "gen-00001", turn="t2"), _judge("partial", "gen-00001", turn="t3"))
    assert (life["gen-00001"].helpful, life["gen-00001"].harmful, life["gen-00001"].neutral) == (1, 1, 1)


def test_the_same_vote_again_moves_nothing_and_changes_nothing() -> None:
    life = Life(bullet(1))
    life.does(_judge("success", "gen-00001"))
    assert life.does(_judge("success", "gen-00001")).changes == ()


def test_a_later_vote_of_the_same_source_replaces_the_earlier() -> None:
    life = Life(bullet(1), bullet(2))
    life.does(_judge("success", "gen-00001", "gen-00002"))
    life.does(_judge("failure", "gen-00001"))
    assert (life["gen-00001"].helpful, life["gen-00001"].harmful) == (0, 1)
    assert (life["gen-00002"].helpful, life["gen-00002"].harmful) == (0, 0)
    life.does(_judge("unknown", "gen-00001"))
    assert life["gen-00001"].harmful == 0


@pytest.mark.parametrize("verdict", ["failure", "unknown", "partial"])
def test_replacing_a_vote_on_merged_bullets_undoes_all_of_it(verdict: Any) -> None:
    life = Life(bullet(1, helpful=5), bullet(2))
    life.does(_judge("success", "gen-00001", "gen-00002"))
    life.does(Merge(bullet_ids=("gen-00001", "gen-00002"), force=True))
    assert life["gen-00001"].helpful == 7
    life.does(_judge(verdict, "gen-00002"))
    one = life["gen-00001"]
    assert (one.helpful, one.harmful + one.neutral) == (5, int(verdict != "unknown"))
    life.does(_judge("success", "gen-00001"))
    assert (life["gen-00001"].helpful, life["gen-00001"].harmful) == (6, 0)


def test_after_a_merge_the_strongest_source_still_decides() -> None:
    life = Life(bullet(1, helpful=5), bullet(2))
    life.does(_judge("success", "gen-00001", "gen-00002", source="learner"))
    life.does(Merge(bullet_ids=("gen-00001", "gen-00002"), force=True))
    life.does(_judge("failure", "gen-00001", source="ground_truth"))
    assert (life["gen-00001"].helpful, life["gen-00001"].harmful) == (5, 1)
    assert life.does(_judge("success", "gen-00001", source="learner")).changes == ()
    assert life.playbook.votes["t1"]["learner"].bullet_ids == ("gen-00001",)


def test_the_strongest_source_decides_and_a_turn_moves_a_bullet_once() -> None:
    life = Life(bullet(1))
    life.does(_judge("failure", "gen-00001", source="learner"))
    life.does(_judge("success", "gen-00001", source="ground_truth"))
    life.does(_judge("failure", "gen-00001", source="evaluator"))
    assert (life["gen-00001"].helpful, life["gen-00001"].harmful) == (1, 0)


def test_an_opinion_of_a_model_moves_nothing() -> None:
    life = Life(bullet(1))
    why = "a model's opinion moves no counter"
    assert life.refuses(_judge("success", "gen-00001", source="model")) == [("judge", "t1", why)]
    assert life["gen-00001"] == bullet(1)


def test_votes_on_the_base_playbook_are_the_learners_own() -> None:
    life = Life()
    life.does(_judge("success", "base:ab12"))
    life.does(_judge("failure", "base:ab12", turn="t2"))
    life.does(_judge("failure", "base:ab12"))
    assert dict(life.playbook.base_votes) == {"base:ab12": BaseVotes(harmful=2, setbacks=2)}


def test_setbacks_are_the_failures_since_the_last_success() -> None:
    life = Life(bullet(1))
    life.does(*(_judge("failure", "gen-00001", turn=f"f{n}") for n in range(2)))
    assert life["gen-00001"].setbacks == 2
    life.does(_judge("partial", "gen-00001", turn="p"), _judge("unknown", "gen-00001", turn="u"))
    assert life["gen-00001"].setbacks == 2
    life.does(_judge("success", "gen-00001", turn="s"))
    assert (life["gen-00001"].setbacks, life["gen-00001"].harmful) == (0, 2)
    life.does(_judge("failure", "gen-00001", turn="f9"))
    life.does(_judge("success", "gen-00001", turn="f9", source="ground_truth"))
    assert life["gen-00001"].setbacks == 0


def test_a_withdrawn_failure_is_no_setback() -> None:
    life = Life(bullet(1))
    life.does(_judge("failure", "gen-00001"), _judge("failure", "gen-00001", turn="t2"))
    life.does(_judge("unknown", "gen-00001"))
    assert (life["gen-00001"].setbacks, life["gen-00001"].harmful) == (1, 1)


def test_what_a_host_tags_counts_as_a_setback_or_ends_them() -> None:
    life = Life(bullet(1))
    life.does(Tag(bullet_id="gen-00001", tag="harmful", by=2))
    assert life["gen-00001"].setbacks == 2
    life.does(Tag(bullet_id="gen-00001", tag="neutral"))
    assert life["gen-00001"].setbacks == 2
    life.does(Tag(bullet_id="gen-00001", tag="helpful"))
    assert life["gen-00001"].setbacks == 0


def test_a_vote_after_a_clear_in_the_same_delta_starts_from_zero() -> None:
    life = Life(bullet(1))
    vote = _judge("success", "gen-00001")
    life.does(vote)
    life.does(Reset(bullets=(bullet(1),)), vote)
    assert life["gen-00001"].helpful == 1
    assert list(life.playbook.votes) == ["t1"]


def test_the_votes_of_the_last_two_hundred_turns_are_kept() -> None:
    life = Life(bullet(1))
    life.does(*(_judge("success", "gen-00001", turn=f"t{n}") for n in range(201)))
    assert len(life.playbook.votes) == 200
    assert "t0" not in life.playbook.votes


def test_a_touch_changes_the_access_part_only() -> None:
    life = Life(bullet(1), bullet(2))
    effect = life.does(Touch(bullet_ids=("gen-00001", "base:ab12")))
    assert effect.changes == ()
    assert dict(life.access.stamps) == {"gen-00001": 1, "base:ab12": 1}
    assert (life.access.idle("gen-00001"), life.access.idle("gen-00002")) == (0, 0)


def test_an_archived_bullet_has_no_stamp() -> None:
    life = Life(bullet(1))
    life.does(Touch(bullet_ids=("gen-00001",)))
    life.does(Remove(bullet_id="gen-00001"))
    assert dict(life.access.stamps) == {}


def test_the_last_three_insights_are_kept() -> None:
    life = Life()
    for n in range(4):
        life.does(Reflect(insight=f"insight\n{n}", topic="fractions"))
    assert life.playbook.reflections == tuple(RecentInsight(f"insight {n}", "fractions") for n in (1, 2, 3))
    assert [why for _, _, why in life.refuses(Reflect(insight=" "))] == ["empty text"]


def test_a_clear_leaves_nothing_but_the_counter() -> None:
    life = Life(bullet(1), bullet(2), bullet(3, helpful=1))
    life.does(Merge(bullet_ids=("gen-00002", "gen-00003"), force=True), _judge("success", "gen-00001"))
    life.does(Reflect(insight="Bars help"), Touch(bullet_ids=("gen-00001",)))
    life.does(Reset())
    assert life.playbook == Playbook(next_id=4)
    assert life.access == Access()
    assert life.does(Add(content="Draw a bar")).report.added == ("gen-00004",)


def test_a_replacing_import_brings_its_bullets_under_their_ids() -> None:
    life = Life(bullet(1), bullet(2))
    report = life.does(Reset(bullets=(bullet(2, helpful=9), bullet(30), bullet(30)))).report
    assert [b.id for b in life.playbook.bullets()] == ["gen-00002", "gen-00030"]
    assert life["gen-00002"].helpful == 9
    assert [(r.id, r.why) for r in report.rejected] == [("gen-00030", "two bullets have this id")]
    assert life.playbook.next_id == 31


def test_a_rollback_keeps_the_clock_and_restores_stamps() -> None:
    life = Life(bullet(1), bullet(2))
    life.does(Touch(bullet_ids=("gen-00001", "gen-00002")))
    life.does(Reset(bullets=(bullet(1),)))
    assert life.access.access_clock == 2
    assert dict(life.access.stamps) == {"gen-00001": 1}


def test_an_empty_delta_changes_nothing_and_gives_the_same_playbook() -> None:
    life = Life(bullet(1))
    before = life.playbook
    effect = life.does()
    assert effect.changes == ()
    assert life.playbook is before


def test_an_effect_says_who_did_what_when_and_why() -> None:
    delta = Delta(op_id="op", now=NOON, author="alice", reason="because", source="turn 7")
    effect = resolve(Snapshot(), delta, Policy())
    assert (effect.op_id, effect.now, effect.author, effect.reason, effect.source) == (
        "op",
        NOON,
        "alice",
        "because",
        "turn 7",
    )


def test_the_learners_own_statements_take_neither_credit_nor_blame() -> None:
    name = bullet(1, "Learner says: call me Al", section="profile", slot="name")
    life = Life(name, bullet(2))
    assert life.does(_judge("failure", name.id)).changes == ()
    report = life.does(_judge("failure", name.id, "gen-00002", turn="t2")).report
    assert (report.tagged, report.rejected) == (("gen-00002",), ())
    assert life[name.id] == name


def test_the_same_vote_again_after_a_merge_moves_nothing() -> None:
    life = Life(bullet(1, helpful=5), bullet(2))
    life.does(_judge("success", "gen-00001", "gen-00002"))
    life.does(Merge(bullet_ids=("gen-00001", "gen-00002"), force=True))
    assert life.does(_judge("success", "gen-00001")).changes == ()
    assert life["gen-00001"].helpful == 7


def test_a_reset_reports_the_bullets_that_it_puts_in_quarantine() -> None:
    life = Life(bullet(1), bullet(2, status="quarantined"))
    held_back = tuple(bullet(number, status="quarantined") for number in (1, 2))
    assert life.does(Reset(bullets=held_back)).report.quarantined == ("gen-00001",)
