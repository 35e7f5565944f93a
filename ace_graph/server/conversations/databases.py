"""The protocol of a database of conversations, which SQLite and PostgreSQL implement.

Statements have `?` for a value, which `PostgresDatabase` replaces by its own placeholder.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, LiteralString, Protocol, TypeVar, cast

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from psycopg import AsyncConnection, Error, IsolationLevel
from psycopg.rows import DictRow, TupleRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ace_graph.base.errors import OtherSchema, StoreUnavailable
from ace_graph.memory.stores.base import Timeouts
from ace_graph.memory.stores.sql.postgres import connection_options
from ace_graph.memory.stores.sql.postgres_errors import Address, checked_address, is_lost, translated

R = TypeVar("R")
Row = tuple[object, ...]
Statement = tuple[LiteralString, Sequence[object]]
"""The text of a statement, and its values."""
Execute = Callable[[LiteralString, Sequence[object]], Coroutine[Any, Any, list[Row]]]  # Any: asyncio's own
"""Runs one statement in a transaction and returns its rows."""
Work = Callable[[Execute], Coroutine[Any, Any, R]]  # Any: asyncio's own
"""What a transaction does. It awaits its statements and nothing else."""


class ConversationDatabase(Protocol):
    """An open database with our tables and LangGraph's checkpoints."""

    @property
    def saver(self) -> BaseCheckpointSaver[str]:
        """LangGraph's checkpointer on the same database."""
        ...

    async def transaction(self, work: Work[R]) -> R:
        """Run `work` in one transaction, which is rolled back when it raises; return what it returns.

        Raises StoreUnavailable, and what `work` raises.
        """
        ...

    async def execute(self, statement: LiteralString, values: Sequence[object]) -> list[Row]:
        """Run one statement in a transaction of its own. Raises StoreUnavailable."""
        ...

    async def schema_change(self, work: Work[R]) -> R:
        """Run statements that change tables in one transaction, under a lock. Raises StoreUnavailable."""
        ...

    def translated(self) -> AbstractContextManager[None]:
        """Raise StoreUnavailable for the errors of the database's driver within the block.

        LangGraph's checkpointer raises them as they are.
        """
        ...

    async def messages(self, thread_id: str) -> list[AnyMessage]:
        """Return the messages of a thread, read off the event loop: a conversation may hold megabytes."""
        ...

    @property
    def named_tables(self) -> LiteralString:
        """The statement for those of two tables that the database has."""
        ...

    @property
    def thread_deletions(self) -> Sequence[LiteralString]:
        """The statements that delete all checkpoints of one thread, within a transaction of ours."""
        ...

    async def size(self) -> int:
        """Return the bytes that conversations take. Raises StoreUnavailable."""
        ...

    def prunings(self, thread_id: str, run_id: str) -> Sequence[Statement]:
        """Return the statements that delete all checkpoints of a thread but the last one of a run.

        It need not be the newest by its id, which holds the time: another server's clock may be ahead.
        """
        ...

    async def scrub(self) -> None:
        """Make deleted rows unreadable, if the database can do that on request."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


# The tables of the conversations: one schema, the same statements on SQLite and PostgreSQL.
#
# Any number of servers may start at once: the one with the lock makes the tables. A database with another
# schema is refused as it is.


SCHEMA: Final = "1"
_STATEMENTS: Final[tuple[LiteralString, ...]] = (
    "CREATE TABLE ace_conversation_schema (name TEXT PRIMARY KEY, made_at TEXT NOT NULL)",
    "CREATE TABLE ace_conversations (learner_id TEXT NOT NULL, id TEXT NOT NULL, "
    "thread_id TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL, used_at TEXT NOT NULL DEFAULT '', "
    "title TEXT NOT NULL DEFAULT '', PRIMARY KEY (learner_id, id))",
    "CREATE INDEX ace_conversations_by_use ON ace_conversations (used_at)",
    "CREATE INDEX ace_conversations_of_learner ON ace_conversations (learner_id, used_at)",
    "CREATE TABLE ace_runs (thread_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, learner_id TEXT NOT NULL, "
    "conversation_id TEXT NOT NULL, asked_json TEXT NOT NULL, owner TEXT NOT NULL, "
    "lease_until DOUBLE PRECISION NOT NULL, tries INTEGER NOT NULL)",
    "CREATE INDEX ace_runs_by_learner ON ace_runs (learner_id)",
    "CREATE TABLE ace_unsaved (turn_id TEXT PRIMARY KEY, learner_id TEXT NOT NULL, "
    "unsaved_json TEXT NOT NULL)",
    "CREATE TABLE ace_duties (name TEXT PRIMARY KEY, began_at DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE ace_given_up (run_id TEXT PRIMARY KEY, learner_id TEXT NOT NULL, "
    "conversation_id TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL)",
    "CREATE INDEX ace_given_up_by_learner ON ace_given_up (learner_id)",
    "CREATE TABLE ace_replies (learner_id TEXT NOT NULL, idempotency_key TEXT NOT NULL, "
    "request TEXT NOT NULL, at TEXT NOT NULL, status INTEGER, headers_json TEXT, body TEXT, "
    "PRIMARY KEY (learner_id, idempotency_key))",
    "CREATE INDEX ace_replies_by_time ON ace_replies (at)",
)


async def make_schema(database: ConversationDatabase, now: str) -> None:
    """Make the tables where there are none. Raises OtherSchema, StoreUnavailable."""

    async def make(execute: Execute) -> None:
        names = ("ace_conversation_schema", "ace_conversations")
        held = {row[0] for row in await execute(database.named_tables, names)}
        if not held:
            for statement in _STATEMENTS:
                await execute(statement, ())
            await execute("INSERT INTO ace_conversation_schema VALUES (?, ?)", (SCHEMA, now))
            return
        made: list[object] = ["older"]
        if "ace_conversation_schema" in held:
            made = [row[0] for row in await execute("SELECT name FROM ace_conversation_schema", ())]
        if made != [SCHEMA]:
            raise OtherSchema(
                f"the conversations have a schema of another version ({made[-1]}, here {SCHEMA}) and were "
                "left as they are: name another place in ACE_CONVERSATIONS; with that version of ace-graph, "
                "ace-graph learner export LEARNER --output FILE writes a learner's to a file"
            )

    await database.schema_change(make)


# LangGraph's SqliteSaver for an event loop: each of its calls is one job of the connection's thread.
#
# LangGraph's own AsyncSqliteSaver changes threads for every cursor, statement and row.


class _Run(Protocol):
    """Runs a job in the connection's thread."""

    def __call__(self, job: Callable[[], R]) -> Coroutine[Any, Any, R]: ...  # Any: asyncio's own


