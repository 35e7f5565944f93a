"""The debug log of the database driver contains nothing that learners said."""

from __future__ import annotations

import logging

import pytest

from ace_graph.testing.conformance import adding, record, write
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer


async def test_the_log_of_the_driver_holds_no_content(
    neo4j: Neo4jServer, learner: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "neo4j.io")
    async with Neo4jSubject(neo4j).open() as store:
        await write(store, learner, adding("Violet sparrows count in twelves"), record(1))
        await store.load(learner)
    sent = [line for line in caplog.messages if "C: RUN" in line]
    assert any("SET m += state" in line or "SET m = $state" in line for line in sent)
    assert any("memory_json" in line for line in sent)
    assert "Violet" not in caplog.text
    assert record(1).task not in caplog.text
