"""Very many learners in a PostgreSQL: the rows that the store writes for one, copied by the database.

The one has all that a learner may have: a memory with its history, turns, pending work, vectors, a named
playbook with a grant and a proposal, a team, and a conversation. Of ten copies one has pending work.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import LiteralString

import psycopg

from ace_graph.base.clock import SystemClock
from ace_graph.base.settings import Settings
from ace_graph.memory import PlaybookRef, Policy
from ace_graph.memory.catalogue import checked_entry
from ace_graph.memory.commit import Pending
from ace_graph.memory.delta.operations import Add, Reset
from ace_graph.memory.sharing import Grant, Proposal, Subject, Trust
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import VectorChange
from ace_graph.memory.stores.sql import TABLES, PostgresStore, of_playbooks
from ace_graph.memory.stores.store import Store
from ace_graph.server.conversations import AcceptedTurn, Conversations, open_conversations
from ace_graph.testing.conformance import NOON, adding, record, rewriting
from tests.plugins.sizes import PATIENT

__all__ = ["GROWING", "conversations_at", "copy_learner", "learner_name", "make_copied"]

COPIED = "copied"
"""The learner who is copied; all ids have this name in them, which becomes that of the copy."""
DAY = NOON + timedelta(days=1)
"""Everything was written before; conversations and replies a minute after each other before that."""

_CHECKPOINTS = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
GROWING = (
    *(table for table in TABLES if not table.endswith("duties")),
    *("ace_conversations", "ace_replies", "ace_paused"),
    *_CHECKPOINTS,
)
"""The tables that grow with the learners. What is under way, or failed, does not."""

_COLUMNS = """
SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_NAME = "('learner-' || lpad(n::text, 9, '0'))"
_MINUTE = (
    "to_char(timestamp '2026-01-02 12:00' - n * interval '1 minute', 'YYYY-MM-DD\"T\"HH24:MI:SS\"+00:00\"')"
)
_SPREAD = {
    ("ace_conversations", "used_at"): _MINUTE,
    ("ace_replies", "at"): _MINUTE,
    ("ace_pending", "created_at"): "created_at + n",
}


def learner_name(number: int) -> str:
    """Return the name of a copy."""
    return f"learner-{number:09}"


@asynccontextmanager
async def conversations_at(url: str) -> AsyncGenerator[Conversations]:
    """The conversations in the database."""
    settings = Settings.model_construct(store=url, conversations=url, postgres_connections=2)
    async with open_conversations(settings, SystemClock()) as conversations:
        yield conversations


async def make_copied(url: str, bullets: int, turns: int) -> None:
    """Write the learner who is copied into a new database, and keep those rows."""
    store = PostgresStore(url, Policy(history_kept=2), connections=2, timeout=PATIENT)  # so that it folds
    await _write_memory(store, bullets, turns)
    await _write_playbook(store)
    await store.close()
    async with conversations_at(url) as conversations:
        await _write_conversation(conversations)
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (
            "INSERT INTO checkpoints VALUES ('copied', '', 'c1', NULL, NULL, '{}', '{\"ace_run\": \"r\"}')",
            "INSERT INTO checkpoint_blobs VALUES ('copied', '', 'messages', '1', 'msgpack', 'text')",
            "INSERT INTO checkpoint_writes VALUES ('copied', '', 'c1', 't', 0, 'messages', NULL, 'text', '')",
            f"CREATE SCHEMA {COPIED}",
            *(f"CREATE TABLE {COPIED}.{table} AS TABLE {table}" for table in GROWING),
            # What a named playbook never has, or not yet: its tables must not be empty.
            *(
                f"INSERT INTO {COPIED}.{of_playbooks(table)} SELECT * FROM {table} "
                f"WHERE NOT EXISTS (SELECT 1 FROM {of_playbooks(table)})"
                for table in GROWING
                if of_playbooks(table) != table
            ),
        ):
            connection.execute(statement.encode())


def copy_learner(url: str, first: int, last: int) -> None:
    """Add the copies with these numbers, and let the database count what it has."""
    with psycopg.connect(url, autocommit=True) as connection:
        for table in GROWING:
            columns = connection.execute(_COLUMNS.encode(), (table,)).fetchall()
            names = ", ".join(name for name, _ in columns)
            values = ", ".join(_copied(table, name, kind) for name, kind in columns)
            every = 10 if table in ("ace_pending", "ace_named_pending") else 1
            connection.execute(
                f"INSERT INTO {table} ({names}) SELECT {values} FROM {COPIED}.{table} "
                f"CROSS JOIN generate_series({first}, {last}) n WHERE n % {every} = 0".encode()
            )
        connection.execute(b"VACUUM ANALYZE")


def _copied(table: str, column: str, kind: str) -> str:
    if (spread := _SPREAD.get((table, column))) is not None:
        return spread
    long = column.endswith("json") or column == "body"
    return f"replace({column}, '{COPIED}', {_NAME})" if kind == "text" and not long else column


async def _write_memory(store: Store, bullets: int, turns: int) -> None:
    texts = [f"Step {n}: find the common denominator of {n} and {n + 1}" for n in range(bullets)]
    first = rewriting(Reset(), *(Add(content=text) for text in texts))  # with which stamps begin anew
    snapshot = (await store.commit(COPIED, first, Snapshot())).snapshot
    for n in range(turns):
        made = record(n, turn_id=f"turn-{n}")
        commit = await store.commit(COPIED, adding(f"Fact {n} of the learner", minute=n), snapshot, made)
        snapshot = commit.snapshot
    work = Pending(pending_id="work", turn_id="turn-0", body="learn from it" * 100)
    await store.commit(COPIED, adding("One more fact", minute=60), snapshot, None, work)
    vectors = VectorChange("model", {"hash": b"\x01" * 64})
    await store.put_vectors(COPIED, snapshot.version.epoch, vectors)


async def _write_playbook(store: Store) -> None:
    entry = checked_entry(f"{COPIED}-playbook", PlaybookRef(COPIED, "api_client"), NOON)
    to = Subject.parse(f"user:{COPIED}-friend")
    grant = Grant(to, "viewer", entry.playbook_id, COPIED, NOON)
    await store.playbooks.create(entry, adding("Check the sign last"), (grant,))
    await store.add_members(f"{COPIED}-team", [COPIED])
    proposal = Proposal(
        proposal_id=f"{COPIED}-proposal",
        playbook_id=entry.playbook_id,
        delta=adding("Draw a bar"),
        lineage=("bob/gen-00001",),
        trust=Trust.PROVEN,
        by=f"{COPIED}-friend",
        at=NOON,
        expires=DAY,
    )
    await store.playbooks.put_proposal(proposal)


async def _write_conversation(conversations: Conversations) -> None:
    turn = AcceptedTurn(f"{COPIED}-run", "lesson", COPIED, "{}", COPIED)
    await conversations.accept(turn)
    await conversations.finish(turn)
    await conversations.pause(COPIED, True)
    reply: LiteralString = f"INSERT INTO ace_replies VALUES ('{COPIED}', 'key', 'request', '', 200, '[]', '')"
    await conversations.database.execute(reply, ())
