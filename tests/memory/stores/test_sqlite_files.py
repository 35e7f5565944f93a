"""What a SQLite file can do to the store: missing, foreign, locked, read-only, full, old, newer, replaced.

Every fault is an error that names the file and what to do; nothing is overwritten.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ace_graph.base import CorruptPayload, OtherSchema, Settings, StoreUnavailable
from ace_graph.memory import Policy, Snapshot
from ace_graph.memory.delta import Reset
from ace_graph.memory.stores import TIMEOUT
from ace_graph.memory.stores.sql import SCHEMA, SQLiteStore
from ace_graph.testing import check
from ace_graph.testing.conformance import adding, contents, record, rewriting, write

_NOBODY = 65534


async def _refused_by(path: Path, error: type[Exception], *, says: str) -> None:
    async with SQLiteStore(path, lock_timeout=0.2) as store:
        for call in (store.load("alice"), store.commit("alice", adding("Draw a bar"), Snapshot())):
            with pytest.raises(error, match=says) as caught:
                await call
            assert str(path) in str(caught.value)
            assert "ACE_MEMORY_FILE or ACE_STORE" in str(caught.value)


async def _learn(path: Path, *texts: str) -> None:
    async with SQLiteStore(path) as store:
        for text in texts:
            await write(store, "alice", adding(text), record())


async def _known(path: Path) -> list[str]:
    async with SQLiteStore(path) as store:
        assert await check(store, "alice") == []
        return contents(await store.load("alice"))


async def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    async with SQLiteStore(tmp_path / "ace.db") as store:
        await write(store, "alice", adding("Draw a bar"))
        files = sorted(tmp_path.iterdir())
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in files}
    assert modes == {"ace.db": 0o600, "ace.db-shm": 0o600, "ace.db-wal": 0o600}


async def test_only_the_owner_can_read_it_where_there_are_no_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise PermissionError("this file system has no hard links")

    monkeypatch.setattr(os, "link", link)
    await _learn(tmp_path / "ace.db", "Draw a bar")
    assert stat.S_IMODE((tmp_path / "ace.db").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["ace.db"]


async def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "ace.db"
    path.touch()
    path.chmod(0o640)
    await _learn(path, "Draw a bar")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    await _refused_by(tmp_path / "no" / "ace.db", StoreUnavailable, says="No such file or directory")
    assert list(tmp_path.iterdir()) == []


async def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    await _refused_by(tmp_path, StoreUnavailable, says="is a folder: name a file in it")


async def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 100)
    before = path.read_bytes()
    await _refused_by(path, CorruptPayload, says="is not a SQLite database and was left as it is")
    assert path.read_bytes() == before


async def test_a_damaged_file_is_an_error_and_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "ace.db"
    await _learn(path, *(f"Fact {n} is about {n * 7}" for n in range(40)))
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = b"\xff" * (len(damaged) - 4096)
    path.write_bytes(damaged)
    await _refused_by(path, CorruptPayload, says="is damaged and was left as it is")
    assert path.read_bytes() == damaged


async def test_a_locked_file_is_an_error_after_the_timeout(tmp_path: Path) -> None:
    path = tmp_path / "ace.db"
    await _learn(path, "Draw a bar")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with SQLiteStore(path, lock_timeout=0.2) as store:
            base = await store.load("alice")
            with pytest.raises(StoreUnavailable, match="is locked by another process") as caught:
                await store.commit("alice", adding("Name the unit"), base)
            assert "ACE_MEMORY_FILE" in str(caught.value)
            other.execute("ROLLBACK")
            await store.commit("alice", adding("Name the unit"), base)
    assert await _known(path) == ["Draw a bar", "Name the unit"]


async def test_a_file_locked_from_the_start_is_an_error_too(tmp_path: Path) -> None:
    path = tmp_path / "ace.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        other.execute("CREATE TABLE hosts_own (x)")
        await _refused_by(path, StoreUnavailable, says="is locked by another process")


def test_a_call_waits_less_than_ten_seconds_by_default() -> None:
    assert Settings().store_timeout == TIMEOUT < 10


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user can reach, as pytest's own can not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def _unprivileged(path: Path, *, max_file_bytes: int = 0) -> list[str]:
    command = [sys.executable, "-m", "tests.memory.stores.unprivileged", str(path)]
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [*command, str(_NOBODY), str(max_file_bytes)], cwd=root, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


async def test_a_read_only_file_is_an_error_that_says_so(open_folder: Path) -> None:
    path = open_folder / "ace.db"
    await _learn(path, "Draw a bar")
    before = path.read_bytes()
    path.chmod(0o444)
    open_folder.chmod(0o555)
    said = _unprivileged(path)
    open_folder.chmod(0o777)
    assert said[-1].startswith("commit StoreUnavailable")
    assert str(path) in said[-1]
    assert "writable" in said[-1]
    assert path.read_bytes() == before


async def test_a_folder_without_permission_is_an_error_that_says_so(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    said = _unprivileged(open_folder / "ace.db")
    assert [line.split(":")[0] for line in said] == ["load StoreUnavailable", "commit StoreUnavailable"]
    assert "Permission denied" in said[0]


async def test_on_a_full_disk_a_load_works_and_a_commit_is_an_error(open_folder: Path) -> None:
    path = open_folder / "ace.db"
    await _learn(path, *(f"Fact {n} is about {n * 7}" for n in range(20)))
    os.chown(path, _NOBODY, _NOBODY) if os.geteuid() == 0 else None
    before = await _known(path)
    said = _unprivileged(path, max_file_bytes=32_768)
    assert said[0] == "load done"
    assert said[1].startswith("commit StoreUnavailable")
    assert "room" in said[1]
    assert await _known(path) == before


async def test_a_database_of_another_schema_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "ace.db"
    await _learn(path, "Draw a bar")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO ace_memory_schema VALUES ('9 later', '2030-01-01')")
    before = path.read_bytes()
    await _refused_by(path, OtherSchema, says="9 later.*left as it is.*playbook export.*playbook import")
    assert path.read_bytes() == before


async def test_tables_that_can_not_be_made_leave_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "host.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE ace_deltas (x)")
    await _refused_by(path, StoreUnavailable, says="table ace_deltas already exists")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("ace_deltas",)]


async def test_the_tables_are_made_once(tmp_path: Path) -> None:
    path = tmp_path / "ace.db"
    for _ in range(2):
        async with SQLiteStore(path) as store:
            await store.load("alice")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM ace_memory_schema").fetchall() == [(SCHEMA,)]


async def test_a_store_works_in_a_file_that_holds_other_tables(tmp_path: Path) -> None:
    path = tmp_path / "host.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE learners (name TEXT)")
        connection.execute("INSERT INTO learners VALUES ('the host''s own')")
    await _learn(path, "Draw a bar")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM learners").fetchall() == [("the host's own",)]


async def test_a_backup_restored_under_an_open_store_loses_no_later_update(tmp_path: Path) -> None:
    path, backup = tmp_path / "ace.db", tmp_path / "backup.db"
    async with SQLiteStore(path) as store:
        await write(store, "alice", adding("Draw a bar"))
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(backup)) as target:
            source.backup(target)
        lost = (await write(store, "alice", adding("Name the unit"))).snapshot
        for leftover in ("ace.db-wal", "ace.db-shm"):
            (tmp_path / leftover).unlink()
        backup.replace(path)
        done = await store.commit("alice", adding("Estimate first"), lost)
        assert contents(done.snapshot) == ["Draw a bar", "Estimate first"]
        assert done.version.n == lost.version.n
        assert done.version.etag != lost.version.etag
        seen = await store.load("alice", lost)
        assert contents(seen) == ["Draw a bar", "Estimate first"]
        assert await check(store, "alice") == []


async def test_a_file_deleted_under_an_open_store_is_created_again(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "ace.db"
    path.parent.mkdir()
    async with SQLiteStore(path) as store:
        await write(store, "alice", adding("Draw a bar"))
        shutil.rmtree(path.parent)
        path.parent.mkdir()
        assert (await store.load("alice")).absent
        await write(store, "alice", adding("Name the unit"))
    assert await _known(path) == ["Name the unit"]


async def test_forgetting_leaves_no_row_in_any_table(tmp_path: Path) -> None:
    path = tmp_path / "ace.db"
    async with SQLiteStore(path, Policy(history_kept=1)) as store:
        for learner in ("alice", "bob"):
            await write(store, learner, rewriting(Reset()))
            await write(store, learner, adding("Draw a bar"), record())
        await store.forget("alice")
    with closing(sqlite3.connect(path)) as connection:
        tables = ("learners", "bases", "stamps", "touches", "deltas", "turns")
        for table in (f"ace_{name}" for name in tables):
            owners = connection.execute(f"SELECT DISTINCT user_id FROM {table}").fetchall()
            assert owners == [("bob",)], table


async def test_what_was_forgotten_can_not_be_read_in_the_files(tmp_path: Path) -> None:
    secret = "Zanzibar"
    async with SQLiteStore(tmp_path / "ace.db") as store:
        await write(store, "bob", adding("Draw a bar"))
        await write(store, "alice", adding(f"{secret} is my home"), record(answer=secret))
        for n in range(5):
            await write(
                store, "alice", adding(f"In {secret} lives aunt number {n}"), record(n, answer=secret)
            )
        files = list(tmp_path.iterdir())
        assert any(secret.encode() in file.read_bytes() for file in files)
        await store.forget("alice")
        assert [file.name for file in files if secret.encode() in file.read_bytes()] == []


async def test_a_turn_that_changes_no_bullet_does_not_write_the_content(tmp_path: Path) -> None:
    path = tmp_path / "ace.db"
    async with SQLiteStore(path) as store:
        await write(store, "alice", adding("Draw a bar"))
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(
                "CREATE TRIGGER ace_no_write BEFORE INSERT ON ace_deltas "
                "BEGIN SELECT raise(ABORT, 'the content was written'); END"
            )
            connection.execute(
                "CREATE TRIGGER ace_no_base BEFORE INSERT ON ace_bases "
                "BEGIN SELECT raise(ABORT, 'a base was written'); END"
            )
        await write(store, "alice", adding(), record())
        with pytest.raises(StoreUnavailable, match="the content was written"):
            await write(store, "alice", adding("Name the unit"))
        assert await check(store, "alice") == []
