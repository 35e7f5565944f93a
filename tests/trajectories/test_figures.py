"""Figures of turns by the day and the week: lift, tokens, cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.base import Price
from ace_graph.learning import periods_of
from ace_graph.memory import Arm, Trial, TurnRecord, Verdict, lift

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)


def turn(
    days: float = 0,
    verdict: Verdict = "unknown",
    arm: Arm | None = None,
    tokens: tuple[int, int] = (0, 0),
    cost: float | None = None,
    model: str = "m",
) -> TurnRecord:
    at = MONDAY + timedelta(days=days)
    return TurnRecord(
        turn_id=f"t{days}", attempt_id="1", task="t", mode="cot", status="success", started_at=at,
        completed_at=at, verdict=verdict, arm=arm, input_tokens=tokens[0], output_tokens=tokens[1],
        cost=cost, model=model,
    )  # fmt: skip


def judged(days: float, arm: Arm, right: int, wrong: int) -> list[TurnRecord]:
    return [turn(days, "success", arm)] * right + [turn(days, "failure", arm)] * wrong


def test_a_lift_is_of_its_period_and_so_far_of_all_before() -> None:
    turns = [*judged(0, "with", 3, 1), *judged(1, "with", 4, 0), *judged(1, "without", 1, 3)]
    first, second = periods_of(reversed(turns))
    assert (first.start, second.start) == (date(2026, 1, 5), date(2026, 1, 6))
    assert (first.lift, first.lift_so_far) == (None, None), "no turn without was judged yet"
    assert second.lift == lift(Trial(4, 0, 1, 3))
    assert second.lift_so_far == lift(Trial(7, 1, 1, 3))
    assert (first.success_rate, second.success_rate) == (0.75, 0.625)


def test_a_cost_is_what_was_recorded_else_by_the_present_prices() -> None:
    turns = [
        turn(tokens=(1_000_000, 0), cost=0.25),
        turn(tokens=(1_000_000, 500_000)),
        turn(tokens=(7, 7), model="without a price"),
        turn(),
    ]
    (period,) = periods_of(turns, prices=[Price("m", 0.5, 2.0)])
    assert (period.turns, period.input_tokens, period.output_tokens) == (4, 2_000_007, 500_007)
    assert period.cost == pytest.approx(0.25 + 0.5 + 1.0)
    assert period.unpriced == 1


def test_a_week_begins_on_monday_in_utc() -> None:
    sunday = turn(6)
    in_kiribati = sunday.model_copy(
        update={"completed_at": datetime(2026, 1, 12, 1, tzinfo=timezone(timedelta(hours=14)))}
    )
    turns = [turn(0), sunday, in_kiribati, turn(7)]
    assert [(week.start, week.turns) for week in periods_of(turns, "week")] == [
        (date(2026, 1, 5), 3),
        (date(2026, 1, 12), 1),
    ]


def test_what_is_in_progress_is_in_no_period() -> None:
    assert periods_of([turn().model_copy(update={"completed_at": None})]) == ()


DAYS = st.lists(
    st.tuples(
        st.integers(0, 30), st.sampled_from(("success", "failure")), st.sampled_from(("with", "without"))
    ),
    max_size=30,
)


@given(DAYS)
def test_the_last_lift_so_far_is_that_of_all_turns(
    days: Sequence[tuple[int, Verdict, Arm]],
) -> None:
    turns = [turn(day, verdict, arm) for day, verdict, arm in days]
    daily, weekly = periods_of(turns), periods_of(turns, "week")
    assert sum(each.turns for each in daily) == sum(each.turns for each in weekly) == len(turns)
    assert [each.start for each in daily] == sorted({each.start for each in daily})
    if turns:
        assert daily[-1].lift_so_far == weekly[-1].lift_so_far
