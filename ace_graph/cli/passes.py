"""A pass: the same work on many items of a store, in this process or on Ray, with a progress bar."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ace_graph.cleaning.clean_memory import learner_ids
from ace_graph.cli.app import print_notice
from ace_graph.cli.cluster import executor_for
from ace_graph.cli.environment import load_settings
from ace_graph.cli.terminal import console
from ace_graph.errors import UsageError
from ace_graph.executors.store_job import StoreJob
from ace_graph.memory.stores.base import CleanableStore, PendingStore, can_clean
from ace_graph.settings import Settings
from ace_graph.stores import open_store

__all__ = ["all_learners", "run_pass", "settings_with"]

Item = TypeVar("Item")
Result = TypeVar("Result")
_LINES = 10
"""Told without a terminal."""


def settings_with(url: str | None) -> Settings:
    """Return the settings, with the store at `url` where there is one, for processes in any folder."""
    settings = load_settings()
    if url is not None:
        settings = settings.model_copy(update={"store": url})
    return settings.with_absolute_paths()


async def all_learners(store: PendingStore) -> AsyncIterator[str]:
    """Yield the ids of all learners. Raises UsageError where the store can't list them."""
    if not can_clean(store):
        raise UsageError(f"{store.name} can't list its learners: name one with --learner")
    listed: CleanableStore = store
    async for learner in learner_ids(listed):
        yield learner


def run_pass(
    settings: Settings,
    listed: Callable[[PendingStore], AsyncIterator[Item]],
    act: Callable[[PendingStore, Item], Awaitable[Result]],
    *,
    on: str | None,
    what: str,
    concurrency: int = 1,
) -> Sequence[Result]:
    """Call `act` for every item that `listed` finds in the store; return the results in the items' order.

    Raises what `act` and `open_executor` raise; then a part may be done.
    """
    with executor_for(on, settings.store_url) as executor:
        items = asyncio.run(_all(settings, listed))
        found: dict[int, Result] = {}
        with _Bar(what, len(items)) as bar:

            def take(result: tuple[int, Result]) -> None:
                found[result[0]] = result[1]
                bar.show(len(found))

            job = StoreJob(settings, partial(_numbered, act))
            asyncio.run(executor.run(job, iter(enumerate(items)), take, concurrency=concurrency))
    return [found[number] for number in range(len(items))]


async def _all(settings: Settings, listed: Callable[[PendingStore], AsyncIterator[Item]]) -> list[Item]:
    async with open_store(settings=settings) as store:
        return [item async for item in listed(store)]


async def _numbered(
    act: Callable[[PendingStore, Item], Awaitable[Result]], store: PendingStore, item: tuple[int, Item]
) -> tuple[int, Result]:
    number, given = item
    return number, await act(store, given)


class _Bar:
    """A bar on a terminal; elsewhere ten lines on stderr, if it is told to."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._told = what, total, 0
        self._terminal = sys.stderr.isatty()
        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console(error=True), disable=not self._terminal)
        self._task = self._bar.add_task(what, total=total)

    def show(self, done: int) -> None:
        self._bar.update(self._task, completed=done)
        tenth = done * _LINES // self._total
        if not self._terminal and self._total >= _LINES and tenth > self._told:
            self._told = tenth
            print_notice(f"{self._what}: {done} of {self._total}")

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._bar.stop()
