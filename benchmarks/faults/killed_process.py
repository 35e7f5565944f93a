"""Processes that are killed in the middle of a turn: `python -m benchmarks.faults.killed_process URL FOLDER`.

Forks one child for every point, which runs the turn of a learner of its own and kills itself there, with
SIGKILL. Its checkpoints are in FOLDER, for whoever goes on with the turn. Prints how each child ended.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from pathlib import Path

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from ace_graph.stores import open_store
from benchmarks.faults.fault import POINTS, Fault, Point
from benchmarks.faults.turn import graph_with, run, seed

__all__ = ["checkpoints", "learner_at"]


def learner_at(point: Point, run_id: str) -> str:
    """The learner whose turn is killed at `point`."""
    return f"killed-{run_id}-{point.replace(' ', '-')}"


def checkpoints(folder: Path, point: Point) -> Path:
    """The file of the checkpoints of that turn."""
    return folder / f"{point.replace(' ', '-')}.db"


async def _turn(url: str, folder: Path, point: Point) -> None:
    learner, fault = learner_at(point, folder.name), Fault(point, "kills")
    async with (
        open_store(url) as store,
        AsyncSqliteSaver.from_conn_string(str(checkpoints(folder, point))) as saver,
    ):
        await seed(store, learner)
        await run(graph_with(store, fault, saver), learner, fault)


def _killed_at(url: str, folder: Path, point: Point) -> int:
    """Return the exit code of a child that was to be killed at `point`: -9 where it was."""
    pid = os.fork()
    if not pid:
        try:
            asyncio.run(_turn(url, folder, point))
        finally:
            os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    os.environ["LANGSMITH_TRACING"] = "false"
    logging.getLogger("ace_graph").setLevel(logging.CRITICAL)
    ended = {point: _killed_at(sys.argv[1], Path(sys.argv[2]), point) for point in POINTS}
    json.dump(ended, sys.stdout)
