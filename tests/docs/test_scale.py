"""The list for Citus in docs/scale/postgresql.md names every table, by the first column of its keys."""

from __future__ import annotations

import re

import psycopg

from ace_graph.memory.stores.sql import PostgresStore
from tests.packaging.repository import ROOT
from tests.plugins.sizes import PATIENT

PAGE = (ROOT / "docs" / "scale" / "postgresql.md").read_text(encoding="utf-8")
DISTRIBUTED = dict(re.findall(r"create_distributed_table\('(\w+)', '(\w+)'", PAGE))
REFERENCE = set(re.findall(r"create_reference_table\('(\w+)'\)", PAGE))
_KEYS = """
SELECT t.relname, a.attname FROM pg_class t
LEFT JOIN pg_index i ON i.indrelid = t.oid AND i.indisunique
LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = i.indkey[0]
WHERE t.relkind IN ('r', 'p') AND t.relnamespace = 'public'::regnamespace
"""


async def test_every_table_is_distributed_by_the_first_column_of_its_keys(empty_postgres: str) -> None:
    async with PostgresStore(empty_postgres, timeout=PATIENT) as store:
        await store.load("ada")
    with psycopg.connect(empty_postgres) as connection:
        keys = connection.execute(_KEYS).fetchall()
    assert {table for table, _ in keys} == {*DISTRIBUTED, *REFERENCE}
    assert not REFERENCE & set(DISTRIBUTED)
    assert {(table, column) for table, column in keys if table in DISTRIBUTED} == set(DISTRIBUTED.items())


def test_tables_of_one_learner_are_on_one_node() -> None:
    first, *others = re.findall(r"create_distributed_table\(.*", PAGE)
    assert "ace_learners" in first
    assert all("colocate_with => 'ace_learners'" in each for each in others)
