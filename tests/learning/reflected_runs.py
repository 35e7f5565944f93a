"""Trajectories with reflections, as a worker would have left them.

Does not: hold a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from ace_graph.memory import ReflectedLesson, TurnReflection
from ace_graph.memory.stores import Store
from ace_graph.testing.conformance import NOON, record, touching, write

__all__ = ["add_run", "add_runs"]


async def add_run(
    store: Store,
    learner: str,
    run: str,
    *lessons: ReflectedLesson | str,
    minute: int = 0,
    reflected: bool = True,
    **fields: object,
) -> str:
    """Store a completed trajectory with one reflection, and return the reflection's id."""
    taught = [ReflectedLesson(content=each) if isinstance(each, str) else each for each in lessons]
    reflection = TurnReflection(
        turn_id=run,
        reflection_id=f"reflection-of-{run}",
        at=NOON + timedelta(minutes=minute),
        by="model",
        successes=tuple(each.content for each in taught if each.polarity == "strategy"),
        failures=tuple(each.content for each in taught if each.polarity == "anti_pattern"),
        lessons=tuple(taught),
    )
    given = {"agent": "crawler", "task_type": "api_call", **fields}
    turn = record(minute, turn_id=run).model_copy(
        update={**given, "reflections": (reflection,) if reflected else ()}
    )
    await write(store, learner, touching(), turn)
    return reflection.reflection_id


async def add_runs(store: Store, learner: str, lessons: Sequence[str]) -> list[str]:
    """Store a trajectory for each lesson: run-0, run-1, ...; return the ids of the reflections."""
    return [await add_run(store, learner, f"run-{n}", text, minute=n) for n, text in enumerate(lessons)]
