"""The server draws the graph in Neo4j behind its turns, whoever learns."""

from __future__ import annotations

from pathlib import Path

import pytest

from ace_graph.server import Overrides
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer, OwnNeo4j
from tests.plugins.sizes import PATIENT
from tests.server.serving import serving, settings_for, until
from tests.server.test_chat import LESSON, model


@pytest.mark.slow
async def test_a_server_draws_behind_its_turns(own_neo4j: OwnNeo4j, tmp_path: Path) -> None:
    server = own_neo4j()
    server.start()
    subject = Neo4jSubject(Neo4jServer(server.uri))
    for learning in ("inline", "background"):
        settings = settings_for(
            store=server.uri,
            store_timeout=PATIENT,
            learning=learning,
            neo4j_graph=True,
            conversations=str(tmp_path / f"{learning}.db"),
        )
        async with serving(settings, Overrides(model=model("5/6", lesson=LESSON))) as served:
            reply = await served.post("What is 1/2 + 1/3?", learner=learning)
            assert reply.status_code == 200

            async def drawn(learner: str = learning) -> bool:
                rows = await subject.cypher(
                    "MATCH (:AceMemoryState {user_id: $uid})-[:HAS_BULLET]->(b) RETURN b.content AS content",
                    uid=learner,
                )
                return [row["content"] for row in rows] == ["Convert both fractions to sixths before adding"]

            await until(drawn)
