"""Old steps go, once somebody has reflected on them, and old records; by hand, and of all learners."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ace_graph import playbooks
from ace_graph.base import CommitTooOld, Retention
from ace_graph.learning import clean_learners, trim_trajectories
from ace_graph.memory import CleaningPlace, Evidence, Policy, Step, TurnReflection
from ace_graph.memory.delta import Add, Delta, Reset
from ace_graph.memory.stores import Store, Unsaved, base, commit_unsaved
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.playbooks import Change
from ace_graph.testing.conformance import adding, record, rewriting, touching, write

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def _turn(store: Store, name: str, days_ago: float, *, reflected: bool) -> None:
    at = NOON - timedelta(days=days_ago)
    fields: dict[str, object] = {
        "started_at": at,
        "completed_at": at,
        "steps": (Step(kind="action", text="did it"),),
        "evidence": (Evidence(source="tool", verdict="failure"),),
        "reflections": (TurnReflection(turn_id=name, at=at),) if reflected else (),
    }
    await write(store, "bot", touching(), record(turn_id=name).model_copy(update=fields))


@pytest.mark.parametrize("again", [False, True])
async def test_old_steps_go_once_they_were_reflected_on(again: bool) -> None:
    store = SQLiteStore()
    await _turn(store, "old", 31, reflected=True)
    await _turn(store, "unreflected", 31, reflected=False)
    await _turn(store, "young", 29, reflected=True)
    done = await trim_trajectories(store, "bot", NOON)
    assert (done.trimmed, done.unreflected) == (("old",), ("unreflected",))
    if again:
        assert (await trim_trajectories(store, "bot", NOON)).trimmed == ()
    turns = {turn.turn_id: turn for turn in await store.turns("bot")}
    assert {name: len(turn.steps) for name, turn in turns.items()} == {"old": 0, "unreflected": 1, "young": 1}
    assert turns["old"].steps_dropped == "retention"
    assert len(turns["old"].evidence) == len(turns["old"].reflections) == 1


async def _old_turns(store: Store, learner: str, many: int, days_ago: float = 40) -> None:
    """Write turns of long ago, then clear the memory, so that none of them is a recent one."""
    for number in range(many):
        at = NOON - timedelta(days=days_ago)
        fields: dict[str, object] = {"started_at": at, "completed_at": at}
        await write(store, learner, touching(), record(turn_id=f"t{number}").model_copy(update=fields))
    await write(store, learner, rewriting(Reset()))


async def test_all_learners_are_cleaned_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "PAGE", 2)
    store, done, slept = SQLiteStore(), list[int](), list[float]()
    for number in range(5):
        await _old_turns(store, f"learner {number}", number)

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    swept = await clean_learners(store, Retention(record_days=30), NOON, sleep=sleep, on_learner=done.append)
    assert (swept.learners, swept.failed, swept.cleaned.turns) == (5, 0, 10)
    assert done == [1, 2, 3, 4, 5]
    assert len(slept) == 4
    assert (await store.sizes()).turns == 0


async def test_one_learner_is_cleaned_alone_and_a_dry_run_counts() -> None:
    store = SQLiteStore()
    for learner in ("ada", "ben"):
        await _old_turns(store, learner, 3)
    kept = Retention(record_days=30)
    planned = await clean_learners(store, kept, NOON, dry_run=True)
    assert (planned.cleaned.turns, (await store.sizes()).turns) == (6, 6)
    assert (await clean_learners(store, kept, NOON, learner_id="ada")).cleaned.turns == 3
    assert [len(await store.turns(learner)) for learner in ("ada", "ben")] == [0, 3]


async def test_a_learner_who_cannot_be_read_holds_up_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with SQLiteStore(tmp_path / "ace.db") as store:
        for learner in ("ada", "ben", "cy"):
            await _old_turns(store, learner, 1)
        with closing(sqlite3.connect(str(store.path))) as connection, connection:
            connection.execute("UPDATE ace_turns SET record_json = '{' WHERE user_id = 'ben'")
        swept = await clean_learners(store, Retention(record_days=30), NOON)
        assert (swept.learners, swept.failed, swept.cleaned.turns) == (3, 1, 2)
        assert (await store.sizes()).turns == 1
    assert "a learner was not cleaned" in caplog.text


async def test_nothing_old_takes_no_write_lock(tmp_path: Path) -> None:
    async with SQLiteStore(tmp_path / "ace.db", lock_timeout=0.1) as store:
        await _old_turns(store, "ada", 2, days_ago=1)
        with closing(sqlite3.connect(str(store.path), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            swept = await clean_learners(store, Retention(), NOON)
            dry = await clean_learners(store, Retention(record_days=0.5), NOON, dry_run=True)
    assert (swept.cleaned.turns, dry.cleaned.turns) == (0, 2)


async def test_what_a_turn_could_not_save_is_refused_when_late() -> None:
    store, at = SQLiteStore(policy=Policy(history_kept=1)), NOON - timedelta(days=40)
    first = await write(store, "ada", adding("Draw a bar"))
    late = Unsaved(
        learner_id="ada",
        epoch=first.version.epoch,
        delta=Delta(op_id="late", now=at, operations=(Add(content="Estimate first"),)),
        record=record(turn_id="late").model_copy(update={"started_at": at, "completed_at": at}),
    ).model_dump_json()
    assert (await commit_unsaved(store, late)).status == "applied"
    await write(store, "ada", rewriting(Reset()))
    kept = Retention(record_days=30)
    assert (await clean_learners(store, kept, NOON)).cleaned.turns == 1
    assert (await commit_unsaved(store, late)).status == "repeated", "the history still knows it"
    for number in range(3):
        await write(store, "ada", adding(f"Fact {number} is about {number * 7}"))
    assert (await clean_learners(store, kept, NOON + timedelta(days=31))).cleaned.deltas > 0
    with pytest.raises(CommitTooOld, match="it may be a repeat"):
        await commit_unsaved(store, late)
    assert len((await store.load("ada")).playbook) == 3


@pytest.mark.parametrize("owner", [None, "ada"])
async def test_a_pass_drops_old_versions_of_playbooks(owner: str | None) -> None:
    store, long_ago = SQLiteStore(), NOON - timedelta(days=100)
    made = [
        await playbooks.create(store, "maths", owner=name, change=Change(now=long_ago))
        for name in ("ada", "ben")
    ]
    for playbook_id in made:
        for n in range(8):
            delta = adding(f"Fact {n} is about {n * 7}").model_copy(update={"now": long_ago})
            await write(store.playbooks, playbook_id, delta)
    counted = await clean_learners(store, Retention(), NOON, learner_id=owner, dry_run=True)
    assert counted.versions == (3 if owner else 6)
    done = await clean_learners(store, Retention(), NOON, learner_id=owner)
    assert (done.versions, done.failed) == (counted.versions, 0)
    assert (await clean_learners(store, Retention(), NOON, learner_id=owner)).versions == 0
    kept = {each.n for each in await store.playbooks.versions(made[0]) if each.readable}
    assert kept == {1, *range(5, 10)}


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_batch_of_one_cleans_one_turn(kind: str, tmp_path: Path) -> None:
    async with SQLiteStore() if kind == "memory" else SQLiteStore(tmp_path / "ace.db") as store:
        await _old_turns(store, "ada", 3)
        cutoffs = Retention(record_days=30).cutoffs(NOON)
        for left in (2, 1):
            await store.clean("ada", cutoffs, CleaningPlace("turns"), most=1)
            assert len(await store.turns("ada")) == left


async def test_a_batch_is_cleaned_though_its_caller_goes_away(tmp_path: Path) -> None:
    async with SQLiteStore(tmp_path / "ace.db") as store:
        await _old_turns(store, "ada", 3)
        cutoffs = Retention(record_days=30).cutoffs(NOON)
        with closing(sqlite3.connect(str(store.path), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            first = asyncio.create_task(store.begin_cleaning(NOON, 1))  # waits for the lock, on the thread
            cleaning = asyncio.create_task(store.clean("ada", cutoffs, CleaningPlace("turns")))
            assert len(await store.turns("ada")) == 3
            cleaning.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cleaning
            assert len(await store.turns("ada")) == 3
            other.execute("ROLLBACK")
        assert await first
        assert not await store.begin_cleaning(NOON, 1)
        assert await store.turns("ada") == ()
