"""Every filter over trajectories uses an index, in each database, with ten thousand rows in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import LiteralString, cast

import psycopg
import pytest

from ace_graph.base.portal import portal
from ace_graph.memory import TrajectoryFilter
from ace_graph.memory.stores import result_of, turns_wanted
from ace_graph.memory.stores.neo4j import selection as cypher_selection
from ace_graph.memory.stores.sql import (
    PostgresStore,
    PostgresTables,
    SQLiteTables,
    make_schema,
    selection,
)
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer
from tests.plugins.sizes import PATIENT

ROWS = 10_000
NOON = datetime(2026, 1, 1, tzinfo=UTC)
FILTERS: list[tuple[dict[str, object], tuple[str, ...]]] = [
    ({"turn_id": "t1"}, ("turn_id",)),
    ({"turn_ids": ["t1", "t2"]}, ("turn_id",)),
    ({"agent": "crawler"}, ("agent",)),
    ({"task_type": "api_call"}, ("task_type",)),
    ({"status": "failure"}, ("status",)),
    ({"parent_id": "t1"}, ("parent_id",)),
    ({"since": NOON}, ("completed_at",)),
    ({"until": NOON - timedelta(days=7)}, ("completed_at",)),
    ({"agent": "crawler", "status": "failure", "since": NOON}, ("agent", "status", "completed_at")),
]
"""Each filter, and the columns of which one must be in the index that is used, behind the learner's id."""
BY_FILTER = pytest.mark.parametrize(
    ("fields", "columns"), FILTERS, ids=["+".join(each) for each, _ in FILTERS]
)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path: Path = tmp_path_factory.mktemp("plans") / "ace.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        result_of(make_schema(SQLiteTables(connection, "learners")))
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO ace_turns (user_id, op_id, seq, turn_id, mode, status, verdict, started_at, "
            "completed_at, report_json, record_json, agent, task_type, parent_id, deleted, has_steps) "
            "VALUES ('bot', 't' || ?1, ?1, 't' || ?1, 'cot', ?2, 'unknown', '2026', '2026', '{}', '{}', "
            "'agent' || ?1 % 7, 'type' || ?1 % 5, 't' || ?1 / 10, FALSE, TRUE)",
            ((n, ("success", "failure")[n % 9 == 0]) for n in range(ROWS)),
        )
        connection.execute("COMMIT")
        connection.execute("ANALYZE")
        yield connection


@BY_FILTER
def test_in_sqlite_every_filter_uses_an_index(
    full: sqlite3.Connection, fields: dict[str, object], columns: tuple[str, ...]
) -> None:
    """A filter by time alone reads the newest first and stops at the end of the page."""
    wanted = TrajectoryFilter(**fields)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # of a table
    statement, values = selection("turns", "record_json", turns_wanted("bot", wanted), "seq DESC")
    rows = SQLiteTables(full, "learners").execute(f"EXPLAIN QUERY PLAN {statement} LIMIT 100", values)
    plan = [str(row[3]) for row in rows]
    used = ["user_id=?"] if columns == ("completed_at",) else [f"user_id=? AND {each}=?" for each in columns]
    assert any(f"({each})" in line and "USING INDEX" in line for line in plan for each in used), plan
    assert not any(line.startswith("SCAN") and "json_each" not in line for line in plan), plan


@pytest.fixture(scope="module")
def full_postgres(postgres: str) -> Iterator[psycopg.Connection]:
    async def make() -> None:
        async with PostgresStore(postgres, timeout=PATIENT) as store:
            await store.load("bot")

    portal().run_sync(make())
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO ace_turns (user_id, op_id, seq, turn_id, mode, status, verdict, started_at, "
            "completed_at, agent, task_type, parent_id, deleted, has_steps, report_json, record_json) "
            "SELECT 'bot', 't' || n, n, 't' || n, 'cot', "
            "CASE n %% 9 WHEN 0 THEN 'failure' ELSE 'success' END, "
            "'unknown', '2026', to_char(timestamp '2025-12-25' + n * interval '1 minute', "
            "'YYYY-MM-DD\"T\"HH24:MI:00+00:00'), 'agent' || n %% 7, 'type' || n %% 5, 't' || n / 10, "
            "FALSE, TRUE, '{}', '{}' FROM generate_series(1, %s) AS n",
            (ROWS,),
        )
        connection.execute("ANALYZE ace_turns")
        yield connection


@BY_FILTER
def test_in_postgresql_every_filter_uses_an_index(
    full_postgres: psycopg.Connection, fields: dict[str, object], columns: tuple[str, ...]
) -> None:
    wanted = TrajectoryFilter(**fields)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # of a table
    statement, values = selection("turns", "record_json", turns_wanted("bot", wanted), "seq DESC")
    full_postgres.execute("SET enable_seqscan = off")  # a small table is read whole where that costs less
    spelled = PostgresTables.spell(f"EXPLAIN {statement} LIMIT 100", "learners")
    rows = full_postgres.execute(spelled.encode(), values)
    plan = [str(line) for (line,) in rows]
    used = next(line for line in plan if "Index Cond" in line)
    assert any(f" AND ({each} " in used for each in columns), plan
    assert not any("Seq Scan" in line for line in plan), plan


@pytest.mark.heavy  # that filters use an index is proven of both SQL stores; Neo4j plans for eight seconds
async def test_in_neo4j_every_filter_uses_an_index(neo4j: Neo4jServer, learner: str) -> None:
    subject = Neo4jSubject(neo4j)
    async with subject.open() as store:
        await store.load(learner)  # which makes the indexes
    await subject.cypher(
        "UNWIND range(1, $rows) AS n CREATE (t:AceTurn {key: $uid + ':' + n, user_id: $uid, seq: n, "
        "turn_id: 't' + n, agent: 'agent' + (n % 7), task_type: 'type' + (n % 5), parent_id: 't' + (n / 10), "
        "status: CASE n % 9 WHEN 0 THEN 'failure' ELSE 'success' END, completed_at: datetime()})",
        rows=ROWS,
        uid=learner,
    )
    await subject.cypher("CALL db.awaitIndexes(60)")
    try:
        async with subject.driver() as driver:
            for fields, columns in FILTERS:
                wanted = turns_wanted(learner, TrajectoryFilter(**fields))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # of a table
                query, values = cypher_selection("turns", ("record_json",), wanted, "seq DESC", 100)
                done = await driver.execute_query(
                    cast("LiteralString", f"EXPLAIN {query}"), values, database_=neo4j.database
                )
                plan = cast("dict[str, object]", done.summary.plan)  # pyright: ignore[reportUnknownMemberType]
                used = list(operators(plan))
                indexed = [line for line in used if "NodeIndex" in line]
                assert any(f"(user_id, {each})" in line for line in indexed for each in columns), (
                    fields,
                    used,
                )
                assert not any("NodeByLabelScan" in line for line in used), (fields, used)
    finally:
        await subject.cypher("MATCH (t:AceTurn {user_id: $uid}) DELETE t", uid=learner)


def operators(plan: Mapping[str, object]) -> Iterator[str]:
    """The names and details of a plan's operators, its leaves last."""
    details = cast("Mapping[str, object]", plan.get("args", {})).get("Details")
    yield f"{plan['operatorType']} {details}"
    for child in cast("list[Mapping[str, object]]", plan.get("children", [])):
        yield from operators(child)
