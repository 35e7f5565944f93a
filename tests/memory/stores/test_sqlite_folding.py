"""Folding on SQLite: what is missing or of another history is an error, and nothing is half written.

Each fault leaves the file as it was, and the message says what to do.
"""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path

import pytest

from ace_graph.base import IncompleteState, NewerFormat, StoreUnavailable
from ace_graph.base.portal import portal
from ace_graph.memory import Policy, Snapshot, dump_access, dump_playbook
from ace_graph.memory.delta import rollback_to
from ace_graph.memory.stores import Rows, Store
from ace_graph.memory.stores.sql import SQLiteDatabase, SQLiteStore, SQLiteTables
from ace_graph.testing import check
from ace_graph.testing.conformance import NOON, adding, contents, record, rewriting, touching, write
from tests.plugins.sizes import PATIENT

_LONG = "Write the numbers below each other and line up their points before you add or subtract them. " * 9
_REMEDY = "restore the database from a backup"


def _large(number: int) -> list[str]:
    """Texts whose effect alone makes a fold due."""
    return [f"Rule {number} of part {each} says {number * 100 + each * 7}. {_LONG}" for each in range(60)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ace.db"


async def _learn(path: Path, facts: int = 5) -> list[Snapshot]:
    """Store facts in a commit each; return the states."""
    async with SQLiteStore(path) as store:
        return [
            (await write(store, "alice", adding(f"Fact {n} is about {n * 7}"))).snapshot for n in range(facts)
        ]


def _change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement, values).rowcount == 1


def _bases(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as connection:
        return [n for (n,) in connection.execute("SELECT version FROM ace_bases ORDER BY version")]


def _dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [*connection.iterdump()]


def _bytes(snapshot: Snapshot) -> tuple[object, ...]:
    return snapshot.version, dump_playbook(snapshot.playbook), dump_access(snapshot.access)


async def _is_incomplete(store: Store, *known: Snapshot | None) -> None:
    for each in known:
        with pytest.raises(IncompleteState, match=_REMEDY):
            await store.load("alice", each)


async def test_a_missing_effect_is_an_error_and_no_fold_hides_it(path: Path) -> None:
    states = await _learn(path)
    async with SQLiteStore(path) as store:
        held = await store.load("alice")
        _change(path, "DELETE FROM ace_deltas WHERE version = 3")
        before = _dump(path)
        await _is_incomplete(store, None, states[0])
        with pytest.raises(IncompleteState, match="version 3 is missing"):
            await store.commit("alice", adding(*_large(1)), held)  # it would fold what it holds
        with pytest.raises(IncompleteState):
            await store.commit("alice", adding("Draw a bar"), Snapshot())
        assert _dump(path) == before
        assert _bytes(await store.load("alice", states[3])) == _bytes(states[4])  # it needs no older part


async def test_missing_touches_are_an_error_and_no_fold_hides_them(path: Path) -> None:
    await _learn(path, 4)
    async with SQLiteStore(path) as store:
        held = await store.load("alice")
        _change(path, "DELETE FROM ace_touches WHERE clock = 2")
        await _is_incomplete(store, None)
        many = [f"base:{n:032d}" for n in range(600)]
        with pytest.raises(IncompleteState, match=_REMEDY):
            await store.commit("alice", touching(*many), held)


async def test_a_base_that_is_newer_than_the_state_is_an_error(path: Path) -> None:
    await _learn(path)
    async with SQLiteStore(path) as store:
        await write(store, "alice", adding(*_large(1)))
        _change(path, "UPDATE ace_learners SET version = 4, etag = 'of a backup'")
        await _is_incomplete(store, None)


@pytest.mark.parametrize("column", ["memory_json = memory_json || ' '", "etag = 'another'", "checksum = 1"])
async def test_a_damaged_base_is_an_error(path: Path, column: str) -> None:
    async with SQLiteStore(path) as store:
        await write(store, "alice", adding(*_large(1)))
        _change(path, f"UPDATE ace_bases SET {column}")
        await _is_incomplete(store, None)


async def test_a_missing_base_is_an_error_and_so_are_damaged_stamps(path: Path) -> None:
    async with SQLiteStore(path) as store:
        await write(store, "alice", adding(*_large(1)))
        await write(store, "alice", touching(*(f"base:{n:032d}" for n in range(600))))
        known = await store.load("alice")
        _change(path, "UPDATE ace_stamps SET stamps_json = replace(stamps_json, ':2', ':1')")
        await _is_incomplete(store, None)
        assert _bytes(await store.load("alice", known)) == _bytes(known)
        _change(path, "DELETE FROM ace_bases")
        await _is_incomplete(store, None)


async def test_a_process_killed_half_way_through_a_fold_changes_nothing(path: Path) -> None:
    await _learn(path, 2)
    before = _dump(path)
    code = (
        "import asyncio, os\n"
        "from ace_graph.memory.stores import states\n"
        "from ace_graph.memory.stores.sql.sqlite import SQLiteStore\n"
        "from ace_graph.testing.conformance.writing import write\n"
        "from tests.memory.stores.test_sqlite_folding import _large, adding\n"
        "put_base = states.put_base\n"
        "async def put_and_die(*given):\n"  # after head and base were written, before anything else
        "    await put_base(*given)\n"
        "    os._exit(9)\n"
        "states.put_base = put_and_die\n"
        f"asyncio.run(write(SQLiteStore({str(path)!r}), 'alice', adding(*_large(1))))\n"
    )
    root = Path(__file__).parents[3]
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], cwd=root, timeout=PATIENT, check=False
    )
    assert done.returncode == 9
    assert _dump(path) == before
    async with SQLiteStore(path) as store:
        await write(store, "alice", adding(*_large(1)))
        assert len((await store.load("alice")).playbook) == 2 + len(_large(1))
        assert await check(store, "alice") == []
    assert _bases(path) == [3]


