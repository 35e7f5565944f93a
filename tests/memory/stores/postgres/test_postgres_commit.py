"""What a commit to PostgreSQL sends: one statement, unless it folds, meets a writer, or must look first."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

from ace_graph.memory import Pending, Policy, Snapshot
from ace_graph.memory.delta import Add
from ace_graph.memory.stores import HEAD_COLUMNS
from ace_graph.memory.stores.sql import PostgresStore, SQLiteStore
from ace_graph.testing.conformance import adding, new_learner, record, rewriting, write
from tests.memory.stores.postgres.subject import PostgresSubject, sent_statements
from tests.plugins.sizes import PATIENT

_COMPARED = ", ".join(name for name in HEAD_COLUMNS.split(", ") if name not in ("epoch", "etag"))


@pytest.mark.parametrize("kind", ["turn", "delta", "pending"])
async def test_a_commit_is_one_statement(postgres: str, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    learner, delta = new_learner(), adding("Name the unit")
    work = Pending(pending_id="later", turn_id="t1", body="{}") if kind == "pending" else None
    async with PostgresStore(postgres, timeout=PATIENT) as store:
        base = (await write(store, learner, adding("Draw a bar"))).snapshot
        with sent_statements(monkeypatch) as sent:
            done = await store.commit(learner, delta, base, None if kind == "delta" else record(), work)
        assert len(sent) == 1
        assert b"user_id" in sent[0]
        assert done.snapshot == await store.load(learner)
        found = await store.list_pending(learner)
        assert [each.pending_id for each in found] == (["later"] if work else [])
        assert (await store.commit(learner, delta, base)).status == "repeated"


async def test_a_commit_that_meets_another_takes_the_lock(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = new_learner()
    async with (
        PostgresStore(postgres, timeout=PATIENT) as store,
        PostgresStore(postgres, timeout=PATIENT) as other,
    ):
        old = (await write(store, learner, adding("Draw a bar"))).snapshot
        await write(other, learner, adding("Name the unit"))
        with sent_statements(monkeypatch) as sent:
            done = await store.commit(learner, adding("Check the sum"), old)
        assert b"FOR UPDATE" in b" ".join(sent[1:])
        assert [each.content for each in done.snapshot.playbook.bullets()] == [
            "Draw a bar",
            "Name the unit",
            "Check the sum",
        ]
        assert done.snapshot == await store.load(learner)


async def test_a_fold_is_due_when_it_is_on_sqlite(postgres: str, tmp_path: Path) -> None:
    """Content and stamps, by their bytes and by the number of effects that the history keeps."""
    learner, policy = new_learner(), Policy(history_kept=9)
    heads, folded = list[tuple[object, ...]](), set[tuple[object, ...]]()
    async with (
        PostgresStore(postgres, policy, timeout=PATIENT) as store,
        SQLiteStore(tmp_path / "ace.db", policy) as beside,
    ):
        ours = theirs = Snapshot()
        for number in range(45):
            text = f"Note {number}: {' '.join(f'word{number}x{place}' for place in range(150))}"
            delta = rewriting(Add(content=text[:1_990]))
            ours = (await store.commit(learner, delta, ours, record(number))).snapshot
            theirs = (await beside.commit(learner, delta, theirs, record(number))).snapshot
            select = f"SELECT {_COMPARED} FROM ace_learners WHERE user_id = "
            with closing(connect(tmp_path / "ace.db")) as connection:
                heads = connection.execute(f"{select}?", (learner,)).fetchall()
            assert await PostgresSubject(postgres).sql(f"{select}%s", learner) == heads
            folded.add(heads[0][6:8])
    assert len(folded) > 4, "some commits folded"
