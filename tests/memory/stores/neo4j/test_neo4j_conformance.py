"""The Neo4j store passes the conformance suite, on each version; its playbooks on the oldest server."""

from __future__ import annotations

import pytest

from ace_graph.testing.conformance import CORE_VERBS, Case, cases
from tests.memory.stores.large_cases import is_a_sample, is_first
from tests.memory.stores.neo4j.subject import Neo4jPlaybooksSubject, Neo4jSubject
from tests.plugins.heavy import some_heavy
from tests.plugins.neo4j_server import Neo4jServer


@pytest.mark.parametrize("case", some_heavy(cases(), is_first), ids=str)
async def test_neo4j_store(case: Case, neo4j: Neo4jServer) -> None:
    await case(Neo4jSubject(neo4j))


@pytest.mark.slow
@pytest.mark.parametrize("case", some_heavy(cases(*CORE_VERBS), is_a_sample), ids=str)
async def test_neo4j_playbooks(case: Case, neo4j: Neo4jServer) -> None:
    await case(Neo4jPlaybooksSubject(neo4j))
