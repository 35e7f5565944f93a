"""What single calls take on a PostgreSQL, by the number of learners that it holds.

    python -m benchmarks.many_learners --learners 1000 10000 100000

The rows are those that the store writes for one learner, copied by the database; see
tests/memory/stores/postgres/generated_rows.py.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from uuid import uuid4

import psycopg
from rich.console import Console

from ace_graph.base.retention import Retention
from ace_graph.memory.commit import Pending
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.listing import list_learners
from ace_graph.memory.stores.store import Store
from ace_graph.server.conversations import (
    AcceptedTurn,
    ConversationLimits,
    Conversations,
    clean_conversations,
)
from ace_graph.server.conversations.repository import list_conversations
from ace_graph.testing.conformance import NOON, adding, record
from benchmarks.available_stores import Place, new_postgres
from benchmarks.machine import describe_machine, load_now
from benchmarks.report import write_report
from benchmarks.table import Table
from benchmarks.timing import number
from tests.memory.stores.postgres.generated_rows import (
    conversations_at,
    copy_learner,
    learner_name,
    make_copied,
)

__all__ = ["measure_many_learners"]

RESULTS = Path(__file__).with_name("RESULTS_LEARNERS.md")
SIZES = (1_000, 10_000, 100_000)
QUICK = (100, 1_000)
_BULLETS, _TURNS = 10, 5
_LATER = NOON + timedelta(days=365)
_NOTE = (
    "Of one client; milliseconds are tenth percentiles of {repeats} calls, each for another learner. Pages "
    "are those of tables and indexes that the database looks at, in its cache or not: no other program "
    f"disturbs their number. A learner has {_BULLETS + _TURNS + 1} bullets, {_TURNS} turns, {_TURNS + 2} "
    "versions, a named playbook with a grant and a proposal, and a conversation; one in ten has pending "
    "work. The last three lines look at all learners, a claim where nothing is free at all pending items, "
    "and a search at 5,000 learners."
)
Call = Callable[[int], Awaitable[object]]
"""Does it for the learner of this number."""


def _calls(store: Store, conversations: Conversations, count: int) -> dict[str, Call]:
    """Return what is measured."""
    database = conversations.database
    known = dict[int, Snapshot]()

    async def load(n: int) -> None:
        known[n] = await store.load(learner_name(n))

    async def commit(n: int, work: Pending | None = None) -> None:
        made = record(9, turn_id=str(uuid4()))
        delta = adding(f"What {uuid4()} is about", minute=99)
        await store.commit(learner_name(n), delta, known[n], made, work)

    async def commit_for_later(n: int) -> None:
        await commit(n, Pending(pending_id=str(uuid4()), turn_id="turn", body="learn from it"))

    async def claim(n: int) -> None:
        item = await store.claim("worker", _LATER, 60)
        if item is None:
            raise RuntimeError("nothing could be claimed")

    async def claim_nothing(n: int) -> None:
        if await store.claim("worker", NOON - timedelta(days=1), 60) is not None:
            raise RuntimeError("something could be claimed")

    async def forget(n: int) -> None:
        if not (await store.forget(learner_name(n)) and await conversations.forget(learner_name(n))):
            raise RuntimeError("nobody was forgotten")

    async def converse(n: int) -> None:
        run = str(uuid4())
        turn = AcceptedTurn(run, "lesson", learner_name(n), "{}", run)
        await conversations.finish(await conversations.accept(turn), answered=True)

    async def clean_idle(n: int) -> None:
        now = NOON + timedelta(days=2, minutes=-count)
        await clean_conversations(database, ConversationLimits(days=1), now, _no_pause)

    return {
        "load": load,
        "commit of a turn": commit,
        "commit of a turn to learn from later": commit_for_later,
        "a worker's claim": claim,
        "a claim, nothing is free yet": claim_nothing,
        "a conversation's turn begins and ends": converse,
        "page of a learner's conversations": lambda n: list_conversations(database, learner_name(n), 20),
        "page of 100 learners": lambda n: list_learners(store, after=learner_name(n)),
        "search of 5,000 learners": lambda n: list_learners(store, search="nobody", after=learner_name(n)),
        "cleaning of one learner": lambda n: store.clean(
            learner_name(n), Retention().cutoffs(NOON + timedelta(days=1))
        ),
        "deleting idle conversations": clean_idle,
        "forget": forget,
        "number of pending items": lambda _: store.count_pending(),
        "sizes, for /metrics": lambda _: store.sizes(),
        "conversations beyond a learner's limit": lambda _: clean_conversations(
            database, ConversationLimits(kept=5), NOON, _no_pause
        ),
    }


async def _no_pause(_: float) -> None:
    """Go on at once."""


async def measure_many_learners(
    url: str, sizes: Sequence[int], repeats: int, tell: Callable[[str], None]
) -> Table:
    """Return the table, measured on a new database."""
    await make_copied(url, _BULLETS, _TURNS)
    found = list[dict[str, Cost]]()
    for before, size in pairwise((0, *sizes)):
        began = time.perf_counter()
        copy_learner(url, before + 1, size)
        seconds = time.perf_counter() - began
        tell(f"{size:,} learners, {_megabytes(url):,.0f} MB, written in {seconds:.0f} s")
        found.append(await _costs(url, size, repeats))
    rows = [
        (name, *(each[name].told() for each in found), number(found[-1][name].pages / found[0][name].pages))
        for name in found[0]
    ]
    columns = ("call", *(f"{size:,} learners" for size in sizes), "pages, last over first")
    return Table("Many learners on one PostgreSQL", columns, rows, _NOTE.format(repeats=repeats))


@dataclass(frozen=True)
class Cost:
    """Pages of the database that a call looks at, in its cache or not, and its milliseconds."""

    pages: float
    ms: float

    def told(self) -> str:
        """Return both."""
        return f"{number(self.pages)} pages, {number(self.ms)} ms"


async def _costs(url: str, count: int, repeats: int) -> dict[str, Cost]:
    numbers = Random(count).sample(range(1, count + 1), repeats)
    found, store = dict[str, Cost](), Place("PostgreSQL", url).open()
    async with conversations_at(url) as conversations:
        for name, call in _calls(store, conversations, count).items():
            took, before = list[float](), _pages(url)
            for n in numbers:
                began = time.perf_counter()
                await call(n)
                took.append((time.perf_counter() - began) * 1000)
            # A session tells the server what it did at its end, or when it is asked to (PostgreSQL 15).
            await store.close()
            await conversations.database.execute("SELECT pg_stat_force_next_flush()", ())
            found[name] = Cost((_pages(url) - before) / repeats, sorted(took)[len(took) // 10])
    return found


def _pages(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0)) "
            "FROM pg_statio_user_tables"
        ).fetchone()
    return int(row[0]) if row else 0


def _megabytes(url: str) -> float:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    return float(row[0]) / 1e6 if row else 0.0


def main() -> int:
    """Read the arguments, measure, print; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_learners", description=__doc__)
    parser.add_argument("--learners", type=int, nargs="+", help="numbers of learners, in order")
    parser.add_argument("--repeats", type=int, default=50, help="calls of each kind")
    parser.add_argument("--quick", action="store_true", help="a few learners, no file")
    options = parser.parse_args()
    sizes = options.learners or (QUICK if options.quick else SIZES)
    load_before = load_now()
    with tempfile.TemporaryDirectory(prefix="ace-learners-") as folder, new_postgres(Path(folder)) as url:
        if url is None:
            return 2
        table = asyncio.run(measure_many_learners(url, sizes, options.repeats, _say))
        machine = describe_machine([])
    table.show(Console(width=140))
    machine.append(f"Load average {load_before:.1f} at the start and {load_now():.1f} at the end")
    if not options.quick:
        write_report(RESULTS, "Many learners", "python -m benchmarks.many_learners", machine, [table])
    return 0


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
