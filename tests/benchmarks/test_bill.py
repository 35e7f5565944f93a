"""The bill of learning: what each setting of the reflector costs, and what the default may."""

from __future__ import annotations

from statistics import mean

import pytest

from benchmarks.quality import bill_table
from benchmarks.quality.bill import DEFAULT, MOST_CALLS, SCHEDULES, Bill, Schedule
from benchmarks.quality.simulate import Life, Variant, live
from benchmarks.quality.summary import Row
from benchmarks.quality.world import Setting

SHORT = Setting(skills=12, turns=240)
SEEDS = range(2)


def _lives(schedule: Schedule) -> list[Life]:
    return [live(SHORT, seed, Variant("ours", schedule=schedule)) for seed in SEEDS]


def test_the_default_takes_few_calls_and_loses_next_to_nothing() -> None:
    """In short lives; RESULTS.md has long ones in both worlds."""
    every, default = _lives(Schedule()), _lives(DEFAULT)
    assert all(life.bill.calls == SHORT.turns for life in every)
    assert mean(life.bill.calls for life in default) / SHORT.turns <= MOST_CALLS
    assert mean(life.bill.tokens_in for life in default) < mean(life.bill.tokens_in for life in every) * 0.6
    assert mean(life.mean() for life in default) > mean(life.mean() for life in every) - 0.03


def test_what_waits_comes_later_and_is_not_lost() -> None:
    texts = "a reflection in each turn and one in four find the same lessons"
    every, batches = (
        live(SHORT, 1, Variant("ours", schedule=each)) for each in (Schedule(), Schedule(batch=4))
    )
    assert batches.bill.calls * 4 == every.bill.calls == SHORT.turns, texts
    assert abs(batches.bill.tokens_out - every.bill.tokens_out) < 0.1 * every.bill.tokens_out, texts


def test_each_setting_has_its_bill_in_both_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    def lived(groups: dict[tuple[str, Variant], object]) -> dict[tuple[str, Variant], Row]:
        life = Life((True, False), (False, False), (1, 1), 0, 0, 0, 0, bill=Bill(1, 900, 60))
        return {key: Row(key[1].name, [life]) for key in groups}

    monkeypatch.setattr(bill_table, "lived", lived)
    told = bill_table.report()
    for name in SCHEDULES:
        assert told.count(f"| {name} | 0.50 | 480 | 0.97 |") == len(bill_table.WORLDS)
