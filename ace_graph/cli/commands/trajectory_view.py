"""What `trajectory list` and `trajectory show` print."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import cast, get_args

from ace_graph.cli.store_access import on_trajectories
from ace_graph.cli.terminal import console, print_json, printable
from ace_graph.errors import UsageError
from ace_graph.memory.clock import utc_now
from ace_graph.memory.pending import PendingItem
from ace_graph.memory.stores.base import PendingStore
from ace_graph.memory.trajectory import TrajectoryFilter, effective_score
from ace_graph.memory.turn import TurnRecord, TurnStatus
from ace_graph.trajectories.recording import get_trajectory

__all__ = ["TrajectoryQuery", "list_trajectories", "show"]

_TASK = 60


@dataclass(frozen=True)
class TrajectoryQuery:
    """The options of `trajectory list`."""

    failed: bool
    agent: str | None
    type: str | None
    status: str | None
    since: datetime | None
    until: datetime | None
    limit: int
    skip: int


@dataclass(frozen=True)
class _Row:
    turn: TurnRecord
    item: PendingItem | None

    def json(self) -> dict[str, object]:
        """All fields of the record, the effective score, and how learning from it stands."""
        fields = self.turn.model_dump(mode="json")
        fields["trajectory_id"] = self.turn.turn_id
        fields["effective_score"] = effective_score(self.turn, utc_now())
        fields["learning"] = _standing(self.turn, self.item)
        fields["learning_error"] = self.item.error if self.item else None
        fields["pending_id"] = self.item.pending_id if self.item else None
        return fields


def list_trajectories(url: str | None, learner: str, wanted: TrajectoryQuery, *, as_json: bool) -> None:
    """Print those that are wanted, the newest first; as JSON it is an array."""
    rows = on_trajectories(url, lambda store: _found(store, learner, wanted))
    if as_json:
        print(json.dumps([row.json() for row in rows], ensure_ascii=False, indent=2))
        return
    out = console()
    for row in rows:
        turn = row.turn
        learning = _standing(turn, row.item)
        task = printable(turn.task)
        line = (
            f"{printable(turn.turn_id)}  {turn.started_at:%Y-%m-%d %H:%M}  {turn.status:<11}  {task[:_TASK]}"
        )
        why = f": {printable(row.item.error)}" if row.item and row.item.error else ""
        out.print(line + (f"  [{learning}{why}]" if learning not in ("learned", "") else ""), soft_wrap=True)
    if not rows:
        console(error=True).print(f"Learner {printable(learner)} has no trajectory of this kind.")


def show(url: str | None, learner: str, id_: str, *, as_json: bool) -> None:
    """Print one."""

    async def read(store: PendingStore) -> _Row:
        turn = await get_trajectory(store, learner, id_)
        items = await _items(store, learner)
        return _Row(turn, items.get(turn.turn_id))

    row = on_trajectories(url, read)
    if as_json:
        print_json(row.json())
        return
    out = console()
    for line in _lines(row):
        out.print(line, soft_wrap=True)


async def _found(store: PendingStore, learner: str, wanted: TrajectoryQuery) -> list[_Row]:
    if wanted.status is not None and wanted.status not in get_args(TurnStatus):
        raise UsageError(f"{wanted.status[:40]!r} is no status: use one of {', '.join(get_args(TurnStatus))}")
    asked_for = TrajectoryFilter(
        agent=wanted.agent,
        task_type=wanted.type,
        status=cast("TurnStatus | None", wanted.status),
        since=_utc(wanted.since),
        until=_utc(wanted.until),
    )
    items = await _items(store, learner)
    if not wanted.failed:
        turns = await store.find_turns(learner, asked_for, limit=wanted.limit, skip=wanted.skip)
        return [_Row(turn, items.get(turn.turn_id)) for turn in turns]
    most = wanted.limit + wanted.skip
    failed = replace(asked_for, status="failure")
    rows = {turn.turn_id: turn for turn in await store.find_turns(learner, failed, limit=most)}
    for turn_id in [turn_id for turn_id, item in items.items() if item.state == "dead"]:
        found = replace(asked_for, turn_id=turn_id)
        rows |= {turn.turn_id: turn for turn in await store.find_turns(learner, found, limit=1)}
    newest = sorted(rows.values(), key=lambda turn: turn.started_at, reverse=True)
    return [_Row(turn, items.get(turn.turn_id)) for turn in newest[wanted.skip : most]]


async def _items(store: PendingStore, learner: str) -> dict[str, PendingItem]:
    """What is pending by turn, a dead letter before one that waits."""
    items = await store.list_pending(learner, limit=10_000)
    return {item.turn_id: item for item in sorted(items, key=lambda item: item.state == "dead")}


def _standing(turn: TurnRecord, item: PendingItem | None) -> str:
    if item is not None:
        return item.state
    return "learned" if turn.reflections else ""


def _utc(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def _lines(row: _Row) -> Iterator[str]:
    turn = row.turn
    yield f"{printable(turn.turn_id)}  {turn.status}  {printable(turn.task)}"
    yield (
        f"  agent {printable(turn.agent)}, mode {printable(turn.mode)}, {turn.duration_ms:.0f} ms, "
        f"{turn.input_tokens} + {turn.output_tokens} tokens, verdict {turn.verdict}, score {turn.score}"
    )
    for read in turn.playbooks:
        yield f"  playbook {printable(read.playbook_id)}, version {printable(read.label)}"
    if turn.error:
        yield f"  error: {printable(turn.error)}"
    for step in turn.steps:
        again = f" (x{step.times})" if step.times > 1 else ""
        yield f"  {step.kind}: {printable(step.text)}{again}"
    for feedback in turn.feedback:
        yield f"  feedback ({feedback.kind}): {feedback.verdict} {printable(feedback.text)}"
    for found in turn.reflections:
        mark = " (by rules)" if found.fallback else ""
        lines = (*found.successes, *found.failures, *found.observations, *found.recommendations)
        told = printable("; ".join(lines) or "nothing to learn")
        yield f"  reflection {printable(found.reflection_id)}{mark}: {told}"
    if row.item is not None:
        why = f": {printable(row.item.error)}" if row.item.error else ""
        yield f"  learning: {row.item.state}{why}"
