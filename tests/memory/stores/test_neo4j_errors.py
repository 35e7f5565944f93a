"""Errors of the connection to Neo4j become errors of this project that name the setting to fix."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from neo4j.exceptions import ClientError, Neo4jError, ServiceUnavailable, TransientError

from ace_graph.base import CommitContention, StoreAuthError, StoreError, StoreUnavailable, StoreUrlError
from ace_graph.memory import Snapshot
from ace_graph.memory.stores.neo4j import Neo4jStore, is_retryable, translated
from ace_graph.testing.conformance import adding
from tests.listening import listening
from tests.plugins.sizes import PATIENT

_SECRET = "correct-horse"


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "localhost",
        "http://localhost:7474",
        "neo4j://",
        "bolt://localhost:port",
        "bolt://localhost:99999",
        f"neo4j://neo4j:{_SECRET}@localhost:7687",
        f"neo4j+s://{_SECRET}@localhost",
    ],
)
def test_an_invalid_address_is_refused_at_once(uri: str) -> None:
    with pytest.raises(StoreUrlError, match="ACE_STORE, or NEO4J_URI") as raised:
        Neo4jStore(uri)
    assert _SECRET not in str(raised.value)


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
async def test_a_closed_port_is_reported_at_once(scheme: str) -> None:
    address = f"{scheme}://127.0.0.1:9"
    async with Neo4jStore(address, username="neo4j", password=_SECRET, timeout=PATIENT) as store:
        for call in (store.load("ada"), store.commit("ada", adding("Draw a bar"), Snapshot())):
            await _unavailable(call, "127.0.0.1:9", "(Connection refused)")


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
async def test_an_unknown_host_is_reported_at_once(scheme: str) -> None:
    async with Neo4jStore(f"{scheme}://nowhere.invalid:7687") as store:
        await _unavailable(store.load("ada"), "nowhere.invalid:7687")


async def test_a_port_that_speaks_http_is_no_neo4j() -> None:
    async with _answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port, _at(port) as store:
        await _unavailable(store.load("ada"), f"127.0.0.1:{port}", "speaks HTTP")


async def test_a_server_that_never_answers_times_out() -> None:
    async with _answering(None) as port, _at(port, 0.5) as store, asyncio.timeout(PATIENT):
        await asyncio.gather(*(_unavailable(store.load("ada"), f"127.0.0.1:{port}") for _ in range(20)))


async def test_a_store_that_failed_can_be_closed_and_tried_again() -> None:
    store = Neo4jStore("bolt://127.0.0.1:9")
    for _ in range(2):
        await _unavailable(store.load("ada"), "127.0.0.1:9")
        await store.close()


@pytest.mark.parametrize(
    ("code", "kind", "named"),
    [
        ("Neo.ClientError.Security.Unauthorized", StoreAuthError, "NEO4J_USERNAME and NEO4J_PASSWORD"),
        ("Neo.ClientError.Security.AuthenticationRateLimit", StoreAuthError, "NEO4J_PASSWORD"),
        ("Neo.ClientError.Security.CredentialsExpired", StoreAuthError, "first password"),
        ("Neo.ClientError.Security.Forbidden", StoreAuthError, "does not allow"),
        ("Neo.ClientError.Database.DatabaseNotFound", StoreUnavailable, "NEO4J_DATABASE"),
        ("Neo.TransientError.Transaction.DeadlockDetected", CommitContention, "make the same commit again"),
        ("Neo.TransientError.General.DatabaseUnavailable", StoreUnavailable, "log"),
        ("Neo.DatabaseError.General.UnknownError", StoreUnavailable, "log"),
        ("Neo.ClientError.Schema.ConstraintValidationFailed", StoreError, "refused"),
    ],
)
def test_an_error_of_the_server_names_the_setting(code: str, kind: type[StoreError], named: str) -> None:
    said = Neo4jError._hydrate_neo4j(code=code, message=f"about {_SECRET}")  # pyright: ignore[reportPrivateUsage] the driver's only way to make one
    error = translated(said, "db:7687", "ada", "notes")
    assert type(error) is kind
    assert named in str(error)
    assert "db:7687" in str(error)
    assert _SECRET not in str(error)


def test_only_transient_errors_are_retried() -> None:
    assert is_retryable(ServiceUnavailable("gone"))
    assert is_retryable(TransientError("deadlock"))
    assert not is_retryable(ClientError("syntax"))
    assert not is_retryable(ValueError("ours"))


async def _unavailable(call: object, place: str, reason: str = "") -> None:
    with pytest.raises(StoreUnavailable, match="ACE_STORE, or NEO4J_URI") as raised:
        await call  # type: ignore[misc] # pyright: ignore[reportGeneralTypeIssues] any coroutine
    assert place in str(raised.value)
    assert reason in str(raised.value)
    assert _SECRET not in str(raised.value)


def _at(port: int, timeout: float = PATIENT) -> Neo4jStore:
    return Neo4jStore(f"bolt://127.0.0.1:{port}", username="neo4j", password=_SECRET, timeout=timeout)


@asynccontextmanager
async def _answering(answer: bytes | None) -> AsyncGenerator[int]:
    """A port that answers everything the same way, or never."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(20)
        if answer is None:
            await reader.read()
        else:
            writer.write(answer)
            writer.close()
            await writer.wait_closed()

    async with listening(serve) as port:
        yield port
