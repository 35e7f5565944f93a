"""Several processes on one SQLite file, some of them killed, lose and repeat nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ace_graph.memory.stores.sql import SCHEMA, SQLiteStore
from ace_graph.testing import check
from ace_graph.testing.conformance import adding, contents, rewriting, write
from tests.plugins.heavy import some_heavy
from tests.plugins.sizes import PATIENT

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).parents[3]


def _writers(path: Path, processes: int, commits: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.memory.stores.concurrent_writers", f"sqlite:///{path}", "alice"]
    return subprocess.Popen(
        [*command, str(processes), str(commits)],
        cwd=_ROOT,
        text=True,
        stdout=subprocess.PIPE,
        start_new_session=True,  # a group of its own, which can be killed whole
    )


def _finish(writers: subprocess.Popen[str]) -> list[str]:
    said, _ = writers.communicate(timeout=PATIENT)
    assert writers.returncode == 0
    return said.split()


def _kill_after(writers: subprocess.Popen[str], commits: int) -> list[str]:
    """Kill the writers once they have said that so many commits are done; return all that they said."""
    with writers:
        assert writers.stdout is not None
        said = [writers.stdout.readline() for _ in range(commits)]
        os.killpg(writers.pid, signal.SIGKILL)
        said += writers.stdout.readlines()
    assert writers.returncode == -signal.SIGKILL
    return [line.strip() for line in said]


async def test_eight_processes_may_make_the_database_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ace.db"
    assert len(_finish(_writers(path, 8, 1))) == 8
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM ace_memory_schema").fetchall() == [(SCHEMA,)]
    async with SQLiteStore(path) as store:
        assert len((await store.load("alice")).playbook) == 8
        assert await check(store, "alice") == []


async def test_twenty_processes_writing_for_one_learner_lose_no_update(tmp_path: Path) -> None:
    path, processes, commits = tmp_path / "ace.db", 20, 5
    async with SQLiteStore(path) as store:
        await write(store, "alice", adding("Draw a bar"))
    op_ids = _finish(_writers(path, processes, commits))
    assert len(set(op_ids)) == len(op_ids) == processes * commits
    async with SQLiteStore(path) as store:
        loaded = await store.load("alice")
        exported = await store.export("alice")
        assert await check(store, "alice") == []
    assert loaded.playbook.entries["gen-00001"].helpful == processes * commits
    assert len(loaded.playbook) == 1 + processes * commits
    assert loaded.version.n == loaded.access.access_clock == 1 + processes * commits
    assert {entry.op_id for entry in exported.history.entries} >= set(op_ids)
    assert len(exported.turns) == processes * commits


async def test_a_process_sees_what_another_one_learned(tmp_path: Path) -> None:
    path = tmp_path / "ace.db"
    async with SQLiteStore(path) as store:
        known = await store.load("alice")
        _finish(_writers(path, 1, 1))
        assert contents(await store.load("alice", known)) == ["Fact 1000 is about 7000"]


@pytest.mark.parametrize("acknowledged", some_heavy((1, 2, 3, 6, 10, 15), (1, 6).__contains__))
async def test_a_process_killed_in_mid_commit_leaves_whole_commits_only(
    tmp_path: Path, acknowledged: int
) -> None:
    path = tmp_path / "ace.db"
    said = _kill_after(_writers(path, 1, 1_000), acknowledged)
    async with SQLiteStore(path) as store:
        assert await check(store, "alice") == []
        exported = await store.export("alice")
        kept = [entry.op_id for entry in exported.history.entries]
        assert kept[: len(said)] == said, "an acknowledged commit is lost"
        assert len(kept) <= len(said) + 1, "more than the commit under way was added"
        assert len(exported.turns) == len(kept) == len(exported.snapshot.playbook)
        again = await write(store, "alice", rewriting(op_id=kept[-1]))
        assert again.status == "repeated"
        assert (await write(store, "alice", adding("Draw a bar"))).version.n == len(kept) + 1
        assert await check(store, "alice") == []


async def test_processes_killed_together_leave_the_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "ace.db"
    _kill_after(_writers(path, 3, 1_000), 9)
    async with SQLiteStore(path) as store:
        assert await check(store, "alice") == []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_forked_child_can_use_the_store_of_its_parent(tmp_path: Path) -> None:
    code = (
        "import asyncio, os, sys\n"
        "from ace_graph.memory.stores.sql.sqlite import SQLiteStore\n"
        "from ace_graph.testing.conformance.writing import adding, write\n"
        f"store = SQLiteStore({str(tmp_path / 'ace.db')!r})\n"
        "asyncio.run(write(store, 'alice', adding('Draw a bar')))\n"
        "child = os.fork()\n"
        "asyncio.run(write(store, 'alice', adding('Name the unit' if child else 'Estimate first')))\n"
        "if child:\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "    assert len(asyncio.run(store.load('alice')).playbook) == 3\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENT)


def test_an_unclosed_store_does_not_disturb_the_end_of_a_process(tmp_path: Path) -> None:
    code = (
        "import asyncio, gc\n"
        "from ace_graph.memory.stores.sql.sqlite import SQLiteStore\n"
        "from ace_graph.testing.conformance.writing import adding, write\n"
        f"stores = [SQLiteStore({str(tmp_path)!r} + '/' + name) for name in ('0.db', '1.db')]\n"
        "for store in stores: asyncio.run(write(store, 'alice', adding('Draw a bar')))\n"
        "del store, stores[0]; gc.collect()\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],  # -X dev would also write which steps were slow
        check=True,
        timeout=PATIENT,
        capture_output=True,
    )
    assert done.stderr == b""
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0.db", "1.db"]
