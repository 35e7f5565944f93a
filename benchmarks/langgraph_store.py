"""LangGraph's own PostgresStore beside our store on the same PostgreSQL: one text stored, ten found.

LangGraph's store ranks texts where its server has the extension pgvector; else it returns the newest of a
namespace, whatever was asked.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from uuid import uuid4

import psycopg
from langgraph.store.base import PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.postgres.base import PostgresIndexConfig

from benchmarks.available_stores import Places
from benchmarks.corpus import bullets, lessons, questions
from benchmarks.own_memory import OwnMemory
from benchmarks.plan import Findings, Plan
from benchmarks.server.other_memories import VECTOR_SIZE, embed_all
from benchmarks.table import Table
from benchmarks.timing import Job, timed_async

__all__ = ["measure_langgraph_store"]

FOUND = 10
_TITLE = "Beside LangGraph's PostgresStore"
_NAMESPACE = ("memories", "ada")
_OURS = (
    "Ours finds near-duplicates and keeps the cap, the history and every version in the same commit; finding "
    "is a load, and a search in this process. "
)


async def measure_langgraph_store(plan: Plan, found: Places, findings: Findings) -> None:
    """Add the table; one row says why where there is no PostgreSQL."""
    place = next((each for each in found.all if each.url.startswith("postgres")), None)
    if place is None:
        findings.tables.append(
            Table(_TITLE, ("memory", "store one", "find ten"), [("no PostgreSQL", "", "")])
        )
        return
    rows, ranks = list[tuple[str, ...]](), _has_vectors(place.url)
    for size in plan.sizes:
        ours = await OwnMemory.with_texts(place, size, plan.repeats)
        async with _theirs(place.url, size, plan.repeats, ranks=ranks) as (put, search):
            jobs = [Job(ours.keep), Job(ours.find), put, search]
            kept, found_in, stored, searched = await timed_async(plan.repeats, jobs)
        await ours.close()
        rows.append((f"ours, {size:,} texts", kept.told(), found_in.told()))
        rows.append((f"LangGraph's PostgresStore, {size:,} texts", stored.told(), searched.told()))
    theirs = (
        "Theirs embeds with hashed words, which costs less than any real embedding."
        if ranks
        else "This PostgreSQL has no pgvector: theirs ranks nothing, it returns the ten newest texts."
    )
    note = f"Milliseconds, p50 / p95, one after the other, on one PostgreSQL. {_OURS}{theirs}"
    findings.tables.append(Table(_TITLE, ("memory", "store one", "find ten"), rows, note))


@asynccontextmanager
async def _theirs(url: str, size: int, times: int, *, ranks: bool) -> AsyncGenerator[tuple[Job, Job]]:
    new, asked, namespace = iter(lessons(times + 10)), questions(times + 10), (*_NAMESPACE, str(size))
    index: PostgresIndexConfig | None = {"dims": VECTOR_SIZE, "embed": embed_all} if ranks else None
    async with AsyncPostgresStore.from_conn_string(url, index=index) as store:
        await store.setup()
        await store.abatch([_put(namespace, each.content) for each in bullets(size)])

        async def put(_: int) -> None:
            await store.aput(namespace, str(uuid4()), {"content": next(new)})

        async def search(n: int) -> None:
            found = await store.asearch(namespace, query=asked[n], limit=FOUND)
            assert len(found) == FOUND

        yield Job(put), Job(search)


def _put(namespace: Sequence[str], text: str) -> PutOp:
    return PutOp(tuple(namespace), str(uuid4()), {"content": text})


def _has_vectors(url: str) -> bool:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")
        return found.fetchone() is not None
