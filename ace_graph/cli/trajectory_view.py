"""What `trajectory list` and `trajectory show` print."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast, get_args

from ace_graph.cli.store_access import on_trajectories
from ace_graph.cli.terminal import console, print_json, printable
from ace_graph.errors import UsageError
from ace_graph.memory.clock import utc_now
from ace_graph.memory.stores.base import PendingStore
from ace_graph.memory.trajectory import TrajectoryFilter, effective_score
from ace_graph.memory.turn import TurnStatus
from ace_graph.trajectories.listing import ListedTrajectory, listed_trajectory
from ace_graph.trajectories.listing import list_trajectories as listed

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


def _row_json(row: ListedTrajectory) -> dict[str, object]:
    """All fields of the record, the effective score, and how learning from it stands."""
    fields: dict[str, object] = row.turn.model_dump(mode="json")
    fields["trajectory_id"] = row.turn.turn_id
    fields["effective_score"] = effective_score(row.turn, utc_now())
    fields["learning"] = row.standing or ""
    fields["learning_error"] = row.item.error if row.item else None
    fields["pending_id"] = row.item.pending_id if row.item else None
    return fields


def list_trajectories(url: str | None, learner: str, wanted: TrajectoryQuery, *, as_json: bool) -> None:
    """Print those that are wanted, the newest first; as JSON it is an array."""
    rows = on_trajectories(url, lambda store: _found(store, learner, wanted))
    if as_json:
        print(json.dumps([_row_json(row) for row in rows], ensure_ascii=False, indent=2))
        return
    out = console()
    for row in rows:
        turn = row.turn
        learning = row.standing
        task = printable(turn.task)
        line = (
            f"{printable(turn.turn_id)}  {turn.started_at:%Y-%m-%d %H:%M}  {turn.status:<11}  {task[:_TASK]}"
        )
        why = f": {printable(row.item.error)}" if row.item and row.item.error else ""
        out.print(
            line + (f"  [{learning}{why}]" if learning not in ("learned", None) else ""), soft_wrap=True
        )
    if not rows:
        console(error=True).print(f"Learner {printable(learner)} has no trajectory of this kind.")


def show(url: str | None, learner: str, id_: str, *, as_json: bool) -> None:
    """Print one."""

    row = on_trajectories(url, lambda store: listed_trajectory(store, learner, id_))
    if as_json:
        print_json(_row_json(row))
        return
    out = console()
    for line in _lines(row):
        out.print(line, soft_wrap=True)


async def _found(store: PendingStore, learner: str, wanted: TrajectoryQuery) -> list[ListedTrajectory]:
    if wanted.status is not None and wanted.status not in get_args(TurnStatus):
        raise UsageError(f"{wanted.status[:40]!r} is no status: use one of {', '.join(get_args(TurnStatus))}")
    asked_for = TrajectoryFilter(
        agent=wanted.agent,
        task_type=wanted.type,
        status=cast("TurnStatus | None", wanted.status),
        since=_utc(wanted.since),
        until=_utc(wanted.until),
    )
    return await listed(store, learner, asked_for, failed=wanted.failed, limit=wanted.limit, skip=wanted.skip)


def _utc(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def _lines(row: ListedTrajectory) -> Iterator[str]:
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
