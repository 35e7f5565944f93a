"""The pure part: finding bullets, building the index, resolving and applying a delta, and the stored form."""

from __future__ import annotations

import asyncio
import json
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
from benchmarks.corpus import START, bullets, lessons, questions, with_facts
from benchmarks.goals import Goal
from benchmarks.plan import Findings, Plan
from benchmarks.table import Table
from benchmarks.timing import Job, Times, number, timed, timed_async

__all__ = ["measure_core"]

BUDGET = 2_000
_AT_CAP = "a new one at the cap"
_AT_CAP_OVER = 2.0
"""What it may take at 10,000 bullets over 1,000."""
_COLD_OVER = 1.6
"""What a load of 1,000 bullets with its index may take over `json.loads` of the same text."""
_NEW_TEXTS, _NEW_SEED = 5, 1_000
"""So many playbooks are read whose texts this process has not read before, and the seed of the first."""
_LATER = START + timedelta(days=60)


def measure_core(plan: Plan, findings: Findings) -> None:
    """Add the tables of retrieval, injected tokens, changes and the stored form."""
    snapshots = {size: _snapshot(size) for size in plan.sizes}
    findings.tables += [
        _retrieval(plan, snapshots),
        _tokens(plan, snapshots, findings),
        _changes(plan, snapshots, findings),
        _stored_form(plan, snapshots, findings),
    ]


def _snapshot(size: int) -> Snapshot:
    """A warm snapshot: index and hash table are built."""
    made = bullets(size)
    playbook = Playbook.of(made)
    assert len(playbook.index) == len(made)
    assert playbook.hashes
    return Snapshot(playbook, Access(500, {bullet.id: n % 500 for n, bullet in enumerate(made)}))


def _retrieval(plan: Plan, snapshots: dict[int, Snapshot]) -> Table:
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
    at_cap: dict[int, float] = {}
    for size, snapshot in snapshots.items():
        for what, policy, operations in _one_bullet_deltas(size, snapshot, plan.repeats):
            times = _resolved_and_applied(snapshot, policy, operations)
            rows.append((f"{what}, {size:,} bullets", times.told(), number(times.cpu_p50)))
            if what == _AT_CAP:
                at_cap[size] = times.cpu_p50
    if {1_000, 10_000} <= at_cap.keys():
        over = at_cap[10_000] / at_cap[1_000]
        findings.goals.append(
            Goal("resolve at the cap, 10,000 bullets over 1,000", over, _AT_CAP_OVER, "times")
        )
    note = "The index and the hash table are carried over in this time."
    return Table("Resolve and apply a delta of one bullet", ("delta", "p50 / p95, ms", "cpu, ms"), rows, note)


def _one_bullet_deltas(
    size: int, snapshot: Snapshot, count: int
) -> list[tuple[str, Policy, list[Operation]]]:
    known = snapshot.playbook.bullets()[10 : 10 + count]
    new: list[Operation] = [Add(content=text, section="lessons") for text in lessons(count)]
    return [
        ("a new one", ROOMY, new),
        (_AT_CAP, Policy(max_bullets=size), new),
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


def _stored_form(plan: Plan, snapshots: dict[int, Snapshot], findings: Findings) -> Table:
    rows: list[tuple[str, ...]] = []
    for size, snapshot in snapshots.items():
        text, access = dump_playbook(snapshot.playbook), dump_access(snapshot.access)
        works: list[Callable[[], object]] = [
            partial(json.loads, text),
            partial(load_playbook, text),
            partial(_load_with_index, text),
            partial(load_playbook, text, snapshot.playbook),
            partial(dump_playbook, snapshot.playbook),
            partial(dump_access, snapshot.access),
            partial(load_access, access),
        ]
        over, stating = _new_over_json(size, min(plan.repeats, _NEW_TEXTS))
        times = [timed([work] * plan.repeats).cpu_p10 for work in works]
        ratios = map(number, (over, stating, times[2] / times[0]))
        rows.append((f"{size:,}", f"{len(text) / 1e6:.2f}", *ratios, *map(number, times)))
        if size == 1_000:
            what = "a cold load of 1,000 bullets with its index, over json.loads"
            findings.goals.append(Goal(what, over, _COLD_OVER, "times"))
    over_json = ("new, with index", "and what they state", "known, with index")
    columns = ("bullets", "MB", *over_json, "json.loads", "read", "with index", "beside known")
    note = (
        "The first three are over json.loads of the same text. `New`: playbooks whose texts the process has "
        "not read before, one bullet in twenty a fact in one of seven languages, medians; `what they state` "
        "is read when a turn first shows a fact. The others are milliseconds of the processor, tenth "
        "percentiles, of a text that was read before. `Beside known`: another process changed it, index "
        "included."
    )
    return Table("The stored form", (*columns, "write", "write access", "read access"), rows, note)


def _new_over_json(size: int, count: int) -> tuple[float, float]:
    """Return what a load with its index takes over `json.loads`, and with what the bullets state, too."""
    texts = [dump_playbook(Playbook.of(with_facts(size, _NEW_SEED + n))) for n in range(count)]
    plain = timed([partial(json.loads, text) for text in texts]).cpu_p50
    indexed = timed([partial(_load_with_index, text) for text in texts]).cpu_p50
    stated = timed([partial(getattr, load_playbook(text), "stating") for text in texts]).cpu_p50
    return indexed / plain, (indexed + stated) / plain


def _load_with_index(text: str) -> Playbook:
    playbook = load_playbook(text)
    assert playbook.index.postings
    return playbook
