"""Memories by kind, over a store: one is remembered, those of a kind are listed, evidence is read.

A memory of most kinds is a bullet; trajectories and reflections are read from the records of turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, ValidationError

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import AceError, ChangeRefused, TrajectoryNotFound, UsageError
from ace_graph.base.off_loop import in_slices
from ace_graph.memory.bullet import Bullet, BulletSource, Stated
from ace_graph.memory.commit import Commit, Pending, references
from ace_graph.memory.confidence import turns_behind
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.operations import Add, Delta
from ace_graph.memory.delta.resolve import resolving
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.base import ContentStore, KeyedStore, Store, commit_turn, missing_methods
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord
from ace_graph.memory.views import Kind, checked_kind, fields_of, kind_of

# One change of a playbook at somebody's request: committed as a whole, or refused.


async def commit_checked(
    store: ContentStore,
    learner_id: str,
    delta: Delta,
    base: Snapshot,
    refused: Callable[[Rejection], AceError],
    runs: tuple[Store, str] | None = None,
) -> Commit:
    """Commit `delta`. Where an operation can't be applied, nothing is written, not even the access clock.

    The delta is resolved first without writing. `runs` says where the trajectories are that it may name;
    those behind a named playbook are its owner's. Raises the error that `refused` returns for the first
    rejection; where a concurrent commit is the reason, the other operations are committed nevertheless.
    """
    unknown = await _unknown(*(runs or (store, learner_id)), references(delta, base, None))
    probe = await in_slices(resolving(base, delta, store.policy, unknown), learner_id)
    for rejection in probe.report.rejected:
        raise refused(rejection)
    commit = await store.commit(learner_id, delta, base)
    for rejection in commit.report.rejected:
        raise refused(rejection)
    return commit


async def _unknown(store: ContentStore, learner_id: str, named: frozenset[str]) -> frozenset[str]:
    """Return those of the trajectories that the store does not show, where it can say."""
    if not named or missing_methods(store, KeyedStore):
        return frozenset()
    wanted = TrajectoryFilter(turn_ids=named)
    found = await cast("KeyedStore", store).find_turns(learner_id, wanted, limit=len(named))
    return named - {turn.turn_id for turn in found}


MAX_READ = 300
"""The most records of turns that one list reads, the newest. Votes of older ones count by their number."""


@dataclass(frozen=True)
class MemoryItem:
    """One memory of any kind. `id` is that of a bullet or of a turn; only bullets have an importance."""

    id: str
    kind: Kind
    content: str
    at: datetime
    importance: float | None = None


async def remember(
    store: Store,
    learner_id: str,
    content: str,
    *,
    kind: str = "fact",
    importance: float = 0.5,
    context: str | None = None,
    topic: str | None = None,
    examples: Sequence[str] = (),
    confidence: float | None = None,
    evidence_count: int = 0,
    clock: Callable[[], datetime] = utc_now,
) -> str:
    """Store a memory and return the id of its bullet; one that says the same is strengthened instead.

    `kind` is one of fact, preference, experience, strategy, anti_pattern, observation. `importance` and
    `confidence` are in [0, 1]; the confidence is stated with its `evidence_count`. `examples` are ids of
    trajectories that support it. Raises UnknownKind; UsageError for a value out of its range, and for a kind
    that is stored by another call; TrajectoryNotFound for an example that is not there; ChangeRefused; and
    what the store raises. Then nothing is stored.
    """
    fields, now = fields_of(kind), clock()
    count = max(evidence_count, len(set(examples)))
    try:
        operation = Add(
            ref="new",
            content=content,
            section=fields.section or "general",
            memory_type=fields.memory_type,
            polarity=fields.polarity,
            importance=importance,
            context=context,
            topic=topic,
            examples=tuple(examples),
            evidence_count=count,
            stated=None if confidence is None else Stated(confidence=confidence, count=count, at=now),
            sources=(BulletSource.HOST,),
        )
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    delta = Delta(
        op_id=uuid4().hex, now=now, operations=(operation,), author=BulletSource.HOST, reason=f"a {kind}"
    )
    commit = await commit_checked(store, learner_id, delta, await store.load(learner_id), _refused)
    return commit.report.refs["new"]


async def memories(store: Store, learner_id: str, kind: str, limit: int = 100) -> tuple[MemoryItem, ...]:
    """Return the memories of one of the nine kinds, at most `limit`: active bullets in order, or turns.

    Trajectories and reflections come with the newest first. Raises UnknownKind, and what the store raises.
    """
    wanted, most = checked_kind(kind), max(0, limit)
    if wanted == "trajectory":
        turns = await store.turns(learner_id, most)
        return tuple(MemoryItem(turn.turn_id, wanted, turn.task, turn.started_at) for turn in turns)
    if wanted == "reflection":
        found = (memory for turn in await store.turns(learner_id, MAX_READ) for memory in _reflections(turn))
        return tuple(found)[:most]
    bullets = (await store.load(learner_id)).playbook.bullets()
    named = (b for b in bullets if b.status == "active" and kind_of(b) == wanted)
    return tuple(MemoryItem(b.id, wanted, b.content, b.created_at, b.importance) for b in named)[:most]


async def trajectories_behind(
    store: Store, learner_id: str, snapshot: Snapshot, bullets: Iterable[Bullet]
) -> tuple[TurnRecord, ...]:
    """Return the records of the trajectories behind these bullets in one read: at most 300, the newest.

    They are the examples of the bullets, and turns with a vote on one of them. Deleted ones are left out.
    """
    wanted = turns_behind(bullets, snapshot.playbook)
    if not wanted:
        return ()
    if missing_methods(store):
        return tuple(turn for turn in await store.turns(learner_id, MAX_READ) if turn.turn_id in wanted)
    return await store.find_turns(learner_id, TrajectoryFilter(turn_ids=wanted), limit=MAX_READ)


def _reflections(turn: TurnRecord) -> Iterable[MemoryItem]:
    for reflection in reversed(turn.reflections):
        lines = (
            reflection.insight,
            *reflection.recommendations,
            *reflection.failures,
            *reflection.successes,
            *reflection.observations,
        )
        content = next((line for line in lines if line), "nothing to learn")
        yield MemoryItem(reflection.turn_id, "reflection", content, reflection.at)


def _refused(rejection: Rejection) -> AceError:
    if rejection.why.startswith("unknown trajectory"):
        return TrajectoryNotFound(f"{rejection.why}: trajectory list shows the ids; nothing is stored")
    return ChangeRefused(f"not remembered: {rejection.why}")


# Commits later what a turn could not save: the JSON text in `learning.unsaved` of its output.
#
# The host keeps the text until then.


class Unsaved(BaseModel):
    """A turn's delta, record and pending work, and the learner's epoch at the time of the turn."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    learner_id: str
    epoch: str | None
    delta: Delta
    record: TurnRecord | None
    pending: Pending | None = None


async def commit_unsaved(store: Store, unsaved: str) -> Commit:
    """Commit the turn in `learning.unsaved`. A repetition changes nothing, because the op id is the same.

    Raises LearnerForgotten when the learner was forgotten since, UsageError for a text that is no unsaved
    turn, and what the store raises.
    """
    try:
        kept = Unsaved.model_validate_json(unsaved)
    except ValidationError as error:
        raise UsageError("this is no unsaved turn: pass the text of learning['unsaved'] as it was") from error
    # Only the epoch of the base is known, so the store finds a conflict and resolves against its own state.
    base = Snapshot(version=Version(epoch=kept.epoch))
    return await commit_turn(store, kept.learner_id, kept.delta, base, kept.record, kept.pending)
