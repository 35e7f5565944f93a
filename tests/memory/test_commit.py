"""The part of the write protocol that all stores share: what a commit is compared with, and what it plans."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.base import CommitTooOld, HistoryTooShort, LearnerForgotten, PlaybookChanged
from ace_graph.memory import (
    Access,
    Bullet,
    CommitPlan,
    EvidenceSource,
    History,
    HistoryEntry,
    Label,
    Playbook,
    Policy,
    RecentTurn,
    Snapshot,
    TurnRecord,
    Verdict,
    Version,
    begun_at,
    check_age,
    check_expected,
    check_not_forgotten,
    commit_key,
    operation_id,
    plan,
    playbook_at,
    references,
)
from ace_graph.memory.delta import Add, Delta, Judge, Operation, Pin, Remove, Reset, Rollback, Touch, Update
from ace_graph.testing.conformance import NOON, record, rewriting
from tests.memory.store_scenario import bullet

JUDGED: tuple[tuple[EvidenceSource, Verdict], ...] = (
    ("ground_truth", "success"),
    ("tool", "failure"),
    ("evaluator", "partial"),
    ("learner", "failure"),
)


def _planned(
    current: Snapshot, *operations: Operation, made: TurnRecord | None = None, delta: Delta | None = None
) -> CommitPlan:
    tokens = count(1)
    return plan(current, delta or rewriting(*operations), Policy(), made, lambda: f"token-{next(tokens)}")


def _of(*bullets: Bullet, turns: Sequence[str] = ()) -> Snapshot:
    recent = tuple(RecentTurn(turn_id=turn, answer_hash="") for turn in turns)
    return Snapshot(Playbook.of(bullets), Access(recent_turns=recent), Version("e", 3, "etag", Label(2, 1)))


@given(st.permutations(JUDGED))
def test_a_turn_has_the_verdict_of_its_strongest_source_in_whatever_order(
    judged: list[tuple[EvidenceSource, Verdict]],
) -> None:
    snapshot, other = _of(bullet(1), turns=("t1", "t2")), "t2"
    for source, verdict in judged:
        vote = Judge(turn_id="t1", source=source, verdict=verdict, bullet_ids=("gen-00001",))
        snapshot = _planned(snapshot, vote).snapshot
        assert {turn.turn_id: turn.verdict for turn in snapshot.access.recent_turns}[other] == "unknown"
    first = {turn.turn_id: turn.verdict for turn in snapshot.access.recent_turns}["t1"]
    assert first == "success", "the ground truth's"


def test_a_verdict_without_bullets_counts_and_one_that_refines_does_not() -> None:
    snapshot = _of(bullet(1), turns=("t1",))
    vote = Judge(turn_id="t1", source="tool", verdict="failure", bullet_ids=())
    (turn,) = _planned(snapshot, vote).snapshot.access.recent_turns
    assert turn.verdict == "failure"
    refining = vote.model_copy(update={"refines": True})
    (turn,) = _planned(snapshot, refining).snapshot.access.recent_turns
    assert turn.verdict == "unknown"


def test_two_sources_of_one_delta_judge_by_the_stronger() -> None:
    votes = (
        Judge(turn_id="t1", source="tool", verdict="success", bullet_ids=()),
        Judge(turn_id="t1", source="learner", verdict="failure", bullet_ids=()),
    )
    for order in (votes, votes[::-1]):
        (turn,) = _planned(_of(turns=("t1",)), *order).snapshot.access.recent_turns
        assert turn.verdict == "success"


def test_a_commit_too_old_to_be_known_as_a_repeat_is_refused() -> None:
    removed = NOON.timestamp()
    check_age(NOON, None)
    check_age(NOON, removed)
    check_age(NOON + timedelta(seconds=1), removed)
    with pytest.raises(
        CommitTooOld, match=r"11:59; .* before 2026-01-01 12:00 is no longer known, .* with a new date$"
    ):
        check_age(NOON - timedelta(seconds=1), removed)


def test_a_commit_begins_with_its_turn() -> None:
    delta, early, late = rewriting(minute=5), record(1), record(9)
    assert begun_at(delta, None) == begun_at(delta, late) == NOON + timedelta(minutes=5)
    assert begun_at(delta, early) == early.started_at == NOON + timedelta(minutes=1)


def test_a_commit_brings_no_forgotten_learner_back() -> None:
    base = Version("e", 1, "a")
    check_not_forgotten(base, Version("e", 2, "b"))
    check_not_forgotten(Version(), base)
    for late in (Version(), Version("f", 1, "a")):
        with pytest.raises(LearnerForgotten, match="load it again"):
            check_not_forgotten(base, late)


def test_a_change_for_another_content_is_refused() -> None:
    check_expected(None, Version("e", 1, "a"))
    check_expected("a", Version("e", 1, "a"))
    for version in (Version("e", 1, "b"), Version()):
        with pytest.raises(PlaybookChanged, match="read it again"):
            check_expected("a", version)


@given(*[st.text("a:%3A5-", max_size=5)] * 4)
def test_no_two_commits_have_one_key(learner: str, op_id: str, other: str, another: str) -> None:
    same = (learner, op_id) == (other, another)
    pairs = (("l", op_id), ("l", another))
    assert (commit_key(*pairs[0]) == commit_key(*pairs[1])) == (op_id == another)
    assert (commit_key(learner, op_id) == commit_key(other, another)) == same


def test_an_operation_id_follows_from_its_parts() -> None:
    known = operation_id("turn-1", "feedback")
    assert known == "2ba89926-b7e1-5d21-9bdf-9b9a17d9d0c2", "repeats of an earlier release have it"
    assert known not in (operation_id("feedback", "turn-1"), operation_id("turn-1"))


def test_only_what_the_commit_can_not_know_is_looked_up() -> None:
    current = _of(bullet(1), turns=("recent",))
    delta = rewriting(
        Add(content="One", examples=("recent", "far")),
        Update(bullet_id="gen-00001", examples=("turn", "farther")),
        Touch(bullet_ids=("gen-00001",)),
    )
    assert references(delta, current, record(turn_id="turn")) == {"far", "farther"}
    assert references(delta, current, None) == {"far", "farther", "turn"}
    assert references(rewriting(Add(content="One")), current, None) == frozenset()


@pytest.mark.parametrize(
    ("operation", "keeps", "label"),
    [
        (Pin(bullet_id="gen-00001"), False, "2.2"),
        (Pin(bullet_id="gen-00001"), True, "2.1"),
        (Touch(bullet_ids=("gen-00001",)), False, "2.1"),
        (Reset(), False, "3.0"),
        (Reset(), True, "2.1"),
        (Rollback(version=1), False, "3.0"),
    ],
    ids=str,
)
def test_the_label_after_a_commit(operation: Operation, keeps: bool, label: str) -> None:
    delta = rewriting(operation).model_copy(update={"keeps_label": keeps})
    current = _of(bullet(1))
    planned = _planned(current, delta=delta)
    version = planned.snapshot.version
    changed = not isinstance(operation, Touch)
    assert str(version.label) == label
    assert (version.epoch, version.n) == ("e", 3 + changed)
    assert (version.etag != "etag") is changed is planned.content_changed
    assert planned.commit().snapshot == planned.snapshot
    assert planned.commit().report == planned.effect.report


def test_the_first_commit_of_a_learner_begins_an_epoch() -> None:
    for operations, n, label in (((), 0, "0.0"), ((Add(content="One"),), 1, "1.0")):
        version = _planned(Snapshot(), *operations).snapshot.version
        assert (version.epoch, version.n, version.etag, str(version.label)) == (
            "token-1",
            n,
            "token-2",
            label,
        )
    kept = rewriting(Add(content="One")).model_copy(update={"keeps_label": True})
    assert str(_planned(Snapshot(), delta=kept).snapshot.version.label) == "1.0", "there was none to keep"


def test_a_plan_moves_the_clock_on_the_day_of_the_commit() -> None:
    late = datetime(2026, 1, 1, 23, 30, tzinfo=UTC).astimezone(None)
    delta = rewriting(Touch(bullet_ids=("gen-00001",))).model_copy(update={"now": late})
    access = _planned(_of(bullet(1)), delta=delta, made=record(turn_id="turn")).snapshot.access
    assert access.access_clock == 1
    assert access.stamps == {"gen-00001": 1}
    assert access.last_used("gen-00001") == datetime(2026, 1, 1, tzinfo=UTC).date()
    assert [turn.turn_id for turn in access.recent_turns] == ["turn"]


def test_a_plan_for_another_content_is_refused() -> None:
    delta = rewriting(Pin(bullet_id="gen-00001")).model_copy(update={"expected_etag": "old"})
    with pytest.raises(PlaybookChanged):
        _planned(_of(bullet(1)), delta=delta)


def test_trajectories_that_are_not_stored_are_unknown_to_a_plan() -> None:
    delta = rewriting(Add(content="One", examples=("far",)))
    refused = plan(_of(), delta, Policy(), None, lambda: "token", ("far",))
    assert [each.why for each in refused.effect.report.rejected] == ["unknown trajectory far"]
    assert not refused.content_changed


def test_a_version_is_read_by_folding_what_came_before_it() -> None:
    base = Playbook.of([bullet(1), bullet(2)])
    snapshot, entries = Snapshot(base, version=Version("e", 4, "x")), list[HistoryEntry]()
    for operation in (Remove(bullet_id="gen-00001"), Add(content="New"), Remove(bullet_id="gen-00002")):
        planned = _planned(snapshot, operation)
        snapshot, effect = planned.snapshot, planned.effect
        entries.append(HistoryEntry(snapshot.version.n, "op", NOON, "", "", "", effect.report, effect))
    history = History(4, base, tuple(entries))
    held = [list(playbook_at(history, n).entries) for n in (4, 5, 6, 7)]
    new = snapshot.playbook.bullets()[-1].id
    assert held == [["gen-00001", "gen-00002"], ["gen-00002"], ["gen-00002", new], [new]]
    for n in (3, 8):
        with pytest.raises(HistoryTooShort, match=f"version {n} is not kept: choose one from 4 to 7"):
            playbook_at(history, n)
    assert playbook_at(History(4, base, ()), 4) == base
    with pytest.raises(HistoryTooShort, match="from 4 to 4"):
        playbook_at(History(4, base, ()), 5)
