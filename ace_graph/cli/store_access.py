"""The store as the commands use it: open it, load, commit one change, close it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from uuid import uuid4

from ace_graph.cli.environment import load_settings
from ace_graph.cli.options import Which
from ace_graph.errors import ChangeRefused, ConfigurationError
from ace_graph.memory.clock import utc_now
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.operations import Add, Delta, Operation
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import PendingStore, Store, keeps_pending
from ace_graph.memory.stores.change import commit_checked
from ace_graph.playbooks.content import Change
from ace_graph.playbooks.handle import PlaybookHandle, open_playbook
from ace_graph.stores import open_store

__all__ = [
    "AUTHOR",
    "by_command",
    "change",
    "commit",
    "commit_json",
    "commit_operation",
    "on_playbook",
    "on_store",
    "on_trajectories",
    "refused",
]

AUTHOR = "ace-graph"
T = TypeVar("T")


def on_store(url: str | None, job: Callable[[Store], Awaitable[T]]) -> T:
    """Run `job` with the store at `url`, or with that of the settings, and return its result."""
    settings = load_settings()

    async def run() -> T:
        async with open_store(url, settings=settings) as store:
            return await job(store)

    return asyncio.run(run())


def on_trajectories(url: str | None, job: Callable[[PendingStore], Awaitable[T]]) -> T:
    """Run `job` with the store. Raises ConfigurationError if it keeps no trajectories."""

    async def checked(store: Store) -> T:
        if not keeps_pending(store):
            raise ConfigurationError(f"the store {store.name} keeps no trajectories of its own")
        return await job(store)

    return on_store(url, checked)


def on_playbook(url: str | None, which: Which, job: Callable[[Store, PlaybookHandle], Awaitable[T]]) -> T:
    """Run `job` with the store and where in it a playbook is. Raises PlaybookNotFound."""

    async def run(store: Store) -> T:
        return await job(store, await open_playbook(store, which.name, which.learner))

    return on_store(url, run)


def change(url: str | None, which: Which, operation: Operation, reason: str) -> Commit:
    """Commit one operation onto the newest state of a playbook.

    Raises ChangeRefused when it can't be applied; then nothing is written, not even the access clock.
    """

    async def job(_: Store, target: PlaybookHandle) -> Commit:
        base = await target.load()
        if base.absent and not isinstance(operation, Add):
            raise ChangeRefused(f"nothing is stored for learner {which.learner}: check --learner")
        return await target.change(base, [operation], by_command(reason), refused)

    return on_playbook(url, which, job)


def by_command(reason: str) -> Change:
    """Return a change that a command makes, now."""
    return Change(author=AUTHOR, reason=reason, now=utc_now())


async def commit_operation(
    store: Store, learner: str, base: Snapshot, operation: Operation, reason: str
) -> Commit:
    """Commit one operation onto `base`. Raises ChangeRefused as `change` does."""
    return await commit_checked(store, learner, _delta([operation], reason), base, refused)


async def commit(
    store: Store, learner: str, base: Snapshot, operations: Sequence[Operation], reason: str
) -> Commit:
    """Commit `operations` as one delta of the command line's."""
    return await store.commit(learner, _delta(operations, reason), base)


def commit_json(done: Commit) -> dict[str, object]:
    """Return the version after a commit and what it changed, in ids."""
    return {"version": done.version.n, **done.report.model_dump(mode="json", exclude={"refs"})}


def _delta(operations: Sequence[Operation], reason: str) -> Delta:
    return Delta(
        op_id=f"cli-{uuid4().hex}",
        now=utc_now(),
        operations=tuple(operations),
        author=AUTHOR,
        reason=reason[:500],
    )


def refused(rejection: Rejection) -> ChangeRefused:
    """Return the error for an operation that can't be applied, with what to do."""
    if rejection.why.startswith("unknown trajectory"):
        return ChangeRefused(f"{rejection.why}: trajectory list shows the ids")
    hint = ": playbook show lists the ids" if rejection.why == "unknown id" else ""
    return ChangeRefused(f"{rejection.id}: {rejection.why}{hint}")
