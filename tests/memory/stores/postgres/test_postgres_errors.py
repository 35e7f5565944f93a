"""What is wrong with a PostgreSQL is told in one sentence, within ten seconds, that says what to do."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest

from ace_graph.base import (
    ConfigurationError,
    OtherSchema,
    StoreAuthError,
    StoreError,
    StoreUnavailable,
    StoreUrlError,
)
from ace_graph.memory import Snapshot
from ace_graph.memory.stores.sql import SCHEMA, PostgresStore
from ace_graph.stores import open_store
from ace_graph.testing.conformance import adding, write
from tests.listening import listening
from tests.memory.stores.postgres.subject import PostgresSubject
from tests.plugins.postgres_server import OwnPostgres
from tests.plugins.sizes import PATIENT

_SECRET = "correct-horse"


@pytest.mark.parametrize("url", [f"postgresql://me:{_SECRET}@h:port/d", f"postgresql://me:{_SECRET}@[h/d"])
def test_an_invalid_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(StoreUrlError, match="ACE_STORE is like postgresql://") as raised:
        PostgresStore(url)
    assert _SECRET not in str(raised.value)


async def test_a_closed_port_is_told_at_once() -> None:
    async with PostgresStore(f"postgresql://ace:{_SECRET}@127.0.0.1:9/ace", timeout=PATIENT) as store:
        for call in (store.load("ada"), store.commit("ada", adding("Draw a bar"), Snapshot())):
            said = await _said(call, StoreUnavailable)
            assert "127.0.0.1:9 can't be reached (connection refused)" in said
            assert "check that it runs" in said


async def test_an_unknown_host_is_told() -> None:
    async with PostgresStore("postgresql://ace@nowhere.invalid/ace", timeout=PATIENT) as store:
        assert "nowhere.invalid can't be reached" in await _said(store.load("ada"), StoreUnavailable)


async def test_a_server_that_never_answers_is_told() -> None:
    async with (
        listening(_say_nothing) as port,
        PostgresStore(f"postgresql://ace@127.0.0.1:{port}/ace", timeout=0.5) as store,
    ):
        calls = (_said(store.load("ada"), StoreUnavailable) for _ in range(20))
        for said in await asyncio.gather(*calls):
            assert f"127.0.0.1:{port}" in said


async def test_a_database_that_is_not_there_is_named(postgres: str) -> None:
    async with PostgresStore(_with(postgres, path="/nowhere"), timeout=PATIENT) as store:
        said = await _said(store.load("ada"), StoreUnavailable)
    assert "has no database 'nowhere': create it" in said


async def test_a_user_without_rights_is_told_what_to_grant(postgres: str) -> None:
    name = f"reader_{uuid4().hex[:8]}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{_SECRET}'".encode())
        connection.execute(b"REVOKE CREATE ON SCHEMA public FROM public")
    try:
        async with PostgresStore(_as(postgres, name, _SECRET), timeout=PATIENT) as store:
            said = await _said(store.load("ada"), StoreAuthError)
            assert f"does not allow this to the user '{name}': GRANT USAGE, CREATE ON SCHEMA public" in said
        await PostgresSubject(postgres).open().load("ada")  # makes the tables, which are another user's
        async with PostgresStore(_as(postgres, name, _SECRET), timeout=PATIENT) as store:
            assert "GRANT" in await _said(store.load("ada"), StoreAuthError)
    finally:
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute(f"DROP ROLE {name}".encode())


async def test_a_replica_is_refused_by_reads_too(postgres: str) -> None:
    read_only = f"{postgres}{'&' if '?' in postgres else '?'}options=-c%20default_transaction_read_only%3Don"
    async with PostgresStore(read_only, timeout=PATIENT) as store:
        for call in (store.load("ada"), store.commit("ada", adding("Draw a bar"), Snapshot())):
            assert "is read-only: name the primary server in ACE_STORE" in await _said(call, StoreUnavailable)


@pytest.mark.slow
async def test_a_wrong_password_is_told_and_a_right_one_works(own_postgres: OwnPostgres) -> None:
    server = own_postgres(password=_SECRET)
    await asyncio.to_thread(server.start)
    for url in (server.url, _as(server.url, "ace", "wrong-one"), _as(server.url, "nobody", _SECRET)):
        async with PostgresStore(url, timeout=PATIENT) as store:
            said = await _said(store.load("ada"), StoreAuthError)
        assert "check the user and the password in ACE_STORE" in said
        assert "wrong-one" not in said
    async with PostgresStore(_as(server.url, "ace", _SECRET), timeout=PATIENT) as store:
        await write(store, "ada", adding("Draw a bar"))
        assert _SECRET not in repr(vars(store.backend))


async def test_a_database_that_can_not_hold_every_text_is_refused(postgres: str) -> None:
    name = f"ascii_{uuid4().hex[:8]}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        create = f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'"
        connection.execute(create.encode())
        async with PostgresStore(_with(postgres, path=f"/{name}"), timeout=PATIENT) as store:
            said = await _said(store.load("ada"), StoreError)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
    assert "encoding SQL_ASCII" in said
    assert "ENCODING 'UTF8'" in said


@pytest.mark.parametrize(
    ("change", "back"),
    [
        (
            "UPDATE ace_memory_schema SET name = '9 later'",
            f"UPDATE ace_memory_schema SET name = '{SCHEMA}'",
        ),
        ("CREATE TABLE ace_migrations (name TEXT)", "DROP TABLE ace_migrations"),
    ],
    ids=["later", "older"],
)
async def test_another_schema_is_refused_as_it_is(empty_postgres: str, change: str, back: str) -> None:
    subject = PostgresSubject(empty_postgres)
    async with subject.open() as store:
        await store.load("ada")
    await subject.sql(change)
    async with subject.open() as store:
        with pytest.raises(OtherSchema, match=r"left as it is.*playbook export.*playbook import"):
            await store.load("ada")
    await subject.sql(back)
    async with subject.open() as store:
        assert (await store.load("ada")).absent


async def test_a_store_that_failed_can_be_closed_and_tried_again() -> None:
    store = PostgresStore("postgresql://ace@127.0.0.1:9/ace")
    for _ in range(2):
        await _said(store.load("ada"), StoreUnavailable)
        await store.close()


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("ace_graph.memory.stores.sql.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigurationError, match=r"pip install '\.\[postgres\]'") as raised:
        open_store(f"postgresql://me:{_SECRET}@h/d")
    assert _SECRET not in str(raised.value)


async def _said(call: Coroutine[Any, Any, object], kind: type[StoreError]) -> str:  # Any: as asyncio has it
    """What the error says that is raised long before retries would end: one sentence, without a password."""
    async with asyncio.timeout(PATIENT / 4):
        with pytest.raises(StoreError) as raised:
            await call
    assert type(raised.value) is kind
    said = str(raised.value)
    assert "\n" not in said
    assert _SECRET not in said
    return said


def _with(url: str, **parts: str) -> str:
    return urlunsplit(urlsplit(url)._replace(**parts))


def _as(url: str, user: str, password: str) -> str:
    host = urlsplit(url).netloc.rpartition("@")[2]
    return _with(url, netloc=f"{user}:{password}@{host}")


async def _say_nothing(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    while await reader.read(65_536):
        pass