async def test_two_writers_at_once_fold_once(path: Path) -> None:
    """Both have made the text of a new base; the second finds its plan outdated, and folds no more."""
    async with SQLiteStore(path) as one, SQLiteStore(path) as two:
        await write(one, "alice", adding(*_large(0)[:30]))
        known = await two.load("alice")
        assert _bases(path) == []
        await asyncio.gather(
            one.commit("alice", adding(*_large(1)[:30]), known),
            two.commit("alice", adding(*_large(2)[:30]), known),
        )
        assert _bases(path) == [2]
        assert len((await one.load("alice")).playbook) == 90
        assert await check(two, "alice") == []


async def test_a_fold_deletes_the_base_before_it_and_keeps_that_of_the_history(path: Path) -> None:
    async with SQLiteStore(path, Policy(history_kept=3)) as store:
        for n in range(1, 12):
            await write(store, "alice", adding(f"Fact {n} is about {n * 7}"))
            history = await store.history("alice")
            assert len(_bases(path)) <= 2
            assert history.base_n in (0, *_bases(path))
        assert _bases(path) == [6, 9]
        await write(store, "alice", adding(*_large(1)))
        assert _bases(path) == [9, 12]
        for n in (13, 14):
            await write(store, "alice", adding(*_large(n)))
            assert _bases(path) == [9, 12, n]
        assert await check(store, "alice") == []


async def test_clocks_that_jump_change_nothing(path: Path) -> None:
    """Neither a system clock that is set back nor an access clock that a rollback sets forward."""
    async with SQLiteStore(path) as store, SQLiteStore(path) as other:
        states = [await store.load("alice")]
        for n, days in enumerate((0, 900, -900, 3, -3)):
            delta = adding(f"Fact {n} is about {n * 7}")
            moved = delta.model_copy(update={"now": NOON + timedelta(days=days)})
            states.append((await write(store, "alice", moved, record(n))).snapshot)
        back = rollback_to(await store.history("alice"), states[-1], 2)
        ahead = back.model_copy(update={"uses": back.uses.model_copy(update={"clock": 4_000})})
        states.append((await write(store, "alice", rewriting(ahead))).snapshot)
        assert states[-1].access.access_clock == 4_001
        states.append((await write(store, "alice", touching("gen-00001"))).snapshot)
        for known in states:
            assert _bytes(await other.load("alice", known)) == _bytes(states[-1])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ace_learners SET access_json = replace(access_json, '\"format\":4', '\"format\":5')",
        'UPDATE ace_deltas SET effect_json = replace(effect_json, \'"format":3\', \'"format":4,"new":1\')',
        "UPDATE ace_touches SET touches_json = replace(touches_json, '\"format\":1', '\"format\":2')",
    ],
)
async def test_a_part_of_a_newer_format_is_named_as_such(path: Path, statement: str) -> None:
    """A process of a newer version wrote while this one was connected: nothing is read wrong, or written."""
    async with SQLiteStore(path) as store:
        await write(store, "alice", adding("Draw a bar"))
        _change(path, statement)
        before = _dump(path)
        with pytest.raises(NewerFormat, match="upgrade ace-graph"):
            await store.load("alice")
        with pytest.raises(NewerFormat, match="upgrade ace-graph"):
            await store.commit("alice", adding("Name the unit"), Snapshot())
        assert _dump(path) == before


