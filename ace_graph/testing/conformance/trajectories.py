"""Specifies finding trajectories: filters, order, pages, and deleted trajectories."""

from __future__ import annotations

from datetime import timedelta, timezone

from ace_graph.memory.commit import Amend
from ace_graph.memory.stores.store import Store
from ace_graph.memory.trajectory import TrajectoryFilter, deleted
from ace_graph.memory.turn import TurnRecord
from ace_graph.testing.conformance.case import StoreUnderTest, opened
from ace_graph.testing.conformance.writing import NOON, new_learner, record, touching, write

_ELSEWHERE = timezone(timedelta(hours=-5))


async def _turn(store: Store, learner: str, number: int, **fields: object) -> TurnRecord:
    made = record(number, turn_id=f"t{number}").model_copy(update=fields)
    await write(store, learner, touching(), made)
    return made


async def _found(store: Store, learner: str, wanted: TrajectoryFilter, **page: int) -> list[str]:
    return [turn.turn_id for turn in await store.find_turns(learner, wanted, **page)]


async def every_filter_finds_its_own(subject: StoreUnderTest) -> None:
    """Each filter gives the turns that it means, the newest first, and two together give what both mean."""
    learner, other = new_learner(), new_learner()
    async with opened(subject) as store:
        await _turn(store, other, 9, agent="crawler")
        await _turn(store, learner, 1, agent="crawler", task_type="api_call", status="failure")
        await _turn(store, learner, 2, agent="crawler", parent_id="t1")
        await _turn(store, learner, 3, task_type="api_call")
        await _turn(store, learner, 4, status="in_progress", completed_at=None)
        for wanted, ids in (
            (TrajectoryFilter(), ["t4", "t3", "t2", "t1"]),
            (TrajectoryFilter(agent="crawler"), ["t2", "t1"]),
            (TrajectoryFilter(task_type="api_call"), ["t3", "t1"]),
            (TrajectoryFilter(status="failure"), ["t1"]),
            (TrajectoryFilter(parent_id="t1"), ["t2"]),
            (TrajectoryFilter(turn_id="t3"), ["t3"]),
            (TrajectoryFilter(turn_ids=frozenset(("t1", "t3", "t9"))), ["t3", "t1"]),
            (TrajectoryFilter(turn_ids=frozenset()), []),
            (TrajectoryFilter(agent="crawler", status="success"), ["t2"]),
            (TrajectoryFilter(agent="nobody"), []),
            (TrajectoryFilter(since=NOON + timedelta(minutes=2)), ["t3", "t2"]),
            (TrajectoryFilter(until=NOON + timedelta(minutes=2)), ["t1"]),
            (TrajectoryFilter(since=(NOON + timedelta(minutes=2)).astimezone(_ELSEWHERE)), ["t3", "t2"]),
            (TrajectoryFilter(until=(NOON + timedelta(minutes=2)).astimezone(_ELSEWHERE)), ["t1"]),
        ):
            assert await _found(store, learner, wanted) == ids, wanted


async def pages_do_not_overlap(subject: StoreUnderTest) -> None:
    """`limit` and `skip` cut pages out of the whole, in order; others' turns are in none of them (N50)."""
    learner, other = new_learner(), new_learner()
    async with opened(subject) as store:
        for number in range(6):
            await _turn(store, other, number)
            await _turn(store, learner, number)
        pages = [
            await _found(store, learner, TrajectoryFilter(), limit=2, skip=skip) for skip in (0, 2, 4, 6)
        ]
    assert pages == [["t5", "t4"], ["t3", "t2"], ["t1", "t0"], []]


async def what_changes_is_found_as_it_is_now(subject: StoreUnderTest) -> None:
    """After an Amend the filters see the new values, not the old ones."""
    learner = new_learner()
    async with opened(subject) as store:
        await _turn(store, learner, 1, status="in_progress", completed_at=None)

        def end(turn: TurnRecord) -> TurnRecord:
            return turn.model_copy(update={"status": "failure", "completed_at": NOON})

        await store.amend(learner, Amend("t1", end))
        assert await _found(store, learner, TrajectoryFilter(status="in_progress")) == []
        assert await _found(store, learner, TrajectoryFilter(status="failure", until=NOON)) == ["t1"]


async def what_was_deleted_is_listed_nowhere(subject: StoreUnderTest) -> None:
    """A deleted trajectory is in no list and no word of it is left; its commit is still known as made."""
    learner, delta, made = new_learner(), touching(), record(1, turn_id="t1")
    async with opened(subject) as store:
        await write(store, learner, delta, made)
        await _turn(store, learner, 2)
        await store.amend(learner, Amend("t1", deleted))
        assert [turn.turn_id for turn in await store.turns(learner)] == ["t2"]
        assert await _found(store, learner, TrajectoryFilter()) == ["t2"]
        assert await _found(store, learner, TrajectoryFilter(turn_id="t1")) == []
        assert (await write(store, learner, delta, made)).status == "repeated"
