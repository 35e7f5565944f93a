"""Work on many items, in this process or on the nodes of a Ray cluster (`--on ray[://HOST:PORT]`)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from functools import partial
from typing import TypeVar

from ace_graph.base.executors import Executor, open_executor
from ace_graph.base.settings import Settings
from ace_graph.cli.terminal import print_notice, progress_bar
from ace_graph.memory.stores.store import Store
from ace_graph.stores import open_store
from ace_graph.stores.copy_store import StoreJob

Item = TypeVar("Item")
Result = TypeVar("Result")
_LINES = 10
"""Told without a terminal."""


@contextmanager
def executor_for(on: str | None, store_url: str | None = None) -> Generator[Executor]:
    """Yield the executor, and print what a cluster consists of. Raises what `open_executor` raises.

    Until a cluster is left, what is printed goes to stderr: Ray itself prints which node has died, and stdout
    is for results.
    """
    output = nullcontext() if on is None else redirect_stdout(sys.stderr)
    with output, open_executor(on, store_url) as executor:
        if on is not None:
            print_notice(str(executor))
        yield executor


def run_pass(
    settings: Settings,
    listed: Callable[[Store], AsyncIterator[Item]],
    act: Callable[[Store, Item], Awaitable[Result]],
    *,
    on: str | None,
    what: str,
) -> Sequence[Result]:
    """Call `act` for every item that `listed` finds in the store; return the results in the items' order.

    Raises what `act` and `open_executor` raise; then a part may be done.
    """
    settings = settings.with_absolute_paths()  # processes may work in any folder

    async def all_items() -> list[Item]:
        async with open_store(settings=settings) as store:
            return [item async for item in listed(store)]

    with executor_for(on, settings.store_url) as executor:
        items = asyncio.run(all_items())
        found: dict[int, Result] = {}
        with progress_bar(lines=_LINES if len(items) >= _LINES else 0) as bar:

            def take(result: tuple[int, Result]) -> None:
                found[result[0]] = result[1]
                bar(what, len(found), len(items))

            job = StoreJob(settings, partial(_numbered, act))
            asyncio.run(executor.run(job, iter(enumerate(items)), take, concurrency=1))
    return [found[number] for number in range(len(items))]


async def _numbered(
    act: Callable[[Store, Item], Awaitable[Result]], store: Store, item: tuple[int, Item]
) -> tuple[int, Result]:
    number, given = item
    return number, await act(store, given)
