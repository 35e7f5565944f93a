"""No statement of the store or the conversations reads a whole table that grows with the learners.

The plans are those of a real PostgreSQL with the rows of many learners, for the values that were sent.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, cast

import psycopg
import pytest
from psycopg import AsyncConnection, AsyncCursor

from ace_graph.base.portal import portal
from ace_graph.memory.stores.listing import list_learners
from ace_graph.memory.stores.sql import PostgresStore
from ace_graph.server.conversations import ConversationLimits, Conversations, clean_conversations
from ace_graph.server.conversations.database import SQL
from ace_graph.server.conversations.repository import (
    AcceptedTurn,
    delete_conversation,
    find_conversation,
    list_conversations,
    rename_conversation,
)
from ace_graph.testing.conformance import VERBS, cases
from tests.memory.stores.large_cases import is_small
from tests.memory.stores.postgres.generated_rows import (
    DAY,
    GROWING,
    conversations_at,
    copy_learner,
    learner_name,
    make_copied,
)
from tests.memory.stores.postgres.subject import PostgresSubject
from tests.plugins.sizes import sized

LEARNERS = sized(10_000, 100_000)
_MANY = 2_000
"""A plan that is to read more rows than this one reads those of all learners."""
_READ_ALL_BELOW = frozenset({"Sort", "Hash", "WindowAgg", "Materialize", "ModifyTable"})
_COUNTED = re.compile(r"^SELECT count\(\*\) FROM ace_\w+( WHERE state = %s)?$")
"""Counts of everything, for /metrics and `doctor`."""

pytestmark = pytest.mark.heavy
Sent = dict[str, object]
"""Statements as they were sent, each with the values it was sent with first."""


@pytest.fixture(scope="module")
def crowded(postgres: str) -> str:
    """A database with many learners."""
    portal().run_sync(make_copied(postgres, 2, 2))
    copy_learner(postgres, 1, LEARNERS)
    return postgres


async def test_no_statement_of_the_store_reads_all_learners(
    crowded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = PostgresSubject(crowded)
    with sent_with_values(monkeypatch) as sent:
        for case in filter(is_small, cases(*(verb for verb in VERBS if verb != "damage"))):
            await case(subject)
        store = PostgresStore(crowded)
        await list_learners(store, search="learner-00000500")
        await store.list_pending(limit=10)
        await store.claim("worker", DAY, 60)
        await store.close()
    assert len(sent) > 100, "the suite ran"
    assert "\n".join(whole_reads(crowded, sent)) == ""


async def test_what_is_too_much_to_count_is_estimated(crowded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with PostgresStore(crowded) as store:
        counted = await store.sizes()
        monkeypatch.setattr("ace_graph.memory.stores.sql.postgres.COUNTED_ROWS", LEARNERS // 2)
        with sent_with_values(monkeypatch) as sent:
            estimated = await store.sizes()
    for what in ("learners", "turns", "deltas"):
        assert getattr(estimated, what) == pytest.approx(getattr(counted, what), rel=0.1)
        table = "ace_learners" if what == "learners" else f"ace_{what}"
        assert f"SELECT count(*) FROM {table}" not in sent


async def test_no_statement_of_the_conversations_reads_all_learners(
    crowded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with conversations_at(crowded) as conversations:
        with sent_with_values(monkeypatch) as sent:
            await _use(conversations)
    assert len(sent) > 30, "they were used"
    assert "\n".join(whole_reads(crowded, sent)) == ""


async def _use(conversations: Conversations) -> None:
    """Do everything that the server does with them, for one learner, and clean."""
    database, learner = conversations.database, learner_name(7)
    for number in range(2):
        turn = await conversations.accept(AcceptedTurn(f"run-{number}", "new", learner, "{}", "thread"))
        await conversations.renew(turn)
        await conversations.is_ours(turn.run_id)
        await conversations.finish(turn, answered=True)
    failed = await conversations.accept(AcceptedTurn("run-9", "failed", learner, "{}", "other thread"))
    await conversations.abandon(failed)
    await conversations.claim_orphans()
    await conversations.give_up()
    await conversations.given_up(learner)
    await conversations.paused(learner)
    await conversations.pause(learner, False)
    assert await database.messages("thread") == []
    await conversations.of(learner)
    await list_conversations(database, learner, 10, (DAY.isoformat(), "x"))
    found = await find_conversation(database, learner, "new")
    assert found is not None
    await rename_conversation(database, learner, found, "a title")
    await delete_conversation(database, learner, "new")
    await conversations.forget(learner)
    now = DAY - timedelta(minutes=LEARNERS - 100)
    limits = ConversationLimits(days=1 / 1440, kept=50)

    async def no_pause(_: float) -> None: ...

    assert await clean_conversations(database, limits, now, no_pause) > 90
    at = now.isoformat()
    for name, values in {
        "NOTE_REQUEST": (learner, "another key", "request", at, at),
        "KEEP_REPLY": (200, "[]", "", learner, "another key", "request"),
        "DROP_REQUEST": (learner, "another key"),
        "COPIED_PAGE": (learner, "", 100),
        "COPIED_ROW": (learner, "lesson"),
        "PUT_COPIED": (learner, "lesson", "thread", at, at, ""),
    }.items():
        await database.execute(SQL[name], values)
    await database.execute("DELETE FROM ace_replies WHERE at < ?", (at,))


@contextmanager
def sent_with_values(monkeypatch: pytest.MonkeyPatch) -> Generator[Sent]:
    """The statements that are sent meanwhile."""
    sent = Sent()
    one: Any = AsyncConnection.execute  # Any: its overloads
    many: Any = AsyncCursor.executemany

    def note(query: bytes | str, values: object) -> None:
        sent.setdefault(query if isinstance(query, str) else query.decode(), values)

    async def execute(
        self: Any, query: bytes | str, values: object = None, **more: Any
    ) -> Any:  # Any: as above
        note(query, values)
        return await one(self, query, values, **more)

    async def executemany(self: Any, query: bytes | str, values: list[object], **more: Any) -> None:
        note(query, values[0])
        await many(self, query, values, **more)

    with monkeypatch.context() as patched:
        patched.setattr(AsyncConnection, "execute", execute)
        patched.setattr(AsyncCursor, "executemany", executemany)
        yield sent


def whole_reads(url: str, sent: Sent) -> list[str]:
    """Return a line for each statement whose plan reads all rows of a table that grows with the learners."""
    wrong = list[str]()
    with psycopg.connect(url, autocommit=True) as connection:
        for statement, values in sent.items():
            if not statement.lstrip().startswith(("SELECT", "WITH", "UPDATE", "DELETE", "INSERT")):
                continue
            if _COUNTED.match(statement):
                continue
            query = f"EXPLAIN (FORMAT JSON) {statement}".encode()
            row = connection.execute(query, cast("Mapping[str, object] | None", values)).fetchone()
            assert row is not None
            text = " ".join(statement.split())
            wrong += [f"{what}: {text}" for what in _whole(row[0][0]["Plan"])]
    return wrong


def _whole(plan: Mapping[str, Any], *, limited: bool = False) -> Iterator[str]:  # Any: JSON
    """Yield what a plan and those below it read whole; a scan that is `limited` ends when it has enough."""
    table, rows, kind = plan.get("Relation Name"), plan["Plan Rows"], plan["Node Type"]
    if table in GROWING and (kind == "Seq Scan" or (rows > _MANY and not limited)):
        yield f"{kind} of {rows} rows of {table}"
    below_limit = kind == "Limit" or (limited and kind not in _READ_ALL_BELOW)
    for below in plan.get("Plans", ()):
        yield from _whole(below, limited=below_limit)
