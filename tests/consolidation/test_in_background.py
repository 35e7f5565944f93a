"""A consolidation that a worker runs: when it becomes due, that it survives a kill, what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from ace_graph import ACEContext, build_ace_graph, playbooks
from ace_graph.agent import LearningMode
from ace_graph.base import PlaybookNotFound, Settings
from ace_graph.learning import ItemOutcome, RetryPolicy, learning_resources, process_item, reflect_on
from ace_graph.memory import Commit, ConsolidationWork, Options, Policy, Snapshot
from ace_graph.memory.delta import Add, Reset
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.playbooks.consolidation import consolidate, enqueue, run_state, undo
from ace_graph.testing import ScriptedModel, check
from ace_graph.testing.conformance import NOON, adding, contents, new_learner, rewriting, write
from tests.consolidation.planted import OTHERS, PARAPHRASES, bullets, pairs
from tests.graph.conftest import ask
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.heavy import some_heavy
from tests.plugins.neo4j_server import Neo4jServer

POLICY = Policy(consolidate_above=30, consolidate_batch=24)


class Killed(BaseException):
    """The process ends here: nothing in it goes on, and no lease is given back."""


class Mortal:
    """Hands every call on to a store; after the given number of commits the process dies."""

    def __init__(self, inner: Store, commits: int) -> None:
        self._inner, self._left = inner, commits

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def commit(self, *args: object, **more: object) -> Commit:
        done = await self._inner.commit(*args, **more)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # handed on
        self._left -= 1
        if not self._left:
            raise Killed
        return done


async def work(store: Store, learner: str, minute: float) -> list[ItemOutcome]:
    """Work on the learner's items until none may be had, at `minute` past noon."""
    now, ended = NOON + timedelta(minutes=minute), list[ItemOutcome]()
    resources, own = learning_resources(
        model=ScriptedModel([]), store=store, settings=Settings(), clock=lambda: now
    )
    while (item := await own.claim("w", now, 30, learner)) is not None:
        ended.append(await process_item(item, own, resources, RetryPolicy()))
    return ended


async def planted(store: Store, learner: str) -> Commit:
    """Commit 60 bullets, of which each says what one other says: three batches."""
    return await write(store, learner, rewriting(Reset(bullets=bullets(*pairs(30)))))


async def _expect_a_killed_run_to_go_on(store: Store, kills: int) -> None:
    """A worker is killed after its first, second, ... commit; the next one goes on, all is done once."""
    async with SQLiteStore(policy=POLICY) as whole:
        await planted(whole, "whole")
        await consolidate(whole, owner="whole", run_id="r", now=NOON)
        wanted = sorted(contents(await whole.load("whole")))
    learner = new_learner()
    run = (await planted(store, learner)).scheduled
    assert run is not None
    with pytest.raises(Killed):
        await work(cast("Store", Mortal(store, kills)), learner, 1)
    state = await run_state(store, learner, run, now=NOON + timedelta(minutes=1))
    assert state is not None
    assert state.status == ("done" if kills > 3 else "running")
    assert [each.status for each in await work(store, learner, 2)] == ([] if kills > 3 else ["consolidated"])
    after = await store.load(learner)
    assert sorted(contents(after)) == wanted
    done = await run_state(store, learner, run)
    assert done is not None
    assert (done.status, len(done.groups)) == ("done", 30)
    assert await store.list_pending(learner) == ()
    assert await check(store, learner) == []
    assert len((await undo(store, owner=learner)).restored) == 60
    assert (await store.load(learner)).playbook.bullets() == bullets(*pairs(30))


@asynccontextmanager
async def _opened(kind: str, folder: Path) -> AsyncGenerator[Store]:
    made = SQLiteStore(policy=POLICY) if kind == "memory" else SQLiteStore(folder / "ace.db", POLICY)
    async with made as store:
        yield store


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("kills", some_heavy((1, 2, 3, 4), (2).__eq__))
async def test_a_run_killed_after_any_batch_goes_on(kind: str, kills: int, tmp_path: Path) -> None:
    async with _opened(kind, tmp_path) as store:
        await _expect_a_killed_run_to_go_on(store, kills)


@pytest.mark.slow
@pytest.mark.heavy
async def test_a_killed_run_goes_on_on_neo4j(neo4j: Neo4jServer) -> None:
    async with Neo4jSubject(neo4j).open(POLICY) as store:
        await _expect_a_killed_run_to_go_on(store, 2)


async def test_the_eleventh_bullet_brings_one_run() -> None:
    async with SQLiteStore(policy=Policy(consolidate_above=10)) as store:
        runs: list[str] = []
        for number in range(1, 14):
            await write(store, "ada", adding(f"Fact {number} is about {number * 7}"))
            ended = await work(store, "ada", number)
            runs += [f"{number}: {each.status}" for each in ended]
        assert runs == ["11: consolidated", "13: consolidated"]


