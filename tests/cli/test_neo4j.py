"""The command line on a real Neo4j."""

from __future__ import annotations

import pytest

from ace_graph.memory.stores.neo4j import SCHEMA
from tests.cli.commands import Commands


@pytest.mark.slow
def test_the_doctor_shows_server_schema_and_learners(shared: Commands, learner: str) -> None:
    shared.ok("playbook", "add", "Draw it", "--learner", learner)
    done = shared.ok("doctor")
    line = next(line for line in done.out.splitlines() if "store versions" in line)
    assert "Neo4j " in line
    assert f"schema {SCHEMA}" in line
    assert int(line.rpartition("learners: ")[2]) >= 1


@pytest.mark.slow
def test_two_chats_share_a_learner_and_its_bullets_are_drawn(shared: Commands, learner: str) -> None:
    shared.ok("chat", "--learner", learner, stdin="Call me Ann. I prefer pictures.\n")
    second = shared.ok("chat", "--learner", learner, stdin="What is 1/2 + 1/3?\n").out
    assert "Ann" in second
    assert "[#####.]" in second
    assert shared.ok("store", "project", "--learner", learner).out.startswith("2 bullets drawn")
    shared.ok("learner", "forget", learner)
    assert shared.bullets(learner) == []


def test_drawing_needs_a_neo4j(ace: Commands) -> None:
    done = ace("store", "project")
    assert (done.code, done.out) == (1, "")
    assert "NEO4J_URI" in done.err
