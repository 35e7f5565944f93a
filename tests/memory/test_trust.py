"""Trust: who is proven, how much is withheld, what is counted, and the lift with its interval."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory import (
    GRACE,
    Access,
    Arm,
    Bullet,
    Policy,
    Snapshot,
    Trial,
    TurnRecord,
    arm_of,
    dump_access,
    lift,
    load_access,
    plan,
    pooled,
    proven,
    share_withheld,
    touched,
)
from ace_graph.memory.delta import Add, Delta, Effect, Judge
from ace_graph.memory.retrieval.retrieve import retrieve
from tests.memory.touching import touch

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COUNTS = st.integers(0, 500)
TRIALS = st.builds(Trial, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)


def bullet(**fields: object) -> Bullet:
    given = {"id": "les-00001", "section": "lessons", "content": "Round invoices up", "sources": ("t1",)}
    return Bullet.model_validate(given | fields)


def record(turn_id: str, verdict: str = "unknown", arm: Arm | None = "with") -> TurnRecord:
    given = {"turn_id": turn_id, "attempt_id": turn_id, "task": "q", "mode": "cot", "status": "success"}
    return TurnRecord.model_validate(given | {"started_at": NOW, "verdict": verdict, "arm": arm})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, False),
        ({"helpful": 1}, False),
        ({"helpful": 2}, True),
        ({"helpful": 2, "harmful": 2}, False),
        ({"pinned": True}, True),
        ({"section": "preferences"}, True),
        ({"sources": ()}, True),
        ({"sources": ("cli", "t1")}, True),
        ({"sources": ("t1", "learner")}, True),
        ({"id": "base:12ab"}, True),
    ],
    ids=str,
)
def test_a_bullet_is_proven_by_evidence_or_because_it_was_given(
    fields: dict[str, object], expected: bool
) -> None:
    assert proven(bullet(**fields)) is expected


@given(TRIALS, st.floats(0.01, 0.5))
def test_the_withheld_share_stays_between_its_bounds(trial: Trial, rate: float) -> None:
    assert rate / 10 <= share_withheld(trial, rate) <= max(rate, 0.98)
    assert share_withheld(trial, rate, GRACE - 1) <= share_withheld(trial, rate)
    assert share_withheld(trial, 0) == 0


def test_more_is_withheld_the_worse_the_unproven_do() -> None:
    assert 0.03 < share_withheld(Trial(), 0.05) < 0.05
    assert share_withheld(Trial(3, 3, 3, 3), 0.05) == 0.05
    assert 0.005 < share_withheld(Trial(12, 8, 2, 4), 0.05) < 0.05
    assert share_withheld(Trial(400, 100, 3, 12), 0.05) == pytest.approx(0.005)
    assert 0.05 < share_withheld(Trial(20, 20, 11, 9), 0.05) < 0.98
    assert share_withheld(Trial(3, 30, 9, 21), 0.05) == pytest.approx(0.98)


def test_harm_is_told_by_the_turns_that_followed_a_bullet() -> None:
    shown = Trial(with_right=20, with_wrong=20, without_right=6, without_wrong=4)
    assert share_withheld(shown, 0.05) > 0.05
    helpful = shown._replace(followed_right=14, followed_wrong=1)
    assert share_withheld(helpful, 0.05) < 0.05
    lying = shown._replace(followed_right=2, followed_wrong=13)
    assert share_withheld(lying, 0.05) == pytest.approx(0.98)
    rarely = shown._replace(followed_right=2)
    assert share_withheld(rarely, 0.05) == share_withheld(shown, 0.05)


def test_a_young_memory_is_withheld_only_where_it_harms() -> None:
    assert share_withheld(Trial(), 0.05, GRACE - 1) == 0
    assert share_withheld(Trial(4, 1, 0, 0, 4, 1), 0.05, GRACE - 1) == 0
    assert share_withheld(Trial(0, 8, 0, 0, 0, 8), 0.05, 10) > 0.9


def test_a_turn_without_unproven_bullets_is_in_no_arm() -> None:
    assert arm_of([bullet(helpful=2)], Trial(), 100, "t", 0.05) is None
    assert arm_of([], Trial(), 100, "t", 0.05) is None


def test_the_arm_follows_the_turns_id_and_about_the_rate_is_withheld() -> None:
    arms = [arm_of([bullet()], Trial(), GRACE, f"turn-{n}", 0.05) for n in range(2_000)]
    assert arms == [arm_of([bullet()], Trial(), GRACE, f"turn-{n}", 0.05) for n in range(2_000)]
    assert 50 <= arms.count("without") <= 110
    assert {arm_of([bullet()], Trial(), GRACE - 1, f"turn-{n}", 0.05) for n in range(200)} == {"with"}
    assert {arm_of([bullet()], Trial(0, 90, 90, 0), 500, f"turn-{n}", 0) for n in range(200)} == {"with"}


def test_only_proven_bullets_are_retrieved_where_the_others_are_withheld() -> None:
    added = [
        Add(content="Round invoices of the shop up", sources=("t1",)),
        Add(content="Invoices of the shop bear a number", sources=("t1",), helpful=2),
        Add(content="I run a shop for invoices", section="profile", sources=("t1",)),
    ]
    state = plan(Snapshot(), Delta(op_id="a", now=NOW, operations=tuple(added)), Policy(), None, lambda: "x")
    playbook, access = state.snapshot.playbook, state.snapshot.access

    def ids(proven_only: bool) -> set[str]:
        found = retrieve(
            "invoices of the shop?", playbook, access, Policy(), now=NOW, proven_only=proven_only
        )
        return {scored.bullet.id for scored in (*found.core, *found.retrieved)}

    assert ids(False) - ids(True) == {"gen-00001"}
    assert ids(True) == {"gen-00002", "pro-00003"}


def test_a_turn_is_counted_once_and_as_it_was_judged_last() -> None:
    access = touch(Access(), (), record("t1"))
    assert access.trial == Trial()
    access = touch(access, (), record("t1", "success"))
    assert access.trial == Trial(with_right=1)
    access = touch(access, (), record("t1", "success"))
    assert access.trial == Trial(with_right=1)
    access = touch(access, (), record("t2", "failure", "without"), verdicts={"t1": "failure"})
    assert access.trial == Trial(with_wrong=1, without_wrong=1)
    access = touch(access, (), record("t3", "partial"))
    assert access.trial == Trial(with_wrong=1, without_wrong=1)
    access = touch(access, (), record("t4", "success"), followed={"t4"})
    assert access.trial == Trial(1, 1, 0, 1, followed_right=1)
    access = touch(access, (), verdicts={"t4": "failure"})
    assert access.trial == Trial(0, 2, 0, 1, followed_wrong=1)
    assert touch(access, (), record("t4", "failure")).trial == access.trial
    assert touch(access, (), followed={"t1"}).trial == access.trial._replace(followed_wrong=2)


def test_a_turn_followed_a_bullet_where_its_judgement_names_one() -> None:
    def commit(state: Snapshot, turn: str, *ids: str) -> Snapshot:
        judge = Judge(turn_id=turn, source="evaluator", verdict="failure", bullet_ids=ids)
        delta = Delta(op_id=turn, now=NOW, operations=(judge,))
        return plan(state, delta, Policy(), record(turn, "failure"), lambda: "x").snapshot

    add = Delta(op_id="a", now=NOW, operations=(Add(content="Round invoices up", sources=("t0",)),))
    state = plan(Snapshot(), add, Policy(), None, lambda: "x").snapshot
    state = commit(state, "t1")
    assert state.access.trial == Trial(with_wrong=1)
    state = commit(state, "t2", *state.playbook.entries)
    assert state.access.trial == Trial(with_wrong=2, followed_wrong=1)
    assert load_access(dump_access(state.access)) == state.access


def test_a_turn_that_is_forgotten_stays_counted() -> None:
    access = Access()
    for n in range(50):
        access = touch(access, (), record(f"t{n}", "success", None if n % 2 else "with"))
    assert access.trial == Trial(with_right=25)
    assert touched(access, Effect(op_id="op", now=NOW, access_reset=True)).trial == Trial()


def test_feedback_that_comes_later_is_counted_by_the_commit() -> None:
    def commit(state: Snapshot, op: str, *operations: Judge, of: TurnRecord) -> Snapshot:
        return plan(
            state, Delta(op_id=op, now=NOW, operations=operations), Policy(), of, lambda: "x"
        ).snapshot

    state = commit(Snapshot(), "a", of=record("t1", arm="without"))
    blame = Judge(turn_id="t1", source="learner", verdict="failure", bullet_ids=())
    state = commit(state, "b", blame, of=record("t2", arm=None))
    assert state.access.trial == Trial(without_wrong=1)
    truth = Judge(turn_id="t1", source="ground_truth", verdict="success", bullet_ids=())
    state = commit(state, "c", truth, of=record("t3", arm=None))
    assert state.access.trial == Trial(without_right=1)
    assert load_access(dump_access(state.access)) == state.access


def test_an_access_part_from_before_trust_can_be_read() -> None:
    assert load_access('{"access_clock":3,"stamps":{},"recent_turns":[]}').trial == Trial()


def test_counts_from_before_what_was_followed_can_be_read() -> None:
    stored = load_access('{"format":3,"access_clock":3,"stamps":{},"recent_turns":[],"trial":[4,3,2,1]}')
    assert stored.trial == Trial(4, 3, 2, 1)
    assert load_access(dump_access(stored)) == stored


@given(st.lists(TRIALS, max_size=5))
def test_pooling_adds_up(trials: list[Trial]) -> None:
    assert sum(pooled(trials)) == sum(map(sum, trials))


@given(TRIALS)
def test_the_interval_holds_the_lift(trial: Trial) -> None:
    found = lift(trial)
    if found is not None:
        assert -1 <= found.low <= found.lift <= found.high <= 1


def test_the_lift_is_the_difference_with_newcombes_interval() -> None:
    assert lift(Trial(5, 5, 0, 0)) is None
    found = lift(Trial(56, 14, 48, 32))
    assert found is not None
    assert (found.with_memory, found.without, found.lift) == pytest.approx((0.8, 0.6, 0.2))
    assert (found.turns_with, found.turns_without) == (70, 80)
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=5e-4)
