"""Memories by kind on a real store: one of each is stored and listed, and what is wrong stores nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ace_graph import complete_trajectory, memories, remember, start_trajectory
from ace_graph.base import ChangeRefused, TrajectoryNotFound, UnknownKind, UsageError
from ace_graph.memory import KINDS, Amend, Snapshot, TurnReflection, with_reflections
from ace_graph.memory.delta import Merge
from ace_graph.memory.stores import Store, trajectories_behind
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing.conformance import NOON, rewriting, write

TEXTS = {
    "fact": "The invoices API has 50 rows on a page",
    "preference": "Answers come with a table",
    "experience": "On Monday the login page was away",
    "strategy": "Read the rate limit before the first call",
    "anti_pattern": "Polling without a pause",
    "observation": "Totals are rounded down at night",
}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with SQLiteStore(tmp_path / "ace.db") as opened:
        yield opened


async def test_one_of_each_kind_is_stored_and_listed_alone(store: Store) -> None:
    ids = {kind: await remember(store, "ada", text, kind=kind) for kind, text in TEXTS.items()}
    run = await start_trajectory(store, "ada", "Fetch the invoices", agent="crawler")
    await complete_trajectory(store, "ada", run, "success")
    reflection = TurnReflection(turn_id=run, at=NOON, insight="Pages are numbered from 1")
    await store.amend("ada", Amend(run, lambda turn: with_reflections(turn, [reflection])))
    pair = [await remember(store, "ada", text) for text in ("Name the unit", "Name every unit")]
    merged = await write(store, "ada", rewriting(Merge(bullet_ids=tuple(pair), force=True)))
    ids |= {"trajectory": run, "reflection": run, "consolidated": merged.report.merged[0].kept}
    listed = {kind: [each.id for each in await memories(store, "ada", kind)] for kind in KINDS}
    assert listed == {kind: [ids[kind]] for kind in KINDS}
    (found,) = await memories(store, "ada", "reflection")
    assert (found.kind, found.content, found.at) == ("reflection", "Pages are numbered from 1", NOON)


async def test_a_memory_says_when_it_was_stored(store: Store) -> None:
    await remember(store, "ada", TEXTS["fact"], importance=0.7, clock=lambda: NOON)
    (found,) = await memories(store, "ada", "fact")
    assert (found.at, found.importance) == (NOON, 0.7)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"kind": "banana"}, UnknownKind),
        ({"kind": "trajectory"}, UsageError),
        ({"importance": 1.1}, UsageError),
        ({"importance": float("nan")}, UsageError),
        ({"kind": "strategy", "confidence": -0.1}, UsageError),
        ({"confidence": float("nan")}, UsageError),
        ({"examples": ("nobody",)}, TrajectoryNotFound),
        ({"content": "  "}, ChangeRefused),
    ],
    ids=str,
)
async def test_what_is_wrong_stores_nothing(
    store: Store,
    wrong: dict[str, Any],  # Any: arguments of remember
    error: type[Exception],
) -> None:
    given: dict[str, Any] = {"content": "Name the unit", **wrong}  # Any: as above
    with pytest.raises(error):
        await remember(store, "ada", **given)
    assert (await store.load("ada")).absent
    assert await store.load("ada") == Snapshot()


async def test_one_read_leads_from_a_bullet_to_its_runs(store: Store) -> None:
    runs = [await start_trajectory(store, "ada", f"Fetch page {n}", agent="crawler") for n in range(3)]
    for run in runs[:2]:
        await remember(store, "ada", TEXTS["strategy"], kind="strategy", examples=(run,))
    snapshot = await store.load("ada")
    (bullet,) = snapshot.playbook.bullets()
    assert (bullet.examples, bullet.evidence_count) == (tuple(runs[:2]), 2)
    behind = await trajectories_behind(store, "ada", snapshot, [bullet])
    assert [turn.task for turn in behind] == ["Fetch page 1", "Fetch page 0"]
