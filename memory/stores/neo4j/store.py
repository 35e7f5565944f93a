"""The shared store: one `AceMemoryState` node per learner in Neo4j, for any number of processes.

A turn costs two round trips: one load and one commit. A commit is one statement that takes the learner's
lock, compares the stored state with its base, and writes when they are the same. After a conflict it is one
transaction that locks, reads, resolves and writes, so it always finishes. Transient errors are retried; the
op id makes that safe, even when the reply to a commit was lost.

`User` nodes that the host application created are left as they are.
"""

from __future__ import annotations

from typing import cast

from ace_graph.base.portal import portal
from ace_graph.memory.bullet import Hides
from ace_graph.memory.commit import NewToken
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import TIMEOUT, GraphLag, Timeouts, checked_learner_id, random_token
from ace_graph.memory.stores.neo4j import graph
from ace_graph.memory.stores.neo4j.connection import Login, Neo4jConnection
from ace_graph.memory.stores.neo4j.queries import statement
from ace_graph.memory.stores.neo4j.rows import Neo4jRows
from ace_graph.memory.stores.neo4j.runner import Row, fetch
from ace_graph.memory.stores.records import moment
from ace_graph.memory.stores.store import KeyedStore, PlaybookStore, Store


class _Drawn(KeyedStore):
    """A namespace that shows what it holds as a graph; see `DrawsGraph`."""

    backend: Neo4jConnection

    async def undrawn(self, limit: int = 100) -> tuple[str, ...]:
        """Return keys whose graph is behind; see `DrawsGraph.undrawn`."""
        return tuple(
            str(row["key"]) for row in await self._fetch(statement("graph.DUE"), limit=max(0, limit))
        )

    async def graph_lag(self) -> GraphLag:
        """Return how far the graph is behind; see `DrawsGraph.graph_lag`."""
        (row,) = await self._fetch(statement("graph.LAG"))
        since = row["since"]
        return GraphLag(int(str(row["undrawn"])), None if since is None else moment(since))

    async def draw(
        self, key: str, hides: Hides, *, known: Snapshot | None = None, afresh: bool = False
    ) -> int:
        """Draw what is under a key as a graph; see `DrawsGraph.draw`."""
        learner, held = checked_learner_id(key), known or Snapshot()

        async def load() -> Snapshot:
            return await self.load(learner, held)

        rates = self.policy.decay
        drawing = graph.draw(self.backend, self.namespace, learner, load, rates, hides, afresh=afresh)
        return await portal().run(drawing)

    async def _fetch(self, query: str, **parameters: object) -> list[Row]:
        return await self._run(lambda rows: fetch(cast("Neo4jRows", rows).run, query, **parameters))


class Neo4jPlaybooks(_Drawn, PlaybookStore):
    """The named playbooks in a database, which the store of its learners shares."""


class Neo4jStore(_Drawn, Store):
    """A `Store` on Neo4j 5.26 or newer, any edition."""

    def __init__(
        self,
        uri: str,
        *,
        username: str | None = None,
        password: str | None = None,
        database: str | None = None,
        policy: Policy | None = None,
        new_token: NewToken = random_token,
        timeout: float = TIMEOUT,
    ) -> None:
        """Keep the address; the first call connects.

        `uri` is like `neo4j://host:7687`. Without a user name or a password it connects without a login,
        without a database to the server's default one. A read takes at most `timeout` seconds, a write twice
        as long. Raises StoreUrlError.
        """
        connection = Neo4jConnection(Login(uri, username, password, database), Timeouts(timeout))
        super().__init__(connection, policy, new_token=new_token)

    @property
    def playbooks(self) -> Neo4jPlaybooks:
        """The named playbooks in this database."""
        return Neo4jPlaybooks(self.backend, self.policy.of_playbooks(), new_token=self._new_token)
