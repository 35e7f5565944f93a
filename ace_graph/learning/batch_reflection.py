"""Reflecting over many runs: what the reflections on a learner's trajectories have in common.

    found = await batch_reflect(store, "bot", agent="crawler", task_type="api_call")
    if found.status == "reflected":
        await curate(store, "bot", [pattern.memory_id for pattern in found.patterns], "api_client")

No model is called: the reflections are there already, one or more for each run. The result is stored as a
trajectory of its own, so that it is listed, exported, forgotten and cleaned as others are. Document 004, 3.1.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import UsageError
from ace_graph.base.off_loop import run_off_loop
from ace_graph.base.settings import Settings
from ace_graph.learning.recurring_patterns import RecurringPattern, extract_patterns
from ace_graph.learning.reflection import every_turn
from ace_graph.memory.commit import operation_id
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.dream import DREAM_TYPE
from ace_graph.memory.similarity.vectors import vectors_of
from ace_graph.memory.stores.store import Store
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord, TurnReflection

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


logger = logging.getLogger("ace_graph")
REFLECTOR = "reflector"
"""The agent of a batch reflection's own trajectory."""
BATCH_TYPE = "batch_reflection"
"""Its task type."""
MIN_TRAJECTORIES = 5
MAX_RUNS = 1_000
"""Of more runs the newest are read."""
MAX_PATTERNS = 50
"""Of more patterns the most frequent are stored and returned."""
_RUNS_NAMED = 64


ChosenEmbeddings: TypeAlias = "Embeddings | Literal['settings'] | None"
"""Embeddings, those that the settings find (ACE_EMBEDDINGS), or none: then words alone decide."""


@dataclass(frozen=True)
class NotEnough:
    """There are fewer runs than asked for; nothing was written."""

    found: int
    needed: int
    status: Literal["not_enough"] = "not_enough"


@dataclass(frozen=True)
class FoundPattern:
    """A pattern, and the id of the reflection under which it is stored, for `curate`."""

    memory_id: str
    pattern: RecurringPattern


@dataclass(frozen=True)
class BatchReflection:
    """What `found` runs have in common, the most frequent pattern first.

    `trajectory_id` is the trajectory under which it is stored. `unreflected` are the runs that no reflection
    is known of: they say nothing here until they are reflected on. `left_out` counts the rarest patterns
    beyond MAX_PATTERNS.
    """

    trajectory_id: str
    found: int
    patterns: tuple[FoundPattern, ...]
    unreflected: tuple[str, ...] = ()
    left_out: int = 0
    status: Literal["reflected"] = "reflected"


async def batch_reflect(
    store: Store,
    learner_id: str,
    *,
    agent: str | None = None,
    since: datetime | None = None,
    task_type: str | None = None,
    min_trajectories: int = MIN_TRAJECTORIES,
    embeddings: ChosenEmbeddings = "settings",
    clock: Callable[[], datetime] = utc_now,
) -> BatchReflection | NotEnough:
    """Find what the completed runs of a learner have in common, and store it as a trajectory.

    `agent`, `task_type` and `since` (completed then or later) select the runs, of which the newest 1,000 are
    read. By `embeddings` lines in other words can be one pattern as well: those that the settings find
    (ACE_EMBEDDINGS), others, or None for words alone. Where they fail, or there are more than 1,000 different
    lines, the words alone decide. The same runs with the same reflections give the
    same ids, and are stored once. Raises UsageError for less than two `min_trajectories`, and what the store
    raises.
    """
    if min_trajectories < 2:
        raise UsageError(f"{min_trajectories} runs are too few to compare: ask for at least 2")
    wanted = TrajectoryFilter(agent=agent, task_type=task_type, since=since)
    runs = await _completed_runs(store, learner_id, wanted)
    if len(runs) < min_trajectories:
        return NotEnough(len(runs), min_trajectories)
    # The reflections on these runs; a turn's record may hold one on the turn before it
    names = {turn.turn_id for turn in runs}
    found = {each.reflection_id: each for turn in runs for each in turn.reflections if each.turn_id in names}
    reflections = tuple(found.values())
    reflected = {each.turn_id for each in reflections}
    lines = (line.content for each in reflections for line in each.lessons)
    vectors = await vectors_of(lines, chosen_embeddings(embeddings))
    size = sum(len(line.content) for each in reflections for line in each.lessons)
    patterns = await run_off_loop(
        size, extract_patterns, reflections, similarity=store.policy.similarity, vectors=vectors
    )
    record = _record(learner_id, runs, reflections, patterns[:MAX_PATTERNS], clock())
    delta = Delta(
        op_id=operation_id(record.turn_id, "batch"),
        now=record.started_at,
        author=REFLECTOR,
        source=record.turn_id,
    )
    await store.commit(learner_id, delta, await store.load(learner_id), record)
    return BatchReflection(
        trajectory_id=record.turn_id,
        found=len(runs),
        patterns=tuple(
            FoundPattern(_memory_id(record.turn_id, each), each) for each in patterns[:MAX_PATTERNS]
        ),
        unreflected=tuple(turn.turn_id for turn in runs if turn.turn_id not in reflected),
        left_out=max(0, len(patterns) - MAX_PATTERNS),
    )


async def _completed_runs(store: Store, learner_id: str, wanted: TrajectoryFilter) -> tuple[TurnRecord, ...]:
    """Return the completed trajectories that match, the newest first, batch reflections and dreams aside."""
    runs: dict[str, TurnRecord] = {}
    async for turn in every_turn(store, learner_id, wanted):
        if turn.status != "in_progress" and turn.task_type not in (BATCH_TYPE, DREAM_TYPE):
            runs.setdefault(turn.turn_id, turn)
        if len(runs) == MAX_RUNS:
            break
    return tuple(runs.values())


def chosen_embeddings(embeddings: ChosenEmbeddings) -> Embeddings | None:
    """Return the embeddings that are given, or those that the settings find."""
    if embeddings != "settings":
        return embeddings
    from ace_graph.agent.resources import find_embeddings  # loads LangChain

    return find_embeddings(Settings.load())


def _record(
    learner_id: str,
    runs: Sequence[TurnRecord],
    reflections: Sequence[TurnReflection],
    patterns: Sequence[RecurringPattern],
    now: datetime,
) -> TurnRecord:
    read = sorted({*(turn.turn_id for turn in runs), *(each.reflection_id for each in reflections)})
    name = operation_id("batch", learner_id, *read, *(pattern.id for pattern in patterns))
    return TurnRecord(
        turn_id=name,
        attempt_id=name,
        task=f"What {len(runs)} runs have in common",
        mode="batch",
        agent=REFLECTOR,
        task_type=BATCH_TYPE,
        status="success",
        metrics={
            "found": len(runs),
            "reflections": len(reflections),
            "examples": [turn.turn_id for turn in runs[:_RUNS_NAMED]],
        },
        reflections=tuple(
            TurnReflection(
                turn_id=name,
                reflection_id=_memory_id(name, pattern),
                at=now,
                by="rules",
                successes=(pattern.text,) if pattern.polarity == "strategy" else (),
                failures=(pattern.text,) if pattern.polarity == "anti_pattern" else (),
                observations=(pattern.text,) if pattern.polarity == "observation" else (),
                lessons=(pattern.lesson,),
                trajectory_ids=pattern.trajectory_ids[-_RUNS_NAMED:],
                frequency=pattern.frequency,
                confidence=pattern.confidence,
            )
            for pattern in patterns
        ),
        started_at=now,
        completed_at=now,
    )


def _memory_id(name: str, pattern: RecurringPattern) -> str:
    return operation_id(name, pattern.id, "reflection")
