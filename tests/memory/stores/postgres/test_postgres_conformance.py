"""The PostgreSQL store passes the conformance suite, its named playbooks and a partitioned one as well."""

from __future__ import annotations

import pytest

from ace_graph.testing.conformance import CORE_VERBS, Case, cases
from tests.memory.stores.large_cases import is_a_sample, is_first
from tests.memory.stores.postgres.subject import PostgresPlaybooksSubject, PostgresSubject
from tests.plugins.heavy import some_heavy


@pytest.mark.parametrize("case", some_heavy(cases(), is_first), ids=str)
async def test_postgres_store(case: Case, postgres: str) -> None:
    await case(PostgresSubject(postgres))


@pytest.mark.parametrize("case", some_heavy(cases(*CORE_VERBS, "damage"), is_a_sample), ids=str)
async def test_postgres_playbooks(case: Case, postgres: str) -> None:
    await case(PostgresPlaybooksSubject(postgres))
