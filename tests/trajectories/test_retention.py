"""Old steps go, once somebody has reflected on them; outcome and evidence stay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ace_graph.memory.evidence import Evidence
from ace_graph.memory.stores.base import PendingStore
from ace_graph.memory.stores.in_memory import InMemoryStore
from ace_graph.memory.trace import Step, TurnReflection
from ace_graph.retention import trim_trajectories
from ace_graph.testing.conformance.writing import record, touching, write

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def _turn(store: PendingStore, name: str, days_ago: float, *, reflected: bool) -> None:
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
    store = InMemoryStore()
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
