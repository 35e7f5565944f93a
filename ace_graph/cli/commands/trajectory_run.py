"""What `trajectory start|log|complete|delete|trim` do.

Does not: list or show (trajectory_view does).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar, cast

from pydantic import JsonValue

from ace_graph.cli.environment import load_settings
from ace_graph.cli.store_access import on_store
from ace_graph.cli.terminal import counted, print_json, printable
from ace_graph.errors import ConfigurationError, UsageError
from ace_graph.memory.clock import utc_now
from ace_graph.memory.stores.base import PendingStore, Store, keeps_pending
from ace_graph.memory.turn import StepKind, TurnStatus
from ace_graph.trajectories.recording import (
    Completion,
    complete_trajectory,
    delete_trajectory,
    log_step,
    start_trajectory,
)
from ace_graph.trajectories.retention import trim_trajectories

__all__ = ["Ending", "complete", "delete", "log", "on_trajectories", "start", "trim"]

T = TypeVar("T")


@dataclass(frozen=True)
class Ending:
    """The options of `trajectory complete`."""

    status: str
    score: float | None
    error: str | None
    answer: str
    metrics: str | None
    cited: tuple[str, ...]
    learn: bool


def on_trajectories(url: str | None, job: Callable[[PendingStore], Awaitable[T]]) -> T:
    """Return what `job` returns, run with the store, which must keep trajectories."""

    async def checked(store: Store) -> T:
        if not keeps_pending(store):
            raise ConfigurationError(f"the store {store.name} keeps no trajectories of its own")
        return await job(store)

    return on_store(url, checked)


def start(
    url: str | None,
    learner: str,
    task: str,
    agent: str | None,
    type_: str | None,
    parent: str | None,
    id_: str | None,
    *,
    as_json: bool,
) -> None:
    """Begin one and print its id."""
    name = on_trajectories(
        url,
        lambda store: start_trajectory(
            store,
            learner,
            task,
            agent=agent or "host",
            task_type=type_,
            parent_id=parent,
            trajectory_id=id_,
        ),
    )
    if as_json:
        print_json({"trajectory_id": name, "status": "in_progress"})
    else:
        print(printable(name))


def log(
    url: str | None, learner: str, id_: str, kind: str, text: str, metadata: str | None, *, as_json: bool
) -> None:
    """Add a step."""
    given = _object(metadata, "--metadata")
    step = cast("StepKind", kind)
    turn = on_trajectories(url, lambda store: log_step(store, learner, id_, step, text, given))
    if as_json:
        print_json({"trajectory_id": id_, "steps": len(turn.steps)})
    else:
        print(f"{counted(len(turn.steps), 'step')}.")


def complete(url: str | None, learner: str, id_: str, asked: Ending, *, as_json: bool) -> None:
    """End it."""
    completion = Completion(
        score=asked.score,
        error=asked.error,
        answer=asked.answer,
        metrics=_object(asked.metrics, "--metrics"),
        cited=asked.cited,
        learns=asked.learn,
    )
    status = cast("TurnStatus", asked.status)
    tracing = load_settings().tracing
    pending = on_trajectories(
        url, lambda store: complete_trajectory(store, learner, id_, status, completion, tracing=tracing)
    )
    if as_json:
        print_json({"trajectory_id": id_, "status": status, "pending": pending})
    else:
        print("Completed." if pending is None else "Completed; a worker will learn from it.")


def delete(url: str | None, learner: str, id_: str, *, as_json: bool) -> None:
    """Delete it."""
    on_trajectories(url, lambda store: delete_trajectory(store, learner, id_))
    if as_json:
        print_json({"trajectory_id": id_, "deleted": True})
    else:
        print("Deleted.")


def trim(url: str | None, learner: str, days: float, *, as_json: bool) -> None:
    """Drop old steps."""
    now = utc_now()
    done = on_trajectories(url, lambda store: trim_trajectories(store, learner, now, days))
    if as_json:
        print_json({"trimmed": list(done.trimmed), "unreflected": list(done.unreflected)})
        return
    print(
        f"Dropped the steps of {counted(len(done.trimmed), 'trajectory')}.".replace(
            "trajectorys", "trajectories"
        )
    )
    if done.unreflected:
        print(
            f"Kept {len(done.unreflected)}, because nobody has reflected on them yet: ace-graph worker --once"
        )


def _object(text: str | None, option: str) -> dict[str, JsonValue]:
    if text is None:
        return {}
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{option} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f'{option} is a JSON object, like {{"pages": 3}}')
    return cast("dict[str, JsonValue]", value)
