"""The pure part: finding bullets, building the index, resolving and applying a delta, and the stored form."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from statistics import mean

from ace_graph.agent.embeddings.meaning import Meaning
from ace_graph.agent.embeddings.static_vectors import find_static_vectors
from ace_graph.agent.reasoning.recall import format_context
from ace_graph.memory import Access, Playbook, Policy, Snapshot, apply, resolve
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.classify import infer_topic
from ace_graph.memory.delta.operations import Add, Delta, Operation, Remove, Tag
from ace_graph.memory.retrieval.retrieve import retrieve
from ace_graph.memory.search.index import Index
from ace_graph.memory.search.tokenize import estimate_tokens
from ace_graph.memory.serialization import dump_access, dump_playbook, load_access, load_playbook
from benchmarks.available_stores import ROOMY
from benchmarks.corpus import START, bullets, lessons, questions
from benchmarks.goals import Goal
from benchmarks.plan import Findings, Plan
from benchmarks.table import Table
from benchmarks.timing import Job, Times, number, timed, timed_async

__all__ = ["measure_core"]

BUDGET = 2_000
_CHANGE_MS = {
    ("a new one", 1_000): 2.0,
    ("a new one at the cap", 1_000): 1.0,
    ("a new one", 10_000): 20.0,
    ("a new one at the cap", 10_000): 20.0,
}
_RETRIEVE_MS = {1_000: 0.3, 10_000: 1.3}
_BY_MEANING_MS = {1_000: 0.6, 10_000: 2.5}
_LATER = START + timedelta(days=60)


def measure_core(plan: Plan, findings: Findings) -> None:
    """Add the tables of retrieval, injected tokens, changes and the stored form."""
    snapshots = {size: _snapshot(size) for size in plan.sizes}
    findings.tables += [
        _retrieval(plan, snapshots, findings),
        _tokens(plan, snapshots, findings),
        _changes(plan, snapshots, findings),
        _stored_form(plan, snapshots),
    ]


def _snapshot(size: int) -> Snapshot:
    """A warm snapshot: index and hash table are built."""
    made = bullets(size)
    playbook = Playbook.of(made)
    assert len(playbook.index) == len(made)
    assert playbook.hashes
    return Snapshot(playbook, Access(500, {bullet.id: n % 500 for n, bullet in enumerate(made)}))


def _retrieval(plan: Plan, snapshots: dict[int, Snapshot], findings: Findings) -> Table:
    rows: list[tuple[str, ...]] = []
    asked = questions(plan.questions)
    for size, snapshot in snapshots.items():
        jobs = [partial(_ask, snapshot, question) for question in asked]
        timed(jobs)
        times = timed(jobs * 3)
        index = snapshot.playbook.index
        build = timed([partial(Index.build, snapshot.playbook.bullets())] * min(plan.repeats, 5))
        near = asyncio.run(_times_by_meaning(snapshot, asked))
        told = (times.told(), number(times.cpu_p50), *_told(near))
        rows.append((f"{size:,}", *told, f"{len(index.postings):,}", number(build.p50)))
        for what, found, limits in (("", times, _RETRIEVE_MS), (", by meaning", near, _BY_MEANING_MS)):
            if found is not None and size in limits:
                name = f"retrieve at {size:,} bullets, index warm{what}"
                findings.goals.append(Goal(name, found.p50, limits[size]))
    note = (
        "`By meaning`: with the extra `embeddings`, the question's vector and the nearest bullets in it. "
        "Different questions, three rounds, 2,000 tokens. Building happens at a process's first turn with a "
        "learner; afterwards the index is carried along."
    )
    columns = ("bullets", "retrieve p50 / p95, ms", "cpu", "by meaning p50 / p95", "cpu", "terms")
    return Table("Retrieval", (*columns, "index from nothing, ms"), rows, note)


def _told(times: Times | None) -> tuple[str, str]:
    return ("", "") if times is None else (times.told(), number(times.cpu_p50))


async def _times_by_meaning(snapshot: Snapshot, asked: Sequence[str]) -> Times | None:
    """Return how long finding takes with the static vectors; None where they are not installed."""
    vectors = find_static_vectors()
    if vectors is None:
        return None
    meaning = Meaning(vectors)

    async def ask(n: int) -> None:
        question = asked[n % len(asked)]
        near = await meaning.similarities(question, "bench", snapshot.playbook)
        assert near.problem is None
        _ask(snapshot, question, near.by_id)

    return (await timed_async(3 * len(asked), [Job(ask)]))[0]


def _ask(snapshot: Snapshot, question: str, semantic: Mapping[str, float] | None = None) -> str:
    found = retrieve(
        question,
        snapshot.playbook,
        snapshot.access,
        ROOMY,
        now=_LATER,
        budget_tokens=BUDGET,
        topic=infer_topic(question),
        semantic=semantic,
    )
    return format_context(found) if found.core or found.retrieved else ""


def _tokens(plan: Plan, snapshots: dict[int, Snapshot], findings: Findings) -> Table:
    rows: list[tuple[str, ...]] = []
    for size, snapshot in snapshots.items():
        taken = [estimate_tokens(_ask(snapshot, question)) for question in questions(plan.questions)]
        whole = estimate_tokens(snapshot.playbook.as_prompt())
        rows.append((f"{size:,}", f"{mean(taken):,.0f}", f"{max(taken):,}", f"{whole:,}"))
        findings.goals.append(
            Goal(f"tokens injected at {size:,} bullets, at most", max(taken), BUDGET, "tokens")
        )
    note = f"Counted over the finished block, delimiters included; budget {BUDGET:,}."
    return Table(
        "Tokens in the prompt", ("bullets", "mean", "most", "the whole playbook would be"), rows, note
    )


def _changes(plan: Plan, snapshots: dict[int, Snapshot], findings: Findings) -> Table:
    rows: list[tuple[str, ...]] = []
    for size, snapshot in snapshots.items():
        for what, policy, operations in _one_bullet_deltas(size, snapshot, plan.repeats):
            times = _resolved_and_applied(snapshot, policy, operations)
            rows.append((f"{what}, {size:,} bullets", times.told(), number(times.cpu_p50)))
            limit = _CHANGE_MS.get((what, size))
            if limit:
                findings.goals.append(Goal(f"resolve and apply, {what}, {size:,} bullets", times.p50, limit))
    note = "The index and the hash table are carried over in this time."
    return Table("Resolve and apply a delta of one bullet", ("delta", "p50 / p95, ms", "cpu, ms"), rows, note)


def _one_bullet_deltas(
    size: int, snapshot: Snapshot, count: int
) -> list[tuple[str, Policy, list[Operation]]]:
    known = snapshot.playbook.bullets()[10 : 10 + count]
    new: list[Operation] = [Add(content=text, section="lessons") for text in lessons(count)]
    return [
        ("a new one", ROOMY, new),
        ("a new one at the cap", Policy(max_bullets=size), new),
        ("one said again", ROOMY, [_again(bullet) for bullet in known]),
        ("a counter", ROOMY, [Tag(bullet_id=bullet.id, tag="helpful") for bullet in known]),
        ("one removed", ROOMY, [Remove(bullet_id=bullet.id) for bullet in known]),
    ]


def _again(bullet: Bullet) -> Add:
    return Add(
        content=bullet.content, section=bullet.section, memory_type=bullet.memory_type, topic=bullet.topic
    )


def _resolved_and_applied(snapshot: Snapshot, policy: Policy, operations: list[Operation]) -> Times:
    def job(n: int, operation: Operation) -> Playbook:
        effect = resolve(snapshot, Delta(op_id=str(n), now=_LATER, operations=(operation,)), policy)
        assert effect.changes
        return apply(snapshot.playbook, effect)

    jobs: list[Callable[[], object]] = [partial(job, n, op) for n, op in enumerate(operations)]
    timed(jobs[:3])
    return timed(jobs)


def _stored_form(plan: Plan, snapshots: dict[int, Snapshot]) -> Table:
    rows: list[tuple[str, ...]] = []
    for size, snapshot in snapshots.items():
        text, access = dump_playbook(snapshot.playbook), dump_access(snapshot.access)
        repeats = min(plan.repeats, 10)
        works: list[Callable[[], object]] = [
            partial(dump_playbook, snapshot.playbook),
            partial(load_playbook, text),
            partial(load_playbook, text, snapshot.playbook),
            partial(dump_access, snapshot.access),
            partial(load_access, access),
        ]
        times = [number(timed([work] * repeats).p50) for work in works]
        rows.append((f"{size:,}", f"{len(text) / 1e6:.2f}", f"{len(access) / 1e6:.3f}", *times))
    columns = ("bullets", "content MB", "access MB", "write", "read", "read beside known", "write acc.")
    note = "Milliseconds, medians. `Beside known`: another process changed it, index included."
    return Table("The stored form", (*columns, "read acc."), rows, note)
