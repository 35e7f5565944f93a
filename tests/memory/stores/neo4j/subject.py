"""The Neo4j server of a test: stores on it, and direct access by Cypher."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any, LiteralString
from unittest.mock import patch

from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncResult, AsyncSession, AsyncTransaction

from ace_graph.memory import Policy
from ace_graph.memory.stores import StoredBase, Timeouts, base_checksum
from ace_graph.memory.stores.neo4j import Login, Neo4jConnection, Neo4jPlaybooks, Neo4jStore
from ace_graph.testing.conformance import Traffic
from tests.plugins.neo4j_server import Neo4jServer
from tests.plugins.sizes import PATIENT

__all__ = ["Neo4jPlaybooksSubject", "Neo4jSubject"]

Rows = list[dict[str, Any]]  # Any: whatever the test's own Cypher returns


class Neo4jSubject:
    """Stores on one server."""

    def __init__(self, server: Neo4jServer) -> None:
        self.server = server

    def open(self, policy: Policy | None = None) -> Neo4jStore:
        """Return one more store on the server; the test closes it."""
        server = self.server
        return Neo4jStore(
            server.uri,
            username=server.username,
            password=server.password,
            database=server.database,
            policy=policy,
            timeout=PATIENT,
        )

    async def cypher(self, query: LiteralString, **parameters: object) -> Rows:
        """Run one statement past the store and return its rows."""
        async with self.driver() as driver:
            result = await driver.execute_query(query, parameters, database_=self.server.database)
            return [record.data() for record in result.records]

    @asynccontextmanager
    async def driver(self) -> AsyncGenerator[AsyncDriver]:
        """Open a driver of the test's own."""
        server = self.server
        auth = None if server.password is None else (server.username or "neo4j", server.password)
        async with AsyncGraphDatabase.driver(server.uri, auth=auth) as driver:  # pyright: ignore[reportUnknownMemberType] the driver's options have no types
            yield driver

    async def measured(self, job: Callable[[], Awaitable[None]]) -> Traffic:
        """Count statements, and the bytes of their parameters and of the rows that came back."""
        with _counted_statements() as traffic:
            await job()
        return traffic

    async def read_content(self, learner_id: str) -> str | None:
        rows = await self.cypher(
            "MATCH (m:AceMemoryState {user_id: $uid})-[:HAS_BASE]->(b:AceBase) "
            "WHERE b.version = m.content_base RETURN b.memory_json AS content",
            uid=learner_id,
        )
        return rows[0]["content"] if rows else None

    async def write_content(self, learner_id: str, text: str) -> None:
        (row,) = await self.cypher(
            "MATCH (m:AceMemoryState {user_id: $uid}) SET m.content_base = m.version, m.effects_bytes = 0 "
            "RETURN m.version AS n, m.etag AS etag",
            uid=learner_id,
        )
        base = StoredBase(row["n"], row["etag"], base_checksum(row["n"], row["etag"], text), text)
        names = ("user_id", "version", "etag", "checksum", "memory_json")
        await self.cypher(
            "MATCH (m:AceMemoryState {user_id: $uid}) "
            "MERGE (m)-[:HAS_BASE]->(b:AceBase {user_id: $uid, version: $base.version}) SET b = $base",
            uid=learner_id,
            base=dict(zip(names, (learner_id, *base), strict=True)),
        )


def _size(value: object) -> int:
    return len(json.dumps(value, default=str))


@contextmanager
def _counted_statements() -> Generator[Traffic]:
    traffic, data = Traffic(), AsyncResult.data
    runs = {kind: kind.run for kind in (AsyncSession, AsyncTransaction)}

    async def counted_data(result: AsyncResult, *keys: Any) -> list[dict[str, Any]]:
        rows = await data(result, *keys)
        traffic.read += _size(rows)
        return rows

    def counting(run: Callable[..., Awaitable[AsyncResult]]) -> Callable[..., Awaitable[AsyncResult]]:
        async def counted(self: object, query: str, parameters: object = None, **more: Any) -> AsyncResult:
            traffic.statements += 1
            traffic.written += _size(parameters)
            return await run(self, query, parameters, **more)

        return counted

    with ExitStack() as patches:
        patches.enter_context(patch.object(AsyncResult, "data", counted_data))
        for kind, run in runs.items():
            patches.enter_context(patch.object(kind, "run", counting(run)))
        yield traffic


class Neo4jPlaybooksSubject:
    """The namespaces of playbooks on one server."""

    def __init__(self, server: Neo4jServer) -> None:
        self.server = server

    def open(self, policy: Policy | None = None) -> Neo4jPlaybooks:
        """Return one more store on the server; the test closes it."""
        server = self.server
        login = Login(server.uri, server.username, server.password, server.database)
        return Neo4jPlaybooks(Neo4jConnection(login, Timeouts(PATIENT)), policy)
