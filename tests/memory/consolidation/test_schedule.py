"""When a commit makes a consolidation due, and what is noted of it."""

from __future__ import annotations

import pytest

from ace_graph.memory import (
    Access,
    CommitPlan,
    ConsolidationNote,
    ConsolidationWork,
    Pending,
    Playbook,
    Policy,
    Snapshot,
    Version,
    ended_run,
    is_run,
    plan,
    read_consolidation,
    with_schedule,
)
from ace_graph.memory.delta import Add, Merge, Operation, Pin, Touch
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing.conformance import adding, rewriting
from tests.memory.store_scenario import bullet

ABOVE_TWO = Policy(consolidate_above=2)
OTHER_WORK = Pending(pending_id="p", turn_id="t", body="{}")


def _planned(*operations: Operation, bullets: int = 3) -> CommitPlan:
    playbook = Playbook.of(bullet(number) for number in range(1, bullets + 1))
    access = Access(consolidation=ConsolidationNote(0, "last"))
    snapshot = Snapshot(playbook, access, Version("e", 1, "a"))
    return plan(snapshot, rewriting(*operations), ABOVE_TWO, None, lambda: "token")


def test_growth_above_the_limit_stores_a_consolidation_once() -> None:
    made = with_schedule(_planned(Add(content="Draw a bar")), ABOVE_TWO, "ada")
    assert made.scheduled is not None
    assert is_run(made.scheduled)
    assert read_consolidation(made.scheduled) == ConsolidationWork()
    assert made.commit().scheduled == made.scheduled.pending_id
    note = made.snapshot.access.consolidation
    assert note == ConsolidationNote(made.snapshot.playbook.next_id, "last")
    again = with_schedule(_planned(Add(content="Draw a bar")), ABOVE_TWO, "ada")
    other = with_schedule(_planned(Add(content="Draw a bar")), ABOVE_TWO, "bob")
    assert again.scheduled == made.scheduled
    assert other.scheduled is not None
    assert other.scheduled.pending_id != made.scheduled.pending_id


@pytest.mark.parametrize(
    ("operation", "bullets"),
    [(Touch(bullet_ids=("gen-00001",)), 3), (Add(content="Draw a bar"), 1)],
    ids=["no bullet changed", "not above the limit"],
)
def test_other_commits_store_none(operation: Operation, bullets: int) -> None:
    made = _planned(operation, bullets=bullets)
    assert with_schedule(made, ABOVE_TWO, "ada") is made
    assert with_schedule(made, ABOVE_TWO, "ada", OTHER_WORK) is made
    assert with_schedule(_planned(Add(content="Draw a bar")), Policy(), "ada").scheduled is None


def test_a_merge_is_noted_and_makes_nothing_due() -> None:
    merge = Merge(bullet_ids=("gen-00001", "gen-00002"), force=True)
    made = with_schedule(_planned(merge, Pin(bullet_id="gen-00003"), bullets=5), ABOVE_TWO, "ada")
    assert made.scheduled is None
    assert made.snapshot.access.consolidation == ConsolidationNote(made.snapshot.playbook.next_id, "last")


@pytest.mark.parametrize(("name", "noted"), [("default", True), ("api", False)])
def test_a_run_that_is_stored_counts_where_it_is_of_the_memory(name: str, noted: bool) -> None:
    work = ConsolidationWork(name=name).as_pending("run")
    planned = _planned(Add(content="Draw a bar"))
    made = with_schedule(planned, ABOVE_TWO, "ada", work)
    assert made.scheduled is None
    next_id = planned.snapshot.playbook.next_id if noted else 0
    assert made.snapshot.access.consolidation == ConsolidationNote(next_id, "last")


def test_a_run_is_named_with_its_playbook_unless_that_is_the_memory() -> None:
    assert ended_run("run", "default") == "run"
    assert ended_run("run", "api") == "run api"
    assert not is_run(OTHER_WORK)
    assert read_consolidation(OTHER_WORK) is None


async def test_a_run_that_a_caller_stores_takes_the_place_of_the_due_one() -> None:
    store, texts = SQLiteStore(policy=ABOVE_TWO), ("Draw a bar", "Name the unit", "Estimate first")
    assert (await store.commit("ada", adding(*texts), Snapshot())).scheduled is not None
    work = ConsolidationWork().as_pending("run")
    assert (await store.commit("bob", adding(*texts), Snapshot(), None, work)).scheduled is None
    assert [item.pending_id for item in await store.list_pending("bob")] == ["run"]


def test_a_consolidation_waits_until_learning_is_done() -> None:
    assert ConsolidationWork().as_pending("run").priority < OTHER_WORK.priority
