"""When a worker has reason to ask the store for an item."""

from __future__ import annotations

import pytest

from ace_graph.learning import ExpectedWork

ALICE, BOB = "alice", "bob"


def look(work: ExpectedWork, *, found: bool) -> None:
    with work.look() as learners:
        if found:
            learners.append(ALICE)


@pytest.fixture
def work() -> ExpectedWork:
    """A worker that has found nothing."""
    work = ExpectedWork()
    look(work, found=False)
    return work


def test_a_new_worker_looks_until_it_finds_nothing() -> None:
    work = ExpectedWork()
    for found in (True, True, False):
        assert work.any
        look(work, found=found)
    assert not work.any


def test_one_announced_item_is_one_look(work: ExpectedWork) -> None:
    work.announce(ALICE)
    assert work.any
    look(work, found=True)
    assert not work.any
    assert not work.end(ALICE)


def test_a_learners_next_item_is_looked_for_after_the_first(work: ExpectedWork) -> None:
    work.announce(ALICE)
    look(work, found=True)
    work.announce(ALICE)
    assert not work.any
    assert work.end(ALICE)


def test_an_item_of_another_learner_is_looked_for_at_once(work: ExpectedWork) -> None:
    work.announce(ALICE)
    look(work, found=True)
    work.announce(BOB)
    assert work.any


def test_an_item_that_nobody_announced_may_not_be_alone(work: ExpectedWork) -> None:
    look(work, found=True)
    assert work.any


def test_an_unknown_number_is_looked_for_until_there_is_nothing(work: ExpectedWork) -> None:
    work.announce(None)
    look(work, found=True)
    assert work.any
    look(work, found=False)
    assert not work.any


def test_what_is_not_found_beside_an_item_in_work_may_be_free_after_it(work: ExpectedWork) -> None:
    look(work, found=True)
    look(work, found=False)
    assert not work.any
    assert work.end(ALICE)


def test_an_item_that_ends_during_a_look_is_a_reason_for_another(work: ExpectedWork) -> None:
    work.announce(ALICE)
    look(work, found=True)
    with work.look():
        work.end(ALICE)
    assert work.any


@pytest.mark.parametrize("learner", [ALICE, None])
def test_what_is_announced_during_a_look_stays_expected(work: ExpectedWork, learner: str | None) -> None:
    with work.look():
        work.announce(learner)
    assert work.any


def test_a_look_that_failed_is_repeated(work: ExpectedWork) -> None:
    with pytest.raises(OSError, match="gone"), work.look():
        raise OSError("gone")
    assert work.any
