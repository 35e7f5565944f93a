"""The stores alone: loads of a reader who knows nothing, all, or an older version, and commits."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from ace_graph.memory.delta.operations import Add, Delta, Operation, Touch
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import Store
from ace_graph.memory.turn import TurnRecord, answer_hash
from benchmarks.available_stores import Places, seeded
from benchmarks.corpus import START, lessons, questions
from benchmarks.plan import Findings, Plan
from benchmarks.table import Table
from benchmarks.timing import Job, timed_async

__all__ = ["measure_stores"]

_JOBS = 6


async def measure_stores(plan: Plan, found: Places, findings: Findings) -> None:
    """Add one table: every store at every size."""
    rows: list[tuple[str, ...]] = []
    for size in plan.sizes:
        clients = [await _client(place.open(), size, plan) for place in found.all]
        rounds = plan.repeats if size < 10_000 else min(plan.repeats, 15)
        times = await timed_async(rounds, [job for client in clients for job in client.jobs()])
        for n, (place, client) in enumerate(zip(found.all, clients, strict=True)):
            own = times[_JOBS * n : _JOBS * (n + 1)]
            rows.append((f"{place.name}, {size:,} bullets", *(one.told() for one in own)))
            await client.store.forget(client.learner)
            await client.store.close()
    columns = (
        *("store", "load", "load, index too", "load, known", "load, one behind", "commit, unchanged"),
        "commit, one added",
    )
    note = (
        "Milliseconds, p50 / p95. A load that knows nothing reads all; the second one builds the index, too. "
    )
    findings.tables.append(Table("Stores", columns, rows, note))


class _Client:
    """One process's use of one learner: it knows the newest snapshot."""

    def __init__(self, store: Store, learner: str, newest: Snapshot, plan: Plan) -> None:
        self.store = store
        self.learner = learner
        self._newest = self._before = newest
        self._used = tuple(newest.playbook.entries)[10:30]
        self._new = iter(lessons(plan.repeats + 10))
        self._questions = questions(plan.repeats + 10)

    def jobs(self) -> list[Job]:
        return [
            Job(self._load),
            Job(self._load_cold),
            Job(self._load_known),
            Job(self._load_older),
            Job(self._touch),
            Job(self._add),
        ]

    async def _load(self, n: int) -> None:
        await self.store.load(self.learner)

    async def _load_cold(self, n: int) -> None:
        playbook = (await self.store.load(self.learner)).playbook
        assert len(playbook.index) == len(playbook)

    async def _load_known(self, n: int) -> None:
        await self.store.load(self.learner, self._newest)

    async def _load_older(self, n: int) -> None:
        await self.store.load(self.learner, self._before)

    async def _touch(self, n: int) -> None:
        await self._commit(Touch(bullet_ids=self._used), n)

    async def _add(self, n: int) -> None:
        self._before = self._newest
        await self._commit(Add(content=next(self._new)), n)

    async def _commit(self, operation: Operation, n: int) -> None:
        at = START + timedelta(days=60, minutes=n)
        delta = Delta(op_id=str(uuid4()), now=at, operations=(operation,), author="benchmark")
        record = TurnRecord(
            turn_id=str(uuid4()),
            attempt_id=str(uuid4()),
            task=self._questions[n],
            answer="5/6",
            answer_hash=answer_hash("5/6"),
            mode="cot",
            status="success",
            injected=self._used,
            started_at=at,
        )
        self._newest = (await self.store.commit(self.learner, delta, self._newest, record)).snapshot


async def _client(store: Store, size: int, plan: Plan) -> _Client:
    learner = await seeded(store, size)
    newest = await store.load(learner)
    assert len(newest.playbook.index) == len(newest.playbook)
    return _Client(store, learner, newest, plan)
