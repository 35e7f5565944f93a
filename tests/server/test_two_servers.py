"""Two servers on one Neo4j: they share the memory, and forgetting reaches both."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import SecretStr

from ace_graph.server import Overrides
from tests.plugins.neo4j_server import Neo4jServer
from tests.server.serving import bearer, serving, settings_for
from tests.server.test_chat import LESSON, model


@pytest.mark.slow
@pytest.mark.neo4j
async def test_what_one_server_learned_the_other_knows(
    neo4j: Neo4jServer, learner: str, tmp_path: Path
) -> None:
    settings = settings_for(
        store=neo4j.uri,
        neo4j_username=neo4j.username or "neo4j",
        neo4j_password=None if neo4j.password is None else SecretStr(neo4j.password),
        neo4j_database=neo4j.database,
        conversations=str(tmp_path / "conversations.db"),
    )
    other = LESSON.replace("Convert both fractions to sixths before adding", "Otters hold hands asleep")
    overrides = [Overrides(model=model("a", lesson=LESSON)), Overrides(model=model("b", "c", lesson=other))]
    async with serving(settings, overrides[0]) as one, serving(settings, overrides[1]) as two:
        both = await asyncio.gather(
            one.post("What is 1/2 + 1/3?", "c1", learner=learner),
            two.post("What do otters do at night?", "c2", learner=learner),
        )
        again = await two.post("And what is 1/3 + 1/4?", "c1", learner=learner)
        kept = (await one.client.get("/api/playbook", headers=bearer(learner))).json()["bullets"]
        ready = [(await each.client.get("/readyz")).status_code for each in (one, two)]
        gone = await one.client.delete("/api/learner", headers=bearer(learner))
        after = (await two.client.get("/api/learner/export", headers=bearer(learner))).json()
    assert [reply.status_code for reply in (*both, again)] == [200, 200, 200]
    assert {b["content"] for b in kept} >= {
        "Convert both fractions to sixths before adding",
        "Otters hold hands asleep",
    }
    assert ready == [200, 200]
    assert gone.json() == {"forgotten": True, "conversations": 2}
    assert (after["version"], after["turns"], after["conversations"]) == (None, [], [])