@asynccontextmanager
async def _on_a_disk_of(path: Path, pages: int) -> AsyncGenerator[Store]:
    """Open a store whose file can grow by so many pages."""
    database = SQLiteDatabase(path, lock_timeout=5)
    async with Store(database, new_token=iter("abcdefgh").__next__) as store:
        await store.load("alice")

        async def limit(rows: Rows) -> None:
            assert isinstance(rows, SQLiteTables)
            ((used,),) = await rows.fetch("PRAGMA page_count")
            await rows.fetch(f"PRAGMA max_page_count = {used + pages}")

        await portal().run(database.run("learners", limit, writes=True))
        yield store


async def test_a_full_disk_during_a_fold_changes_nothing(path: Path) -> None:
    states = await _learn(path, 2)
    async with _on_a_disk_of(path, 30) as store:  # room for the effect or the base, not for both
        before = _dump(path)
        with pytest.raises(StoreUnavailable, match="make room"):
            await store.commit("alice", adding(*_large(1)), states[-1])
        assert _dump(path) == before
        assert _bytes(await store.load("alice")) == _bytes(states[-1])
        await store.commit("alice", adding("Draw a bar"), states[-1])
    async with SQLiteStore(path) as store:
        assert len((await store.load("alice")).playbook) == 3
        assert await check(store, "alice") == []


async def test_a_reader_whose_history_was_replaced_reads_the_one_that_is_there(path: Path) -> None:
    """A backup was restored and written to; versions and clock are those of what was lost."""
    backup = path.with_name("backup.db")
    async with SQLiteStore(path) as store, SQLiteStore(path) as other:
        await write(store, "alice", adding("Draw a bar"))
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(backup)) as target:
            source.backup(target)
        await write(store, "alice", adding("Name the unit"))
        lost = (await write(store, "alice", touching("gen-00001"))).snapshot
        for leftover in ("ace.db-wal", "ace.db-shm"):
            path.with_name(leftover).unlink()
        backup.replace(path)
        for text in ("Estimate first", "Simplify last", "Check by adding"):
            await write(other, "alice", adding(text))
        assert _bytes(await store.load("alice", lost)) == _bytes(await other.load("alice"))
        await store.commit("alice", adding("Count the zeros"), lost)
        assert contents(await other.load("alice")) == sorted(
            ["Draw a bar", "Estimate first", "Simplify last", "Check by adding", "Count the zeros"]
        )


async def test_use_that_was_lost_with_a_backup_is_not_carried_on(path: Path) -> None:
    """The same content at the same clock, reached by other commits: the stamps are those that are stored."""
    backup = path.with_name("backup.db")
    async with SQLiteStore(path) as store, SQLiteStore(path) as other:
        await write(store, "alice", adding("Draw a bar", "Name the unit"))
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(backup)) as target:
            source.backup(target)
        lost = (await write(store, "alice", touching("gen-00001"))).snapshot
        for leftover in ("ace.db-wal", "ace.db-shm"):
            path.with_name(leftover).unlink()
        backup.replace(path)
        there = (await write(other, "alice", touching("gen-00002"))).snapshot
        assert lost.access.access_clock == there.access.access_clock
        assert lost.version == there.version
        assert _bytes(await store.load("alice", lost)) == _bytes(there)
        await store.commit("alice", touching("gen-00001"), lost)
        loaded = await other.load("alice")
        assert dict(loaded.access.stamps) == {"gen-00001": 3, "gen-00002": 2}
        assert await check(store, "alice") == []
