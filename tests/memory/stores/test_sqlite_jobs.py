"""What a turn asks of the SQLite file: a job to load and one to commit, of as many statements at any size."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ace_graph.memory import Policy, Snapshot
from ace_graph.memory.delta import Add, Reset
from ace_graph.memory.stores import commit_queue as serialized_plan
from ace_graph.memory.stores.sql import SQLiteStore, SQLiteThread
from ace_graph.testing.conformance import adding, new_learner, record, rewriting
from benchmarks.corpus import bullets
from tests.memory.stores.stores_under_test import SQLiteSubject


class _Counted:
    """The jobs of the file's threads, and the contents that became text."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.jobs = self.contents = 0
        run, dump = SQLiteThread.run, serialized_plan.dump_base

        async def counted_run(
            thread: SQLiteThread, job: Callable[[sqlite3.Connection], Any], *, began: float | None = None
        ) -> Any:  # Any: whatever the job returns
            self.jobs += 1
            return await run(thread, job, began=began)

        def counted_dump(playbook: Any) -> str:  # Any: it is passed on
            self.contents += 1
            return dump(playbook)

        monkeypatch.setattr(SQLiteThread, "run", counted_run)
        monkeypatch.setattr(serialized_plan, "dump_base", counted_dump)


async def _turn(subject: SQLiteSubject, size: int, count: _Counted) -> tuple[int, int, int]:
    """Jobs, contents made into text, and statements of a turn that adds a bullet to so many."""
    learner, policy = new_learner(), Policy(max_bullets=10_000)
    async with SQLiteStore(subject.path, policy) as store:
        seed = rewriting(Reset(bullets=bullets(size)))
        first = (await store.commit(learner, seed, Snapshot())).snapshot
        first = (await store.commit(learner, adding("Draw a bar"), first, record())).snapshot
        count.jobs = count.contents = 0

        async def turn() -> None:
            base = await store.load(learner, first)
            await store.commit(learner, rewriting(Add(content="Name the unit")), base, record(2))

        traffic = await subject.measured(turn)
        return count.jobs, count.contents, traffic.statements


async def test_a_turn_is_two_jobs_and_no_content_at_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, subject = _Counted(monkeypatch), SQLiteSubject(tmp_path / "ace.db")
    small = await _turn(subject, 100, count)
    assert small == await _turn(subject, 3_000, count)
    assert small[:2] == (2, 0)
