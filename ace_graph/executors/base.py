"""What a job and an executor are, and the executor that runs everything in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

__all__ = ["Executor", "InProcess", "Job", "Work"]

Item = TypeVar("Item")
Result = TypeVar("Result")
ItemT_contra = TypeVar("ItemT_contra", contravariant=True)
ResultT_co = TypeVar("ResultT_co", covariant=True)

Work = Callable[[Item], Awaitable[Result]]


class Job(Protocol[ItemT_contra, ResultT_co]):
    """Work on items that do not depend on each other.

    For other processes the job, its items and its results are pickled; what can't be, such as a client of a
    database, is opened in `opened`.
    """

    def opened(self) -> AbstractAsyncContextManager[Work[ItemT_contra, ResultT_co]]:
        """Open what the work needs, once for many items; yield the work on one item.

        Several items are worked on at once, on one event loop.
        """
        ...


class Executor(Protocol):
    """Runs a job."""

    async def run(
        self,
        job: Job[Item, Result],
        items: Iterator[Item],
        take: Callable[[Result], None],
        *,
        concurrency: int,
    ) -> None:
        """Work on all items, and call `take` here with each result, in the order in which they are ready.

        `concurrency` is how many items a process works on at once. The next item is taken from `items` when
        there is room for it, so that `items` may end early. The first error, of the work or of `take`, ends
        all work and is raised.
        """
        ...


class InProcess:
    """Runs a job on the caller's event loop."""

    async def run(
        self,
        job: Job[Item, Result],
        items: Iterator[Item],
        take: Callable[[Result], None],
        *,
        concurrency: int,
    ) -> None:
        """Work on all items; see `Executor.run`."""
        async with job.opened() as work:

            async def work_on_next() -> None:
                for item in items:
                    take(await work(item))

            await _run_workers(work_on_next, concurrency)


async def _run_workers(work: Callable[[], Coroutine[None, None, None]], workers: int) -> None:
    """Run `workers` copies of `work` at once; the first error ends the others and is raised alone."""
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
