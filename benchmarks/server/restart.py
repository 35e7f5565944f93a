"""What a Neo4j that dies in the middle costs: it is killed under load and started again.

A client whose request failed asks again after a tenth of a second.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ace_graph.memory.stores.store import Store
from benchmarks.available_stores import Neo4jHere
from benchmarks.goals import Goal
from benchmarks.plan import Findings
from benchmarks.server.clients import Answer, Client, connected
from benchmarks.server.learners import everything_learned
from benchmarks.server.participants import Setting
from benchmarks.server.plan import ServerPlan
from benchmarks.server.servers import Wanted, running
from benchmarks.table import Table
from benchmarks.timing import number

__all__ = ["measure_restart"]

_TITLE = "Neo4j is killed and started again under load"
_PATIENCE = 0.1
_CALM_SECONDS = 60.0


@dataclass
class _Course:
    """What happened when, on the clock of this process."""

    answers: list[Answer]
    killed: float = 0.0
    back: float = 0.0
    over: bool = False


async def measure_restart(
    plan: ServerPlan, setting: Setting, neo4j: Neo4jHere | None, folder: Path, findings: Findings
) -> None:
    """Add the table of the restart, or one row that says why it was not tried."""
    if neo4j is None or neo4j.restart is None:
        why = "no Neo4j" if neo4j is None else "this Neo4j is not ours to kill"
        findings.tables.append(Table(_TITLE, ("what", ""), [("not tried", why)]))
        return
    store = setting.stores[neo4j.uri]
    learners = setting.learners[neo4j.uri][: plan.restart_clients]
    before = await _stored(store, learners)
    course = _Course([])
    async with running([Wanted("Neo4j", "ours", neo4j.uri)], folder) as (server,):
        async with connected(server, learners) as clients, asyncio.TaskGroup() as tasks:
            for client in clients:
                tasks.create_task(_ask_on(client, course))
            await asyncio.sleep(plan.restart_seconds)
            course.killed = time.perf_counter()
            await asyncio.to_thread(neo4j.restart)
            course.back = time.perf_counter()
            await _answers_again(course)
            await asyncio.sleep(plan.restart_seconds)
            course.over = True
        kept = await _settled(store, learners, before + len(learners) + _answered(course))
    missing = before + len(learners) + _answered(course) - kept
    what = "turns that were answered and not stored, Neo4j killed"
    findings.goals.append(Goal(what, max(0, missing), 0, "turns"))
    findings.tables.append(_table(course, len(learners), max(0, missing)))


async def _ask_on(client: Client, course: _Course) -> None:
    while not course.over:
        answer = await client.ask()
        course.answers.append(answer)
        if answer.status != 200:
            await asyncio.sleep(_PATIENCE)


async def _answers_again(course: _Course) -> None:
    """Wait for an answer to a question that was asked after Neo4j was back; a minute at most."""
    while time.perf_counter() < course.back + _CALM_SECONDS:
        if any(answer.status == 200 and answer.began > course.back for answer in course.answers):
            return
        await asyncio.sleep(_PATIENCE)


async def _stored(store: Store, learners: Sequence[str]) -> int:
    return sum([len((await store.export(learner)).turns) for learner in learners])


async def _settled(store: Store, learners: Sequence[str], wanted: int) -> int:
    """Wait until what could not be stored is stored and learned from; return the turns there are."""
    end = time.perf_counter() + _CALM_SECONDS
    kept = await _stored(store, learners)
    while kept < wanted and time.perf_counter() < end:
        await asyncio.sleep(1)
        kept = await _stored(store, learners)
    await everything_learned(store)
    return kept


def _answered(course: _Course) -> int:
    return sum(answer.status == 200 for answer in course.answers)


def _table(course: _Course, clients: int, missing: int) -> Table:
    good = [answer for answer in course.answers if answer.status == 200]
    failed = Counter(answer.status or "no answer" for answer in course.answers if answer.status != 200)
    told = ", ".join(f"{count} x {status}" for status, count in sorted(failed.items(), key=str))
    after = [answer for answer in good if answer.began >= course.back]
    first = min((answer.ended for answer in good if answer.ended > course.back), default=None)
    rows = [
        ("Neo4j was away, s", number(course.back - course.killed)),
        ("requests answered in all", f"{len(good):,}"),
        ("requests that failed", f"{sum(failed.values()):,}" + (f" ({told})" if told else "")),
        ("slowest request, ms", number(max(answer.ms for answer in course.answers))),
        ("slowest refusal, ms", number(max((a.ms for a in course.answers if a.status != 200), default=0.0))),
        ("first answer after it was back, s", "never" if first is None else number(first - course.back)),
        ("answer before, p50, ms", _middle([answer for answer in good if answer.ended < course.killed])),
        ("answer after, p50, ms", _middle(after)),
        ("turns answered and not stored", str(missing)),
    ]
    note = (
        f"{clients} clients, each asking again a tenth of a second after a failure. Killed as by a power "
        "cut; what an answered turn could not store is stored later, by the server."
    )
    return Table(_TITLE, ("what", ""), rows, note)


def _middle(answers: Sequence[Answer]) -> str:
    return number(median(answer.ms for answer in answers)) if answers else "none"
