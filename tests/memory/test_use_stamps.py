"""The day of a bullet's last use, from the clock values at which days began."""

from __future__ import annotations

from datetime import date, timedelta

from ace_graph.memory import DAYS_KEPT, Access, dump_access, load_access
from tests.memory.touching import touch

FIRST = date(2026, 3, 1)


def test_a_use_is_dated_by_the_day_of_its_commit() -> None:
    access = touch(Access(), ["a"], on=FIRST)
    access = touch(access, ["b"], on=FIRST)
    access = touch(access, [], on=FIRST + timedelta(days=9))
    access = touch(access, ["a"], on=FIRST + timedelta(days=9))
    assert access.last_used("a") == FIRST + timedelta(days=9)
    assert access.last_used("b") == FIRST
    assert access.last_used("never") is None
    assert len(access.days) == 2
    assert load_access(dump_access(access)) == access


def test_a_clock_that_is_behind_begins_no_new_day() -> None:
    access = touch(touch(Access(), ["a"], on=FIRST), ["b"], on=FIRST - timedelta(days=1))
    assert access.last_used("b") == FIRST


def test_days_are_bounded_and_a_use_before_them_has_no_date() -> None:
    access = touch(Access(), ["old"], on=FIRST)
    for number in range(1, DAYS_KEPT + 1):
        access = touch(access, ["new"], on=FIRST + timedelta(days=number))
    assert len(access.days) == DAYS_KEPT
    assert access.last_used("old") is None
    assert access.last_used("new") == FIRST + timedelta(days=DAYS_KEPT)


def test_an_access_part_of_version_0_1_has_no_dates() -> None:
    access = load_access('{"access_clock": 3, "stamps": {"a": 2}}')
    assert access.last_used("a") is None
    assert touch(access, ["a"], on=FIRST).last_used("a") == FIRST
