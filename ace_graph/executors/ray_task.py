"""What runs on a node of a Ray cluster: one chunk of a job's items, with the executor of one process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from ace_graph.errors import AceError, ClusterError
from ace_graph.executors.base import InProcess, Job

__all__ = ["installed_version", "work_on_chunk"]

# Any: a task is made without its types; what a job takes and gives is between it and its caller.
Chunk = tuple[list[Any], AceError | None]


def installed_version() -> str:
    """Return the version of this package on this machine."""
    return version("ace-graph")


def work_on_chunk(job: Job[Any, Any], items: Sequence[Any], concurrency: int, wanted: str) -> Chunk:
    """Return the results that there are, and the error that ended the work, if one did.

    Other exceptions than AceErrors are raised. `wanted` is the version of the program that asks.
    """
    found = installed_version()
    if found != wanted:
        return [], ClusterError(
            f"a node has ace-graph {found}, this program is {wanted}: install the same version on all nodes"
        )
    results: list[Any] = []
    try:
        asyncio.run(InProcess().run(job, iter(items), results.append, concurrency=concurrency))
    except AceError as error:
        return results, error
    return results, None
