"""Laws over randomly interleaved writers: nothing is lost or applied twice, whatever they had loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ace_graph.base.portal import portal
from ace_graph.memory import Commit, Snapshot, dump_playbook
from ace_graph.memory.delta import Add, Delta, Judge, Operation, Tag
from ace_graph.memory.stores import KeyedStore
from ace_graph.testing import check
from ace_graph.testing.conformance import StoreUnderTest, new_learner, record, rewriting
from tests.memory.delta.generated_deltas import operations
from tests.memory.stores.stores_under_test import MemorySubject, SQLiteSubject

WRITERS = 3


@dataclass
class Writer:
    """A process: a store, the newest state that it has seen, and what it has committed."""

    store: KeyedStore
    seen: Snapshot = field(default_factory=Snapshot)
    done: list[tuple[Delta, Commit]] = field(default_factory=list[tuple[Delta, Commit]])

    def load(self, learner: str) -> None:
        self.seen = portal().run_sync(self.store.load(learner, self.seen))

    def commit(self, learner: str, delta: Delta, *, looks: bool) -> Commit:
        """Commit on what was seen last; a writer that `looks` sees the outcome, another one does not."""
        made = record().model_copy(update={"turn_id": delta.op_id})
        done = portal().run_sync(self.store.commit(learner, delta, self.seen, made))
        self.done.append((delta, done))
        if looks:
            self.seen = done.snapshot
        return done


steps = st.lists(
    st.tuples(st.integers(0, WRITERS - 1), st.sampled_from(("load", "write", "write blindly", "repeat"))),
    max_size=14,
)


@pytest.fixture(params=["memory", "SQLite"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> StoreUnderTest:
    return MemorySubject() if request.param == "memory" else SQLiteSubject(tmp_path / "ace.db")


@pytest.fixture
def stores(subject: StoreUnderTest) -> Iterator[list[KeyedStore]]:
    opened = [subject.open() for _ in range(WRITERS)]
    yield opened
    for store in opened:
        portal().run_sync(store.close())


# every example has a learner of its own, so the stores may be shared
laws = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def _walk(
    stores: list[KeyedStore], walk: list[tuple[int, str]], wanted: list[tuple[Operation, ...]]
) -> tuple[str, list[Writer]]:
    """Let writers load, write and repeat in this order; `wanted` is what they write, one after the other."""
    learner, writers = new_learner(), [Writer(store) for store in stores]
    todo = iter(wanted)
    for number, act in walk:
        writer = writers[number]
        if act == "load":
            writer.load(learner)
        elif act == "repeat" and writer.done:
            delta, first = writer.done[0]
            again = portal().run_sync(writer.store.commit(learner, delta, writer.seen))
            assert (again.status, again.report) == ("repeated", first.report)
        else:
            writer.commit(learner, rewriting(*next(todo, ())), looks=act == "write")
    return learner, writers


def _lessons(count: int) -> list[tuple[Operation, ...]]:
    """Each votes for the first fact, adds one, then judges a turn in which the first was used."""
    return [
        (
            Tag(bullet_id="gen-00001", tag="helpful"),
            Add(content=f"Fact {n} is about {n * 7}"),
            Judge(turn_id=f"t{n}", source="tool", verdict="failure", bullet_ids=("gen-00001",)),
        )
        for n in range(count)
    ]


@laws
@given(steps)
def test_no_operation_is_lost_or_applied_twice(stores: list[KeyedStore], walk: list[tuple[int, str]]) -> None:
    learner, writers = _walk(stores, walk, _lessons(len(walk)))
    commits = [commit for writer in writers for _, commit in writer.done]
    loaded = portal().run_sync(stores[0].load(learner))
    assert len(loaded.playbook) == len(commits)
    assert sorted(commit.version.n for commit in commits) == list(range(1, len(commits) + 1))
    assert loaded.access.access_clock == len(commits)
    if commits:
        first = loaded.playbook.entries["gen-00001"]
        assert (first.helpful, first.harmful) == (len(commits) - 1, len(commits))
    assert portal().run_sync(check(stores[0], learner)) == []


@laws
@given(steps, st.lists(st.lists(operations(), max_size=3).map(tuple), min_size=14, max_size=14))
def test_any_operations_leave_a_history_that_is_the_state(
    stores: list[KeyedStore], walk: list[tuple[int, str]], wanted: list[tuple[Operation, ...]]
) -> None:
    learner, writers = _walk(stores, walk, wanted)
    assert portal().run_sync(check(stores[0], learner)) == []
    given_out = [key for writer in writers for _, commit in writer.done for key in commit.report.added]
    assert len(set(given_out)) == len(given_out), "an id was given twice"
    for writer in writers:
        writer.load(learner)
    assert len({dump_playbook(writer.seen.playbook) for writer in writers}) == 1
