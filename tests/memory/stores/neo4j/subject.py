"""The Neo4j server of a test: stores on it, and direct access by Cypher."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, LiteralString

from neo4j import AsyncDriver, AsyncGraphDatabase

from ace_graph.memory.policy import Policy
from ace_graph.memory.stores.neo4j.connection import Login, Neo4jConnection
from ace_graph.memory.stores.neo4j.store import Neo4jPlaybooks, Neo4jStore
from tests.plugins.neo4j_server import Neo4jServer

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

    async def read_content(self, learner_id: str) -> str | None:
        rows = await self.cypher(
            "MATCH (m:AceMemoryState {user_id: $uid}) RETURN m.memory_json AS content", uid=learner_id
        )
        return rows[0]["content"] if rows else None

    async def write_content(self, learner_id: str, text: str) -> None:
        await self.cypher(
            "MATCH (m:AceMemoryState {user_id: $uid}) SET m.memory_json = $text", uid=learner_id, text=text
        )


class Neo4jPlaybooksSubject:
    """The namespaces of playbooks on one server."""

    def __init__(self, server: Neo4jServer) -> None:
        self.server = server

    def open(self, policy: Policy | None = None) -> Neo4jPlaybooks:
        """Return one more store on the server; the test closes it."""
        server = self.server
        login = Login(server.uri, server.username, server.password, server.database)
        return Neo4jPlaybooks(Neo4jConnection(login).of_playbooks(), policy or Policy())
