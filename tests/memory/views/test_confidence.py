"""Confidence: bounds and orderings of the posterior, and what counts as evidence for a bullet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ace_graph
from ace_graph.memory import (
    Bullet,
    EvidenceIndex,
    Playbook,
    Snapshot,
    Stated,
    Support,
    TurnRecord,
    Verdict,
    Vote,
    turns_behind,
)
from ace_graph.memory.confidence import confidence

NOW = datetime(2026, 6, 1, tzinfo=UTC)
VALUES = st.sampled_from((0.0, 0.5, 1.0))
SUPPORT = st.builds(
    Support,
    value=VALUES,
    at=st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    trajectories=st.integers(1, 500),
)
STATED = st.none() | st.builds(
    Stated, confidence=st.floats(0, 1), count=st.integers(0, 99), at=st.just(NOW - timedelta(days=9))
)


def of(successes: int, failures: int = 0, *, days: int = 0) -> float:
    """The confidence after so many runs, so many days ago."""
    at = NOW - timedelta(days=days)
    return confidence([*[Support(1, at)] * successes, *[Support(0, at)] * failures], NOW)


def turn(turn_id: str, verdict: Verdict = "success", **fields: object) -> TurnRecord:
    known = {"attempt_id": turn_id, "task": "x", "mode": "cot", "status": "success", "started_at": NOW}
    return TurnRecord.model_validate({"turn_id": turn_id, "verdict": verdict, **known, **fields})


def bullet(**fields: object) -> Bullet:
    given = {"id": "str-00001", "section": "strategies", "content": "Draw a bar", "updated_at": NOW}
    return Bullet.model_validate({**given, **fields})


def read(held: Bullet, turns: Sequence[TurnRecord], playbook: Playbook | None = None) -> float:
    index = EvidenceIndex(Snapshot(playbook or Playbook.of([held])), turns)
    return index.confidence(held, NOW)


@given(st.lists(SUPPORT, max_size=20), STATED)
def test_it_is_always_from_0_to_1(evidence: list[Support], stated: Stated | None) -> None:
    assert 0 <= confidence(evidence, NOW, stated) <= 1


def test_more_runs_of_the_same_rate_are_surer() -> None:
    assert of(1) < of(9, 1) < of(90, 10)
    assert [round(of(*counts), 2) for counts in ((1,), (9, 1), (90, 10))] == [0.67, 0.83, 0.89]


@given(st.integers(0, 50), st.integers(0, 50))
def test_a_success_raises_it_and_a_failure_lowers_it(successes: int, failures: int) -> None:
    assert of(successes, failures + 1) < of(successes, failures) < of(successes + 1, failures)


@given(st.integers(1, 50), st.integers(0, 3_000))
def test_old_evidence_fades_towards_the_prior(runs: int, days: int) -> None:
    assert 0.5 < of(runs, days=days + 1) < of(runs, days=days)
    assert of(0, runs, days=days) < of(0, runs, days=days + 1) < 0.5


def test_evidence_halves_every_90_days() -> None:
    """One success: (0.5 * 2 + w) / (2 + w), with w = 1, 1/2 and 1/4."""
    assert [of(1, days=days) for days in (0, 90, 180)] == pytest.approx([2 / 3, 1.5 / 2.5, 1.25 / 2.25])


def test_a_partial_run_is_half_a_success() -> None:
    held = bullet(examples=("t",), stated=Stated(confidence=0.9, count=2, at=NOW - timedelta(days=9)))
    ended: dict[Verdict, float] = {"success": 1.0, "partial": 0.5, "failure": 0.0}
    for verdict, value in ended.items():
        run = turn("t", verdict, agent="host", status=verdict)
        assert read(held, [run]) == pytest.approx((0.9 * 2 + value) / 3), verdict


@given(st.integers(1, 20))
def test_mixed_evidence_is_less_sure_than_uniform(runs: int) -> None:
    assert of(0, 2 * runs) < of(runs, runs) < of(2 * runs)


def test_without_evidence_it_is_the_prior() -> None:
    assert confidence([], NOW) == 0.5
    assert read(bullet(), []) == read(bullet(polarity="anti_pattern"), []) == 0.5


@given(st.floats(0, 1), st.integers(0, 999))
def test_what_was_stated_is_read_as_stated(value: float, count: int) -> None:
    stated = Stated(confidence=value, count=count, at=NOW)
    assert confidence([], NOW, stated) == value
    part_of_it = [Support(0, NOW), Support(1, NOW - timedelta(days=1))]
    assert confidence(part_of_it, NOW, stated) == value


def test_evidence_after_a_statement_moves_it_by_its_count() -> None:
    later = [Support(0, NOW)]
    weak, strong = (Stated(confidence=0.9, count=n, at=NOW - timedelta(days=1)) for n in (1, 50))
    assert confidence(later, NOW, weak) < confidence(later, NOW, strong) < 0.9


def test_seven_failures_that_taught_what_to_avoid_support_it() -> None:
    names = tuple(f"t{n}" for n in range(7))
    failures = [turn(name, "failure") for name in names]
    assert round(read(bullet(polarity="anti_pattern", examples=names), failures), 2) == 0.89
    assert read(bullet(examples=names), failures) == 0.5, "they say nothing of the advice that they led to"
    others = [turn(name, "failure", agent="crawler") for name in names]
    assert read(bullet(examples=names), others) < 0.2, (
        "a run of the host that followed it says so by naming it"
    )


@pytest.mark.parametrize("polarity", ["strategy", "anti_pattern"])
def test_a_run_that_followed_it_counts_by_how_it_ended(polarity: str) -> None:
    held = bullet(polarity=polarity)
    followed: dict[str, Any] = {
        "injected": ("str-00001",),
        "cited": ("str-00001",),
    }  # Any: fields of a record
    votes = {"t1": {"tool": Vote("success", ("str-00001",))}}
    playbook = Playbook({held.id: held}, votes=votes)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # a literal
    assert turns_behind([held], playbook) == {"t1"}
    assert read(held, [turn("t1", **followed)], playbook) > 0.6
    assert read(held, [turn("t1", "failure", **followed)], playbook) > 0.6, "the vote stands, not the record"
    held = bullet(polarity=polarity, examples=("t2",))
    assert read(held, [turn("t2", "failure", **followed)]) < 0.4, "in spite of it"


def test_a_turn_counts_once_also_where_it_was_voted_on() -> None:
    """A lesson of a turn that went well starts with its vote."""
    held = bullet(examples=("t1",), helpful=1)
    playbook = Playbook({held.id: held}, votes={"t1": {"tool": Vote("success", (held.id,))}})
    assert round(read(held, [turn("t1")], playbook), 2) == 0.67


def test_votes_that_no_turn_explains_count_as_of_the_last_change() -> None:
    assert round(read(bullet(helpful=9, harmful=1), []), 2) == 0.83
    old = bullet(helpful=9, harmful=1, updated_at=NOW - timedelta(days=900))
    assert 0.5 < read(old, []) < 0.6


def test_votes_on_an_absorbed_bullet_are_votes_on_the_survivor() -> None:
    held = bullet(helpful=1)
    votes = {"t1": {"tool": Vote("success", ("gone-00002",))}}
    playbook = Playbook({held.id: held}, votes=votes, aliases={"gone-00002": held.id})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # a literal
    assert turns_behind([held], playbook) == {"t1"}
    shown: dict[str, Any] = {"injected": ("gone-00002",), "cited": ("gone-00002",)}  # Any: as above
    assert round(read(held, [turn("t1", **shown)], playbook), 2) == 0.67


def test_later_feedback_replaces_the_stored_verdict() -> None:
    said = {"verdict": "failure", "score": 0.0, "at": NOW}
    held = bullet(examples=("t1",), polarity="observation")
    assert read(held, [turn("t1", agent="crawler", feedback=[said])]) < 0.5 < read(held, [turn("t1")])


def test_only_what_people_read_knows_of_confidence() -> None:
    """Which bullet a prompt holds, and which one is archived, must not depend on the wall clock."""
    root = Path(ace_graph.__file__).parent
    readers = ("memory/views.py", "memory/stores/memories.py", "cli/", "server/routes/", "playbooks/")
    found = [path.relative_to(root).as_posix() for path in (root / "memory").rglob("*.py")]
    found += [path.relative_to(root).as_posix() for path in root.rglob("*.py")]
    found += [f"nodes/{path.name}" for path in (root / "nodes").glob("*.py")]
    text = "from ace_graph.memory.confidence import"
    using = {name for name in found if text in (root / name).read_text(encoding="utf-8")}
    assert using
    assert {name for name in using if not name.startswith(readers)} == set()
