"""Starts servers and workers, lets learners talk to them while they are killed, and compares what is stored.

Exits with 1 when anything is lost, doubled or torn. PostgreSQL is a new database of the server that
POSTGRES_TEST_URI names, or a server made for it with the programs that are installed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
from rich.console import Console

from ace_graph import open_store
from ace_graph.memory.stores.store import Store
from benchmarks.available_stores import places
from benchmarks.machine import describe_machine, load_now
from benchmarks.many_processes.clients import Clients
from benchmarks.many_processes.database import cpu_seconds, megabytes, turns_under_way
from benchmarks.many_processes.processes import (
    Program,
    all_work,
    kill_on,
    running,
    servers_and_workers,
)
from benchmarks.many_processes.report import Course, table_of
from benchmarks.many_processes.stored import found_of, wrong_of
from benchmarks.report import write_report

RESULTS = Path(__file__).with_name("RESULTS.md")
_PATIENCE_SECONDS = 600
_PROGRESS_SECONDS = 10.0
_CONNECTIONS = 6
"""Of each kind and process, so that a PostgreSQL with its default of 100 has enough for eight processes."""


@dataclass(frozen=True)
class Plan:
    """How many learners, turns of each, learners at once; a server is killed every so many seconds."""

    learners: int
    turns: int
    at_once: int
    servers: int = 4
    workers: int = 4
    kill_seconds: float = 3.0
    worker_every: int = 3


FULL = Plan(learners=1_000, turns=3, at_once=40)
QUICK = Plan(learners=100, turns=3, at_once=20)


async def measure(plan: Plan, url: str, folder: Path, tell: Callable[[str], None]) -> Course:
    """Run it on the PostgreSQL at `url`, a new database; logs go to the folder."""
    secret = secrets.token_hex(32)
    environment = _environment(url, secret)
    programs = servers_and_workers(plan.servers, plan.workers)
    limits = httpx.Limits(max_connections=2 * plan.at_once, max_keepalive_connections=plan.at_once)
    async with (
        running(programs, folder, environment),
        httpx.AsyncClient(timeout=_PATIENCE_SECONDS, limits=limits, trust_env=False) as http,
    ):
        clients = Clients(http, [each.url for each in programs if each.url], secret)
        telling = asyncio.create_task(_tell_progress(clients, programs, tell))
        killing = asyncio.create_task(
            kill_on(programs, folder, environment, seconds=plan.kill_seconds, worker_every=plan.worker_every)
        )
        began, cpu_before = time.perf_counter(), cpu_seconds(url)
        names = [f"learner-{n}" for n in range(plan.learners)]
        async with asyncio.TaskGroup() as tasks:
            lessons = tasks.create_task(_all_lessons(clients, names, plan))
            tasks.create_task(_until(lessons, killing))
        answered = time.perf_counter()
        telling.cancel()
        await all_work(programs)
        async with open_store(url) as store:
            await _settled(store, url)
            settled, cpu_after = time.perf_counter(), cpu_seconds(url)
            wrong, given_up = await _compare(clients, store, http)
    return Course(
        clients.told,
        wrong,
        given_up,
        servers_killed=sum(each.kills for each in programs if each.url),
        workers_killed=sum(each.kills for each in programs if not each.url),
        answering_seconds=answered - began,
        learned_seconds=settled - began,
        database_cpu_seconds=cpu_after - cpu_before,
        database_mb=megabytes(url),
    )


async def _all_lessons(clients: Clients, names: list[str], plan: Plan) -> None:
    places_free = asyncio.Semaphore(plan.at_once)

    async def one(number: int, name: str) -> None:
        async with places_free:
            await clients.lesson(name, plan.turns, streaming=number % 2 == 0)

    await asyncio.gather(*(one(number, name) for number, name in enumerate(names)))


async def _until(lessons: asyncio.Task[None], killing: asyncio.Task[None]) -> None:
    """Wait for the lessons and end the killing. Raises what the killing raises."""
    await asyncio.wait({lessons, killing}, return_when=asyncio.FIRST_COMPLETED)
    killing.cancel()
    with suppress(asyncio.CancelledError):
        await killing


async def _tell_progress(clients: Clients, programs: list[Program], tell: Callable[[str], None]) -> None:
    while True:
        await asyncio.sleep(_PROGRESS_SECONDS)
        kills = sum(each.kills for each in programs)
        tell(f"{clients.told.count('answered'):>6} answered, {kills} kills, load {load_now():.1f}")


async def _settled(store: Store, url: str) -> None:
    """Wait until every accepted turn has ended and everything is learned. Raises RuntimeError."""
    for _ in range(_PATIENCE_SECONDS):
        counts = await store.count_pending()
        if not counts.pending and not await asyncio.to_thread(turns_under_way, url):
            if counts.dead:
                raise RuntimeError(f"{counts.dead} turns could not be learned from")
            return
        await asyncio.sleep(1)
    raise RuntimeError("turns are under way, or learning is pending, and nobody does it")


async def _compare(clients: Clients, store: Store, http: httpx.AsyncClient) -> tuple[list[str], int]:
    """Return everything that is wrong, and how many turns were given up."""
    wrong, given_up = list[str](), 0
    url = clients.urls[0]
    for learner, messages in clients.told.messages.items():
        document = await http.get(f"{url}/api/learner/export", headers=clients.headers(learner))
        found = found_of(await store.export(learner), document.raise_for_status().json())
        given_up += len(found.given_up)
        wrong += [f"{learner}: {each}" for each in wrong_of(messages, found)]
    return wrong, given_up


def _environment(url: str, secret: str) -> dict[str, str]:
    ours = {
        "ACE_MODEL": "offline",
        "ACE_JWT_SECRET": secret,
        "ACE_STORE": url,
        "ACE_POSTGRES_CONNECTIONS": str(_CONNECTIONS),
        "ACE_SERVER_WORKER": "false",
        "ACE_SERVER_RATE": "1000000",
        "ACE_SERVER_TURNS": "1000",
        "ACE_SERVER_TIMEOUT": "600",
        "LANGSMITH_TRACING": "false",
    }
    return {**os.environ, **ours}


def main() -> int:
    """Read the arguments, run, print, write; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_processes", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 learners, no file")
    quick = bool(parser.parse_args().quick)
    plan, load_before = QUICK if quick else FULL, load_now()
    with places() as found, tempfile.TemporaryDirectory(prefix="ace-processes-") as folder:
        place = next((each for each in found.all if each.url.startswith("postgres")), None)
        if place is None:
            return 2
        course = asyncio.run(measure(plan, place.url, Path(folder), _say))
        machine = describe_machine([each for each in found.servers if each.startswith("PostgreSQL")])
    table = table_of(course, plan.servers, plan.workers)
    table.show(Console(width=120))
    for line in course.wrong[:20]:
        _say(line)
    machine.append(f"Load average {load_before:.1f} at the start and {load_now():.1f} at the end")
    if not quick:
        write_report(
            RESULTS,
            "Many processes on one PostgreSQL",
            "python -m benchmarks.many_processes",
            machine,
            [table],
        )
    return 1 if course.wrong else 0


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
