"""The tables of the PostgreSQL store: their keys, their partitions, and that they are made once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, cast

import pytest
from langchain_core.messages import HumanMessage
from psycopg import AsyncConnection

from ace_graph.agent import ACEContext
from ace_graph.base import Settings
from ace_graph.base.portal import portal
from ace_graph.graph import build_ace_graph  # pyright: ignore[reportUnknownVariableType]  # LangGraph's checkpointer type is open
from ace_graph.memory import PlaybookRef, WantedPlaybook
from ace_graph.memory.stores.sql import SCHEMA, TABLES, PostgresStore, restored_text, stored_text
from ace_graph.testing.conformance import Case, adding, cases, contents, new_learner, record, rewriting, write
from tests.memory.stores.large_cases import is_of_many_at_once
from tests.memory.stores.postgres.subject import PostgresSubject, sent_statements
from tests.plugins.heavy import some_heavy
from tests.plugins.sizes import PATIENT

PARTS = 3

# The first column of every key, of the tables that do not begin with `user_id`.
_FIRST = {
    "ace_named_catalogue": "owner",
    "ace_grants": "playbook_id",
    "ace_proposals": "playbook_id",
    "ace_team_members": "team_id",
    "ace_memory_duties": "name",
    "ace_named_memory_duties": "name",
    "ace_memory_schema": "name",
}

_KEYS = """
SELECT t.relname, a.attname FROM pg_index i
JOIN pg_class t ON t.oid = i.indrelid
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = i.indkey[0]
WHERE i.indisunique AND t.relname = ANY(%s)
"""


@pytest.fixture(scope="module")
def partitioned(postgres: str) -> PostgresSubject:
    """A database whose tables of learners are partitioned, used by this module alone."""
    subject = PostgresSubject(postgres, partitions=PARTS)

    async def make() -> None:
        async with subject.open() as store:
            await store.load("ada")

    portal().run_sync(make())
    return subject


async def test_every_key_begins_with_the_learner(partitioned: PostgresSubject) -> None:
    names = [*TABLES, "ace_memory_schema"]
    found = await partitioned.sql(_KEYS, names)
    assert {table for table, _ in found} == set(names), "every table has a key"
    assert {(table, column) for table, column in found} == {
        (table, _FIRST.get(table, "user_id")) for table in names
    }


async def test_the_tables_of_learners_are_partitioned_by_learner(partitioned: PostgresSubject) -> None:
    rows = await partitioned.sql(
        "SELECT c.relname, pg_get_partkeydef(c.oid), "
        "(SELECT count(*) FROM pg_inherits WHERE inhparent = c.oid) FROM pg_class c WHERE c.relkind = 'p'"
    )
    assert {name for name, _, _ in rows} == set(TABLES) - set(_FIRST)
    assert {(key, count) for _, key, count in rows} == {("HASH (user_id)", PARTS)}


@pytest.mark.parametrize(
    "case", some_heavy(cases("concurrency", "pending", "forget"), is_of_many_at_once), ids=str
)
async def test_a_partitioned_store_keeps_the_promises(case: Case, partitioned: PostgresSubject) -> None:
    await case(partitioned)


async def test_a_partitioned_store_says_how_much_it_holds(partitioned: PostgresSubject) -> None:
    async with partitioned.open() as store:
        await write(store, new_learner(), adding("Draw a bar"))
        sizes = await store.sizes()
    assert sizes.learners > 0
    assert sizes.bytes is not None
    assert sizes.bytes > 0


async def test_stores_that_start_at_once_make_the_tables_once(empty_postgres: str) -> None:
    subject = PostgresSubject(empty_postgres)
    stores = [subject.open() for _ in range(8)]
    await asyncio.gather(*(store.load("ada") for store in stores))
    await asyncio.gather(*(store.close() for store in stores))
    assert await subject.sql("SELECT name FROM ace_memory_schema") == [(SCHEMA,)]


async def test_a_load_is_one_statement(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = new_learner()
    async with (
        PostgresStore(postgres, timeout=PATIENT) as store,
        PostgresStore(postgres, timeout=PATIENT) as other,
    ):
        held = (await write(store, learner, adding("Draw a bar"))).snapshot
        await write(other, learner, adding("Name the unit"))
        with sent_statements(monkeypatch) as sent:
            assert contents(await store.load(learner)) == ["Draw a bar", "Name the unit"]
            assert contents(await store.load(learner, held)) == ["Draw a bar", "Name the unit"]
            wanted = (
                WantedPlaybook(PlaybookRef(learner, "fractions")),
                WantedPlaybook(PlaybookRef(None, "units")),
            )
            loaded = await store.load_attached(learner, wanted)
        assert len(sent) == 3
        assert loaded.attached == (None, None)


async def test_a_turn_names_its_learner_in_every_statement(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = new_learner()
    async with PostgresStore(postgres, timeout=PATIENT) as store:
        await write(store, learner, adding("Draw a bar"))
        with sent_statements(monkeypatch) as sent:
            base = await store.load(learner)
            await store.commit(learner, adding("Name the unit"), base, record())
        assert len(sent) == 2, "one to load and one to commit"
        assert all(b"user_id" in statement for statement in sent)


async def test_no_statement_of_a_turn_spans_learners(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two turns of the whole graph, with a lesson and pending work."""
    learner = new_learner()
    real: Any = AsyncConnection.execute  # Any: its overloads
    sent: list[tuple[str, object]] = []

    async def execute(
        self: Any, query: bytes | str, values: object = None, **more: Any
    ) -> Any:  # Any: passed on
        sent.append((query if isinstance(query, str) else query.decode(), values))
        return await real(self, query, values, **more)

    async with PostgresStore(postgres, timeout=PATIENT) as store:
        await write(store, new_learner(), adding("Draw a bar"))
        graph = build_ace_graph(store=store, settings=Settings(model="offline"))
        monkeypatch.setattr(AsyncConnection, "execute", execute)
        context = ACEContext(learner_id=learner, learning="background")
        for text in ("Call me Ada. What is 1/2 + 1/3?", "That's wrong, it should be 5/6."):
            await graph.ainvoke({"messages": [HumanMessage(text)]}, context=context)
        monkeypatch.undo()
    work = [(text, values) for text, values in sent if text != "BEGIN"]
    assert {"ace_pending", "ace_turns"} <= {word for text, _ in work for word in text.split()}
    for text, values in work:
        given = cast("Iterable[object]", values.values() if isinstance(values, Mapping) else values)
        assert "user_id" in text, text
        assert learner in given, text


async def test_texts_come_back_as_they_were(postgres: str) -> None:
    learner, odd = new_learner(), "a\x00b \x1a0 \x1a \\ ' % {x}"
    async with PostgresStore(postgres, timeout=PATIENT) as store:
        delta = rewriting(*adding("Draw a bar").operations, op_id=odd)
        delta = delta.model_copy(update={"reason": odd, "author": odd, "source": odd})
        await store.commit(learner, delta, await store.load(learner))
        (entry,) = (await store.history(learner)).entries
        assert (entry.op_id, entry.reason, entry.author, entry.source) == (odd,) * 4
        again = await store.commit(learner, delta, await store.load(learner))
        assert again.status == "repeated"
        other = delta.model_copy(update={"op_id": odd.replace("\x00", "\x1a0")})
        assert (await store.commit(learner, other, await store.load(learner))).status == "applied"


def test_no_two_texts_are_stored_alike() -> None:
    texts = ("\x00", "\x1a", "\x1a0", "\x1a1", "0", "1", "", "\x00\x1a", "\x1a\x00")
    assert len({stored_text(text) for text in texts}) == len(texts)
    assert all("\x00" not in stored_text(text) for text in texts)
    assert [restored_text(stored_text(text)) for text in texts] == list(texts)
