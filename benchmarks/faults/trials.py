"""The trials: a fault, what the run came to, what was left, and what is left once the run went on."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from ace_graph.memory.stores.memories import commit_unsaved
from ace_graph.memory.stores.store import Store
from benchmarks.faults.aftermath import Aftermath, look
from benchmarks.faults.fault import POINTS, Boundary, Fault, Kind, Point
from benchmarks.faults.killed_process import checkpoints, learner_at
from benchmarks.faults.proxy import Proxy, Wrong
from benchmarks.faults.turn import graph_with, run, seed

__all__ = ["Trial", "cancelled_everywhere", "connection_trial", "killed", "server_killed", "struck"]

Open = Callable[[], Store]
Python = Callable[..., list[str]]
"""Makes the command of a Python with these arguments: `-m MODULE ...`."""

COSTS_A_PART = frozenset({"raises at evaluator", "raises at reflector"})
"""Faults of a helper that the turn survives without its part: the vote, or the lesson."""


@dataclass(frozen=True)
class Trial:
    """One fault and its story. `ended`: answered, unsaved, cancelled, killed, or the error's name."""

    fault: str
    ended: str
    before: Aftermath
    after: Aftermath

    @property
    def passed(self) -> bool:
        """Whether nothing was torn or doubled, and the turn is there once after it went on."""
        costs = self.fault in COSTS_A_PART
        return self.before.whole and (self.after.whole if costs else self.after.once)


def _python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


async def struck(store: Store, point: Point | None, kind: Kind) -> Trial:
    """Run the turn with a fault at a point, then let it go on."""
    fault = Fault(point, kind)
    trial = await _trial(store, store, fault, f"{kind} at {point}")
    if point is not None and not fault.struck:
        raise RuntimeError(f"nothing came by {point}")
    return trial


async def cancelled_everywhere(store: Store, stride: int = 1) -> AsyncGenerator[Trial]:
    """Cancel the run after ever more steps of the event loop, until it ends before it is cancelled."""
    steps = 0
    while True:
        trial = await _trial(store, store, Fault(), f"cancelled after {steps} steps", cancel_after=steps)
        yield trial
        if trial.ended == "answered":
            return
        steps += stride


async def connection_trial(direct: Store, opened: Open, proxy: Proxy, wrong: Wrong, at: int) -> Trial | None:
    """Run the turn through a proxy that goes wrong at a message; None where the turn has fewer messages."""
    learner = f"fault-{uuid4()}"
    await seed(direct, learner)
    proxy.arm(wrong, at)
    async with opened() as store:
        trial = await _trial(store, direct, Fault(), f"{wrong} message {at}", learner=learner)
    return trial if proxy.struck else None


async def killed(url: str, open_store: Open, folder: Path, python: Python = _python) -> AsyncGenerator[Trial]:
    """Kill a process at every point of the turn, and go on with the turn in this one."""
    command = python("-m", "benchmarks.faults.killed_process", url, str(folder))
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, env=dict(os.environ))
    said, _ = await process.communicate()
    ended: dict[str, int] = json.loads(said)
    async with open_store() as store:
        for point in POINTS:
            if ended[point] != -9:
                raise RuntimeError(f"the process was not killed at {point}: it ended with {ended[point]}")
            learner, fault = learner_at(point, folder.name), Fault()
            before = await look(store, learner)
            async with AsyncSqliteSaver.from_conn_string(str(checkpoints(folder, point))) as saver:
                await run(graph_with(store, fault, saver), learner, fault, resume=True)
            yield Trial(f"kills at {point}", "killed", before, await look(store, learner))


async def server_killed(url: str, folder: Path, *points: Boundary, python: Python = _python) -> list[Trial]:
    """Kill a server at boundaries of a turn (all of them if none is named) and let another one take it up."""
    command = python("-m", "benchmarks.faults.killed_server", url, str(folder), *points)
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, env=dict(os.environ))
    said, _ = await process.communicate()
    trials: list[Trial] = []
    for line in said.splitlines():
        told = json.loads(line)
        if told["ended"] != -9 or "after" not in told:
            raise RuntimeError(f"the server was not killed, or the next one never got through: {told}")
        before, after = _aftermath(told["before"]), _aftermath(told["after"])
        trials.append(Trial(f"server kills at {told['point']}", "killed", before, after))
    return trials


def _aftermath(told: Any) -> Aftermath:  # Any: JSON, as `asdict` wrote it
    counts = (int(told[name]) for name in ("turns", "lessons", "statements", "votes"))
    return Aftermath(*counts, wrong=tuple(told["wrong"]))


async def _trial(
    store: Store,
    direct: Store,
    fault: Fault,
    name: str,
    *,
    cancel_after: int | None = None,
    learner: str | None = None,
) -> Trial:
    if learner is None:
        learner = f"fault-{uuid4()}"
        await seed(direct, learner)
    graph = graph_with(store, fault, InMemorySaver())
    task = asyncio.create_task(run(graph, learner, fault))
    if cancel_after is not None:
        for _ in range(cancel_after):
            await asyncio.sleep(0)
        task.cancel()
    ended, unsaved = await _ended(task)
    before = await look(direct, learner)
    if unsaved is not None:
        await commit_unsaved(direct, unsaved)
    elif ended != "answered":
        await run(graph, learner, fault, resume=True)
    return Trial(name, ended, before, await look(direct, learner))


async def _ended(task: asyncio.Task[object]) -> tuple[str, str | None]:
    """How a run ended, and what it could not save."""
    await asyncio.wait([task])
    if task.cancelled():
        return "cancelled", None
    error = task.exception()
    if error is not None:
        return type(error).__name__, None
    output = task.result()
    learning = output.get("learning") if isinstance(output, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # a state
    unsaved = learning["unsaved"] if isinstance(learning, dict) else None  # pyright: ignore[reportUnknownVariableType]
    return ("unsaved", str(unsaved)) if unsaved else ("answered", None)  # pyright: ignore[reportUnknownArgumentType]
