"""The server draws the graph in Neo4j behind its turns, whoever learns."""

from __future__ import annotations

from pathlib import Path

import pytest

from ace_graph.server import Overrides
from tests.memory.stores.neo4j.graph_life import DrawsSome
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer
from tests.server.serving import serving, settings_for, until
from tests.server.test_background import LEARNED
from tests.server.test_chat import LESSON, model

BULLETS = "MATCH (:AceMemoryState {user_id: $uid})-[:HAS_BULLET]->(b) RETURN b.content AS content"


@pytest.mark.slow
@pytest.mark.parametrize("learning", ["inline", "background"])
async def test_a_server_draws_behind_its_turns(
    neo4j: Neo4jServer, tmp_path: Path, learner: str, learning: str
) -> None:
    settings = settings_for(learning=learning, neo4j_graph=True, conversations=str(tmp_path / "talk.db"))
    async with (
        DrawsSome(neo4j, learner) as store,
        Neo4jSubject(neo4j).driver() as driver,
        serving(settings, Overrides(model=model("5/6", lesson=LESSON), store=store)) as served,
    ):
        reply = await served.post("What is 1/2 + 1/3?", learner=learner)
        assert reply.status_code == 200

        async def drawn() -> bool:
            found = await driver.execute_query(BULLETS, uid=learner, database_=neo4j.database)
            return [row["content"] for row in found.records] == [LEARNED]

        await until(drawn)
