"""Processes killed with SIGKILL: a turn and a worker, before, during and after their calls of the store.

Whatever was killed, another worker does what is left, and every lesson is there once.
"""

from __future__ import annotations

import asyncio
import json
import signal
from dataclasses import asdict
from pathlib import Path

import pytest

from ace_graph import playbooks
from ace_graph.memory.delta import Reset
from ace_graph.memory.stores import Store
from ace_graph.playbooks.consolidation import enqueue, run_state
from ace_graph.testing import check
from ace_graph.testing.conformance import rewriting, write
from tests.background.killed import NOON, RULE, Job, opened, take_turn, teach, work
from tests.consolidation.planted import OTHERS, PARAPHRASES, bullets
from tests.plugins.neo4j_server import Neo4jServer
from tests.plugins.warm_python import WarmPython

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
POINTS = [
    ("claim", "during"),
    ("claim", "after"),
    ("load", "after"),
    ("commit", "before"),
    ("commit", "during"),
    ("commit", "after"),
]


async def _ended(python: WarmPython, job: Job) -> int:
    """Run a process and return its exit code."""
    command = python("-m", "tests.background.killed", json.dumps(job))
    return await (await asyncio.create_subprocess_exec(*command, cwd=ROOT)).wait()


async def _expect_once(store: Store, learner: str, turns: int) -> None:
    """Every turn was learned from once: the lesson came as often as there were turns."""
    state = await store.load(learner)
    assert [(bullet.content, bullet.seen) for bullet in state.playbook.bullets()] == [(RULE, turns)]
    assert await store.list_pending(learner) == ()
    kept = await store.turns(learner)
    assert len(kept) == turns
    assert all(len(turn.reflections) == 1 for turn in kept)
    assert await check(store, learner) == []


async def _a_killed_worker(python: WarmPython, job: Job) -> None:
    store, learner = opened(job), str(job["learner"])
    async with store:
        for question in ("What is 1/2 + 1/3?", "What is 1/4 + 1/3?"):
            await take_turn(store, learner, question)
        assert await _ended(python, {**job, "what": "worker", "minutes": 1}) == -signal.SIGKILL
        assert await check(store, learner) == []
        await work(store, learner, minutes=2)  # by then the lease of the dead has run out
        await _expect_once(store, learner, 2)


async def _a_killed_turn(python: WarmPython, job: Job) -> None:
    store, learner = opened(job), str(job["learner"])
    async with store:
        assert await _ended(python, {**job, "what": "turn", "minutes": 0}) == -signal.SIGKILL
        stored = len(await store.turns(learner))
        assert stored == len(await store.list_pending(learner)), "the turn and its work, or neither"
        assert stored == 1 or job["when"] != "after"
        await work(store, learner, minutes=1)
        await take_turn(store, learner)
        await work(store, learner, minutes=2)
        await _expect_once(store, learner, stored + 1)


async def _a_turn_killed_between_its_commits(python: WarmPython, job: Job, learner: str) -> None:
    async with opened(job) as store:
        await playbooks.create(store, learner, owner="ada")
        await playbooks.grant(store, learner, f"user:{learner}", "editor", owner="ada")
        killed = await _ended(python, {**job, "what": "into", "minutes": 0})
        assert killed == -signal.SIGKILL
        if job["spared"] == 0:
            assert (await playbooks.get_playbook(store, learner, "ada")).snapshot.playbook.bullets() == ()
        if job.get("next") == "turn":
            await teach(store, learner, '{"reasoning": "r", "lessons": []}')
        else:
            await work(store, learner, minutes=1)
        [bullet] = (await playbooks.get_playbook(store, learner, "ada")).snapshot.playbook.bullets()
        assert (bullet.content, bullet.seen) == (RULE, 1)
        assert (await store.load(learner)).playbook.bullets() == ()
        turn = (await store.turns(learner))[-1 if job.get("next") == "turn" else 0]
        assert turn.learned_into is not None
        assert (turn.learned_into["how"], turn.learned_into["count"]) == ("written", 1)
        assert len(turn.reflections) == 1
        assert await store.list_pending(learner) == ()
        assert await check(store, learner) == []