class ThreadSaver(BaseCheckpointSaver[str]):
    """A checkpointer whose calls run in a thread. `saver` is used in no other one."""

    def __init__(self, saver: BaseCheckpointSaver[str], run: _Run) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._run = run

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[str]:
        """Return a checkpointer whose saver deserializes these types too."""
        return ThreadSaver(self._saver.with_allowlist(extra_allowlist), self._run)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return the version after `current`."""
        return self._saver.get_next_version(current, channel)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint: the newest, or the one that `config` names."""
        return await self._run(partial(self._saver.get_tuple, config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # Any: LangGraph's own
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield the checkpoints, the newest first."""
        listed = partial(self._saver.list, config, filter=filter, before=before, limit=limit)
        for found in await self._run(lambda: list(listed())):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint; it is made into bytes in the thread, too."""
        return await self._run(partial(self._saver.put, config, checkpoint, metadata, new_versions))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints of a thread."""
        await self._run(partial(self._saver.delete_thread, thread_id))


# Conversations in a SQLite file: one connection in one thread, which LangGraph's checkpointer shares.
#
# A transaction is one job of that thread, so it costs one change of threads, however many statements it
# has.


_BUSY_TIMEOUT_MS = 10_000

# Both are LangGraph's tables; our threads have one namespace.
_PRUNE = (
    "DELETE FROM writes WHERE thread_id = ? AND checkpoint_id <> (SELECT MAX(checkpoint_id) FROM checkpoints "
    "WHERE thread_id = ? AND json_extract(CAST(metadata AS TEXT), '$.ace_run') = ?)",
    "DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_id <> (SELECT MAX(checkpoint_id) "
    "FROM checkpoints WHERE thread_id = ? AND json_extract(CAST(metadata AS TEXT), '$.ace_run') = ?)",
)
_NEWEST = (
    "SELECT type, checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = '' "
    "ORDER BY checkpoint_id DESC LIMIT 1"
)


async def open_sqlite(path: Path | None) -> SQLiteConversations:
    """Return the database in the file at `path`, made with its folder, for its owner only; None: in memory.

    Raises StoreUnavailable.
    """
    thread = ThreadPoolExecutor(1, thread_name_prefix="ace-graph-conversations")
    try:
        saver = await asyncio.get_running_loop().run_in_executor(thread, _open, path)
    except (OSError, sqlite3.Error) as error:
        thread.shutdown(wait=False)
        raise StoreUnavailable(f"conversations can't be kept in {path}: {error}") from error
    return SQLiteConversations(saver, thread)


def _open(path: Path | None) -> SqliteSaver:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path or ":memory:", check_same_thread=False)
    try:
        for pragma in (f"busy_timeout={_BUSY_TIMEOUT_MS}", "secure_delete=ON", "synchronous=NORMAL"):
            connection.execute(f"PRAGMA {pragma}")
        saver = SqliteSaver(connection)
        saver.setup()
    except sqlite3.Error:
        connection.close()
        raise
    return saver


class SQLiteConversations:
    """See `database.Database`. Statements and checkpoints are jobs of one thread, one after the other.

    A job whose caller is cancelled is done all the same: its transaction is whole.
    """

    named_tables: LiteralString = "SELECT name FROM sqlite_master WHERE name IN (?, ?)"
    thread_deletions: Sequence[LiteralString] = (
        "DELETE FROM writes WHERE thread_id = ?",
        "DELETE FROM checkpoints WHERE thread_id = ?",
    )

    def __init__(self, saver: SqliteSaver, thread: ThreadPoolExecutor) -> None:
        self._connection = saver.conn
        self._thread = thread
        self.saver = ThreadSaver(saver, self._run)

    async def transaction(self, work: Work[R]) -> R:
        """Run `work` with the file's write lock held."""
        with self.translated():
            return await self._run(partial(_transact, self._connection, work))

    async def execute(self, statement: LiteralString, values: Sequence[object]) -> list[Row]:
        """Run one statement."""
        return await self.transaction(lambda execute: execute(statement, values))

    async def schema_change(self, work: Work[R]) -> R:
        """Run statements that change tables: a transaction holds the file's write lock anyway."""
        return await self.transaction(work)

    @contextmanager
    def translated(self) -> Generator[None]:
        """Raise StoreUnavailable for the driver's errors."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreUnavailable(f"conversations can't be read or written: {error}") from error

    async def messages(self, thread_id: str) -> list[AnyMessage]:
        """Return the messages of a thread's newest checkpoint."""
        rows = await self.execute(_NEWEST, (thread_id,))
        if not rows:
            return []
        kind, value = cast("tuple[str, bytes]", rows[0])
        kept = await asyncio.to_thread(self.saver.serde.loads_typed, (kind, value))
        return cast("list[AnyMessage]", cast("Checkpoint", kept)["channel_values"].get("messages", []))

    def prunings(self, thread_id: str, run_id: str) -> Sequence[Statement]:
        """Return the statements that delete all checkpoints of a thread but the last one of a run."""
        return [(statement, (thread_id, thread_id, run_id)) for statement in _PRUNE]

    async def size(self) -> int:
        """Return the bytes of the file, without its log."""
        ((size,),) = await self.execute(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", ()
        )
        return int(cast("int", size))

    async def scrub(self) -> None:
        """Empty the write-ahead log, in which deleted rows can still be read."""
        with suppress(sqlite3.OperationalError):  # another process reads: the log is overwritten later
            await self._run(lambda: self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    async def close(self) -> None:
        """Close the connection when the jobs under way have ended."""
        await self._run(self._connection.close)
        self._thread.shutdown(wait=False)

    async def _run(self, job: Callable[[], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._thread, job)


def _transact(connection: sqlite3.Connection, work: Work[R]) -> R:
    """Run `work` in a transaction, in the connection's thread."""

    async def execute(statement: LiteralString, values: Sequence[object]) -> list[Row]:
        return connection.execute(statement, tuple(values)).fetchall()

    if connection.in_transaction:  # a checkpoint whose end failed, as on a full disk, has left it open
        connection.rollback()
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = _result_of(work(execute))
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
    return result


def _result_of(work: Coroutine[Any, Any, R]) -> R:  # Any: asyncio's own
    """Return what a coroutine returns that waits for nothing: its statements run within the call."""
    try:
        work.send(None)
    except StopIteration as end:
        return cast("R", end.value)
    work.close()
    raise TypeError("a transaction awaits its statements and nothing else")


# Conversations in PostgreSQL, which several servers may share.


_TRY_SECONDS = 0.05
_SCHEMA_LOCK = 0x6163655F  # "ace_" in ASCII; any constant would do
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(1633903968)"
"""Without a parameter: a statement that has one keeps its snapshot until the next one."""
_POSTGRES_PRUNE = (
    "DELETE FROM checkpoint_writes WHERE thread_id = ? AND checkpoint_id <> "
    "(SELECT MAX(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND metadata->>'ace_run' = ?)",
    "DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_id <> "
    "(SELECT MAX(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND metadata->>'ace_run' = ?)",
)
_PRUNE_VALUES = (
    "DELETE FROM checkpoint_blobs b WHERE b.thread_id = ? AND NOT EXISTS (SELECT 1 FROM checkpoints c, "
    "jsonb_each_text(c.checkpoint->'channel_versions') v WHERE c.thread_id = ? "
    "AND c.checkpoint_ns = b.checkpoint_ns AND v.key = b.channel AND v.value = b.version)"
)
_POSTGRES_NEWEST = (
    "SELECT b.type, b.blob FROM (SELECT checkpoint FROM checkpoints WHERE thread_id = ? "
    "AND checkpoint_ns = '' ORDER BY checkpoint_id DESC LIMIT 1) c "
    "JOIN checkpoint_blobs b ON b.thread_id = ? AND b.checkpoint_ns = '' AND b.channel = 'messages' "
    "AND b.version = c.checkpoint->'channel_versions'->>'messages'"
)
_SIZE = (
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
    "WHERE c.relkind = 'r' AND pg_table_is_visible(c.oid) AND c.relname IN ('checkpoints', "
    "'checkpoint_blobs', 'checkpoint_writes', 'ace_conversations', 'ace_runs', 'ace_unsaved')"
)
_Pool = AsyncConnectionPool[AsyncConnection[DictRow]]


async def open_postgres(
    url: str, connections: int = 16, setting: str = "ACE_CONVERSATIONS", timeouts: Timeouts | None = None
) -> PostgresConversations:
    """Return the database at `url`, which the setting names, with its tables; at most so many connections.

    Raises StoreUrlError, StoreUnavailable, StoreAuthError, StoreError.
    """
    address, timeouts = checked_address(url, setting), timeouts or Timeouts()
    pool = _Pool(
        url,
        min_size=1,
        max_size=connections,
        open=False,
        timeout=timeouts.read,
        reconnect_timeout=timeouts.connect,  # then the next call tries at once, however long it was away
        kwargs={**connection_options(timeouts), "row_factory": dict_row},
    )
    try:
        # Past the pool, which would not tell why it can't connect.
        async with await AsyncConnection.connect(
            url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=max(2, int(timeouts.connect)),
            target_session_attrs="read-write",
        ) as beside:
            await pool.open(wait=True, timeout=timeouts.read)
            saver = AsyncPostgresSaver(pool)
            await _make_tables(saver, beside, timeouts)
    except (Error, PoolTimeout, OSError) as error:
        await pool.close()
        raise translated(error, address) from error
    return PostgresConversations(pool, saver, address)


async def _make_tables(
    saver: AsyncPostgresSaver, beside: AsyncConnection[TupleRow], timeouts: Timeouts
) -> None:
    """Let LangGraph make its tables, one process at a time: two at once would collide.

    Its `CREATE INDEX CONCURRENTLY` waits for every snapshot, so nobody may wait for the lock in a statement:
    it is tried again and again. Raises TimeoutError, the driver's errors.
    """
    await beside.set_isolation_level(IsolationLevel.READ_COMMITTED)  # others keep a snapshot
    async with asyncio.timeout(timeouts.schema):
        while True:
            async with beside.transaction():
                tried = await beside.execute(_TRY_LOCK)
                if (await tried.fetchall())[0][0]:
                    await saver.setup()
                    return
            await asyncio.sleep(_TRY_SECONDS)


async def _execute(
    connection: AsyncConnection[DictRow], statement: LiteralString, values: Sequence[object]
) -> list[Row]:
    cursor = await connection.execute(statement.replace("?", "%s"), tuple(values))
    if cursor.description is None:
        return []
    return [tuple(cast("dict[str, object]", row).values()) for row in await cursor.fetchall()]


class PostgresConversations:
    """See `database.Database`."""

    named_tables: LiteralString = (
        "SELECT relname::text FROM pg_class WHERE relname IN (?, ?) AND pg_table_is_visible(oid)"
    )
    thread_deletions: Sequence[LiteralString] = (
        "DELETE FROM checkpoint_writes WHERE thread_id = ?",
        "DELETE FROM checkpoint_blobs WHERE thread_id = ?",
        "DELETE FROM checkpoints WHERE thread_id = ?",
    )

    def __init__(self, pool: _Pool, saver: AsyncPostgresSaver, address: Address) -> None:
        self._pool = pool
        self._address = address
        self.saver = saver

    async def transaction(self, work: Work[R]) -> R:
        """Run `work` on one connection."""
        with self.translated():
            try:
                async with self._pool.connection() as connection, connection.transaction():
                    return await work(partial(_execute, connection))
            except Error as error:
                if is_lost(error):  # the others that were idle are lost, too
                    await self._pool.check()
                raise

    async def execute(self, statement: LiteralString, values: Sequence[object]) -> list[Row]:
        """Run one statement."""
        return await self.transaction(lambda execute: execute(statement, values))

    async def schema_change(self, work: Work[R]) -> R:
        """Run statements that change tables, under an advisory lock."""

        async def locked(execute: Execute) -> R:
            await execute("SELECT pg_advisory_xact_lock(?)", (_SCHEMA_LOCK,))
            return await work(execute)

        return await self.transaction(locked)

    @contextmanager
    def translated(self) -> Generator[None]:
        """Raise StoreUnavailable for the driver's errors."""
        try:
            yield
        except (Error, PoolTimeout) as error:
            raise StoreUnavailable(f"conversations can't be read or written: {self._why(error)}") from error

    def _why(self, error: Error | PoolTimeout) -> str:
        if not isinstance(error, PoolTimeout):
            return str(translated(error, self._address))
        return (
            f"PostgreSQL at {self._address.place} gave no connection within {self._pool.timeout:g} s: check "
            "that it runs; if it does, raise ACE_POSTGRES_CONNECTIONS"
        )

    async def messages(self, thread_id: str) -> list[AnyMessage]:
        """Return the messages of a thread's newest checkpoint."""
        rows = await self.execute(_POSTGRES_NEWEST, (thread_id, thread_id))
        if not rows:
            return []
        kind, value = cast("tuple[str, bytes]", rows[0])
        return cast("list[AnyMessage]", await asyncio.to_thread(self.saver.serde.loads_typed, (kind, value)))

    def prunings(self, thread_id: str, run_id: str) -> Sequence[Statement]:
        """Return the statements that delete all checkpoints of a thread but the last one of a run.

        The last one deletes values that only those used.
        """
        run = (thread_id, thread_id, run_id)
        return [*((statement, run) for statement in _POSTGRES_PRUNE), (_PRUNE_VALUES, (thread_id, thread_id))]

    async def size(self) -> int:
        """Return the bytes of our tables and LangGraph's, with their indexes."""
        ((size,),) = await self.execute(_SIZE, ())
        return int(cast("int", size))

    async def scrub(self) -> None:
        """Do nothing: PostgreSQL's vacuum overwrites deleted rows in its own time."""

    async def close(self) -> None:
        """Close the pool."""
        await self._pool.close()