async def test_a_full_memory_is_consolidated_again() -> None:
    """At the cap the number of bullets does not grow, but a tenth of them is new after a while."""
    async with SQLiteStore(policy=Policy(max_bullets=20, consolidate_above=15)) as store:
        runs: list[int] = []
        for number in range(1, 41):
            done = await write(store, "ada", adding(f"Fact {number} is about {number * 7}"))
            runs += [number] if done.scheduled else []
        assert len((await store.load("ada")).playbook) == 20
        assert len([number for number in runs if number > 20]) >= 5


async def test_one_run_waits_however_much_is_added() -> None:
    """Without a worker for a while there is one item, not one for every tenth; a clear changes nothing."""
    async with SQLiteStore(policy=Policy(consolidate_above=10)) as store:
        for number in range(1, 40):
            await write(store, "ada", adding(f"Fact {number} is about {number * 7}"))
        assert len(await store.list_pending("ada")) == 1
        assert [each.status for each in await work(store, "ada", 1)] == ["consolidated"]
        await write(store, "ada", rewriting(Reset()))
        for number in range(40, 60):
            await write(store, "ada", adding(f"Fact {number} is about {number * 7}"))
        assert [each.status for each in await work(store, "ada", 2)] == ["consolidated"]
        assert await store.list_pending("ada") == ()


async def test_what_merges_is_merged_by_the_worker() -> None:
    async with SQLiteStore(policy=Policy(consolidate_above=4)) as store:
        done = await write(store, "ada", rewriting(Reset(bullets=bullets(*PARAPHRASES, *OTHERS))))
        run = done.scheduled or ""
        before = await run_state(store, "ada", run)
        await work(store, "ada", 1)
        after = await run_state(store, "ada", run)
        assert before is not None
        assert (before.status, before.groups) == ("pending", ())
        assert after is not None
        assert (after.status, [set(each.ids) for each in after.groups]) == (
            "done",
            [{"gen-00001", "gen-00002", "gen-00003"}],
        )
        assert after.groups[0].text in PARAPHRASES
        assert (await store.load("ada")).playbook.entries[after.groups[0].new_id or ""]


async def test_one_run_of_a_learner_at_a_time() -> None:
    async with SQLiteStore() as store:
        await write(store, "ada", rewriting(Reset(bullets=bullets(*PARAPHRASES, *OTHERS))))
        asked = [await enqueue(store, "ada", now=NOON) for _ in range(2)]
        claimed = await store.claim("one", NOON, 30, "ada")
        assert claimed is not None
        assert claimed.pending_id == asked[0]
        assert await store.claim("two", NOON, 30, "ada") is None
        assert [each.status for each in await work(store, "ada", 1)] == ["consolidated"] * 2
        nothing = await run_state(store, "ada", asked[1])
        assert nothing is not None
        assert (nothing.status, nothing.groups) == ("done", ())


class Overtaken:
    """Hands every call on to a store; during the first commit another one does the run."""

    def __init__(self, inner: Store, run_id: str) -> None:
        self._inner, self._run_id, self.ends = inner, run_id, list[str]()

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def commit(self, learner: str, *args: object, **more: object) -> Commit:
        if not self.ends:
            await consolidate(
                self._inner, owner=learner, options=Options(batch=24), run_id=self._run_id, now=NOON
            )
        done = await self._inner.commit(learner, *args, **more)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # handed on
        self.ends.append(done.status)
        return done


async def test_two_workers_on_one_run_merge_once() -> None:
    """The lease of a slow worker has run out, and both commit: the slow one's batches are repeated."""
    async with SQLiteStore(policy=POLICY) as store:
        run = (await planted(store, "ada")).scheduled or ""
        slow = Overtaken(store, run)
        assert [each.status for each in await work(cast("Store", slow), "ada", 1)] == ["consolidated"]
        assert slow.ends == ["repeated", "repeated", "repeated", "applied"]
        state = await run_state(store, "ada", run)
        assert state is not None
        merged = [name for group in state.groups for name in group.ids]
        assert len(merged) == len(set(merged)) == 60
        assert await check(store, "ada") == []


class LoadedTogether:
    """Hands every call on to a store; the first load of each of two runs ends when both have read."""

    def __init__(self, inner: Store) -> None:
        self._inner, self._read, self._both = inner, 0, asyncio.Event()

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def load(self, *args: object, **more: object) -> Snapshot:
        found = await self._inner.load(*args, **more)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # handed on
        self._read += 1
        if self._read == 2:
            self._both.set()
        await self._both.wait()
        return found


async def _expect_two_runs_to_share_the_work(store: Store) -> None:
    """Two runs at once, made from one state: each group is merged by one of them, and both say so."""
    learner = new_learner()
    planted_by = await planted(store, learner)
    shared = cast("Store", LoadedTogether(store))
    runs = [consolidate(shared, owner=learner, options=Options(batch=24), now=NOON) for _ in range(2)]
    done = await asyncio.gather(*runs)
    merged = [name for each in done for group in each.groups for name in group.ids]
    assert sorted(merged) == sorted(planted_by.snapshot.playbook.entries)
    for each in done:
        assert len(each.groups) + len(each.refused) == 30
        assert each.merged + len(each.preserved) + each.untouched == each.total == 60
    assert len((await store.load(learner)).playbook) == 30
    assert await check(store, learner) == []


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_two_runs_at_once_share_the_work(kind: str, tmp_path: Path) -> None:
    async with _opened(kind, tmp_path) as store:
        await _expect_two_runs_to_share_the_work(store)