@pytest.mark.parametrize("when", ["during", "after"])
async def test_a_consolidation_killed_on_sqlite(tmp_path: Path, warm_python: WarmPython, when: str) -> None:
    job: Job = {"path": str(tmp_path / "ace.db"), "learner": "alice", "method": "commit", "when": when}
    async with opened(job) as store:
        await write(store, "alice", rewriting(Reset(bullets=bullets(*PARAPHRASES, *OTHERS))))
        run = await enqueue(store, "alice", now=NOON)
        assert await _ended(warm_python, {**job, "what": "worker", "minutes": 1}) == -signal.SIGKILL
        assert await check(store, "alice") == []
        await work(store, "alice", minutes=2)
        state = await run_state(store, "alice", run)
        assert state is not None
        assert [len(group.ids) for group in state.groups] == [3]
        assert len((await store.load("alice")).playbook) == 3
        assert await store.list_pending("alice") == ()
        assert await check(store, "alice") == []


@pytest.mark.parametrize(("method", "when"), POINTS)
async def test_a_worker_killed_on_sqlite(
    tmp_path: Path, warm_python: WarmPython, method: str, when: str
) -> None:
    job: Job = {"path": str(tmp_path / "ace.db"), "learner": "alice", "method": method, "when": when}
    await _a_killed_worker(warm_python, job)


@pytest.mark.parametrize("when", ["before", "during", "after"])
async def test_a_turn_killed_at_its_commit_on_sqlite(
    tmp_path: Path, warm_python: WarmPython, when: str
) -> None:
    job: Job = {"path": str(tmp_path / "ace.db"), "learner": "alice", "method": "commit", "when": when}
    await _a_killed_turn(warm_python, job)


@pytest.mark.parametrize(
    ("spared", "when"),
    [(0, "after"), (1, "before"), (1, "during")],
    ids=["undelivered", "delivered", "ending"],
)
@pytest.mark.parametrize("after", ["worker", "turn"])
async def test_a_turn_killed_between_its_commits_loses_no_lesson_for_a_playbook(
    tmp_path: Path, warm_python: WarmPython, spared: int, when: str, after: str
) -> None:
    job: Job = {
        "path": str(tmp_path / "ace.db"),
        "learner": "bob",
        "spared": spared,
        "next": after,
        "method": "commit",
        "when": when,
    }
    await _a_turn_killed_between_its_commits(warm_python, job, "bob")


@pytest.mark.slow
@pytest.mark.heavy
async def test_a_turn_killed_between_its_commits_on_neo4j(
    neo4j: Neo4jServer, warm_python: WarmPython, learner: str
) -> None:
    job: Job = {"server": asdict(neo4j), "learner": learner, "method": "commit", "when": "after"}
    await _a_turn_killed_between_its_commits(warm_python, {**job, "spared": 0}, learner)


@pytest.mark.parametrize(("method", "when"), POINTS[1::2])
@pytest.mark.slow
@pytest.mark.heavy
async def test_a_worker_killed_on_neo4j(
    neo4j: Neo4jServer, warm_python: WarmPython, learner: str, method: str, when: str
) -> None:
    job: Job = {"server": asdict(neo4j), "learner": learner, "method": method, "when": when}
    await _a_killed_worker(warm_python, job)


@pytest.mark.slow
@pytest.mark.heavy
async def test_a_turn_killed_in_mid_commit_on_neo4j(
    neo4j: Neo4jServer, warm_python: WarmPython, learner: str
) -> None:
    job: Job = {"server": asdict(neo4j), "learner": learner, "method": "commit", "when": "during"}
    await _a_killed_turn(warm_python, job)


async def test_two_workers_in_processes_of_their_own_share_the_work(
    tmp_path: Path, warm_python: WarmPython
) -> None:
    job: Job = {"path": str(tmp_path / "ace.db"), "learner": "alice", "method": "none", "when": "before"}
    store = opened(job)
    async with store:
        for number in range(6):
            await take_turn(store, f"learner {number % 3}", f"What is 1/{number + 2} + 1/3?")
        everything: Job = {**job, "what": "everything", "minutes": 1}
        assert await asyncio.gather(*(_ended(warm_python, everything) for _ in range(2))) == [0, 0]
        for number in range(3):
            await _expect_once(store, f"learner {number}", 2)