@pytest.mark.slow
@pytest.mark.heavy
async def test_two_runs_at_once_share_the_work_on_neo4j(neo4j: Neo4jServer) -> None:
    async with Neo4jSubject(neo4j).open(POLICY) as store:
        await _expect_two_runs_to_share_the_work(store)


async def test_a_named_playbook_is_consolidated_by_the_worker() -> None:
    async with SQLiteStore() as store:
        await playbooks.create(store, "calls", [Add(content=PARAPHRASES[0])], owner="ada")
        (entry,) = await store.playbooks.entries("ada", 10, "")
        twins = rewriting(Reset(bullets=bullets(*PARAPHRASES)))
        key = entry.playbook_id
        await store.playbooks.commit(key, twins, await store.playbooks.load(key))
        run = await enqueue(store, "ada", ConsolidationWork(name="calls"), now=NOON)
        assert [each.status for each in await work(store, "ada", 1)] == ["consolidated"]
        assert len((await playbooks.get_playbook(store, "calls", "ada")).playbook) == 1
        state = await run_state(store, "ada", run, "calls")
        assert state is not None
        assert (state.status, len(state.groups)) == ("done", 1)
        assert await run_state(store, "ada", "unknown", "calls") is None
        with pytest.raises(PlaybookNotFound):
            await enqueue(store, "ada", ConsolidationWork(name="unknown"))
        with pytest.raises(PlaybookNotFound):
            await enqueue(store, "nobody")
        assert (await store.load("nobody")).absent


async def test_a_playbook_that_was_deleted_leaves_nothing_to_do() -> None:
    async with SQLiteStore() as store:
        made = await playbooks.create(store, "calls", [Add(content=PARAPHRASES[0])], owner="ada")
        run = await enqueue(store, "ada", ConsolidationWork(name="calls"), now=NOON)
        await playbooks.delete(store, made)
        assert [each.status for each in await work(store, "ada", 1)] == ["consolidated"]
        assert (await store.load("ada")).access.consolidation.ended == f"{run} calls"


async def test_a_forgotten_learner_stays_forgotten() -> None:
    async with SQLiteStore(policy=POLICY) as store:
        await planted(store, "ada")
        item = await store.claim("w", NOON, 30, "ada")
        await store.forget("ada")
        assert item is not None
        resources, own = learning_resources(model=ScriptedModel([]), store=store, settings=Settings())
        ended = await process_item(item, own, resources, RetryPolicy())
        assert ended.status == "forgotten"
        assert (await store.load("ada")).absent


async def test_a_run_that_can_not_be_read_becomes_a_dead_letter() -> None:
    async with SQLiteStore() as store:
        await write(store, "ada", adding("Draw a bar"))
        run = await enqueue(store, "ada", now=NOON)
        item = await store.claim("w", NOON, 30, "ada")
        assert item is not None
        resources, own = learning_resources(model=ScriptedModel([]), store=store, settings=Settings())
        broken = item.model_copy(update={"body": '{"work": "consolidate", "below": 7}', "attempts": 5})
        ended = await process_item(broken, own, resources, RetryPolicy())
        assert (ended.status, ended.error) == (
            "dead",
            "the consolidation can't be read (below: Input should be less than or equal to 1)",
        )
        state = await run_state(store, "ada", run)
        assert state is not None
        assert (state.status, state.error) == ("failed", ended.error)
        assert (await reflect_on("ada", run, resources, own)).status == "done"
        state = await run_state(store, "ada", run)
        assert state is not None
        assert (state.status, state.error) == ("done", None)


@pytest.mark.parametrize(
    ("learning", "in_background", "left"),
    [("inline", None, 0), ("inline", True, 1), ("background", None, 1), ("background", False, 0)],
)
async def test_who_consolidates_follows_the_settings(
    learning: LearningMode, in_background: bool | None, left: int
) -> None:
    """Inline the turn that makes it due does it; in the background it waits for a worker, like learning."""
    async with SQLiteStore(policy=Policy(consolidate_above=5)) as store:
        await write(store, "ada", rewriting(Reset(bullets=bullets(*PARAPHRASES, *OTHERS))))
        graph = build_ace_graph(
            model=ScriptedModel(solver=["<final>Yes</final>"]),
            store=store,
            learning=learning,
            settings=Settings(consolidate_async=in_background),
        )
        out = await graph.ainvoke(
            ask("Call me Ada. Shall we?"), context=ACEContext(learner_id="ada", reflect_when="evidence")
        )
        assert out["learning"]["error"] is None
        assert len(await store.list_pending("ada")) == left
        assert len((await store.load("ada")).playbook) == (6 if left else 4)


def test_the_threshold_is_below_the_cap() -> None:
    assert Settings(max_bullets=1_000).consolidate_above == 800
    assert Settings(max_bullets=100_000).consolidate_above == 10_000
    assert Settings(consolidate_threshold=7).consolidate_above == 7
    assert Settings(consolidate_threshold=0).consolidate_above is None
