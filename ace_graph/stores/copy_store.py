"""Copies all learners of a store, or one, into another store of any kind, and compares what is there.

    result = await copy_store(source, target)        # safe to repeat: it goes on where it was interrupted

First everything in the target is compared with the source; where the target has another memory under a key,
nothing is written. Then each memory and each named playbook is written in one transaction and read back. So
an interrupted copy is a copy of some of them, and a later one writes those that are missing or have changed
in the source. The source is only read.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Generic, Literal, NamedTuple, TypeVar

from ace_graph.base.errors import (
    CommitContention,
    ConfigurationError,
    CorruptPayload,
    NewerFormat,
    PlaybookExists,
)
from ace_graph.base.executors import Work
from ace_graph.base.settings import Settings
from ace_graph.memory.stores.base import pages
from ace_graph.memory.stores.store import KeyedStore, Store
from ace_graph.memory.stores.whole import WholeMemory
from ace_graph.stores import open_store

Mode = Literal["copy", "dry run", "verify"]
_OF_ONE_KEY = (CorruptPayload, NewerFormat, CommitContention, PlaybookExists)
"""Errors of one memory; others are those of the store and end the copy."""


class Key(NamedTuple):
    """What is written in one transaction: a learner's memory, or a named playbook by its id.

    Where a store is checked, it is also a list of the store, or the store itself.
    """

    kind: Literal["learner", "playbook", "list", "store"]
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class CopyProblem(NamedTuple):
    """What was not copied, or is not the same, and why."""

    key: Key
    why: str


class CopyProgress(NamedTuple):
    """How far a phase of a copy or of a check is."""

    phase: Literal["compared", "copied", "read"]
    done: int
    of: int


@dataclass(frozen=True)
class CopyResult:
    """What was found and done. `learners` and `playbooks` count the source, `only_in_target` the rest there.

    Of the source's keys `same` were in the target already, `missing` not at all, `outdated` in an earlier
    state; `copied` of the latter two were written and read back. `turns`, `deltas` and `pending` count what
    the memories that were read hold. `changed`: commits in the source came in between.
    """

    learners: int = 0
    playbooks: int = 0
    same: int = 0
    missing: int = 0
    outdated: int = 0
    copied: int = 0
    memberships: int = 0
    turns: int = 0
    deltas: int = 0
    pending: int = 0
    only_in_target: int = 0
    changed: tuple[Key, ...] = ()
    problems: tuple[CopyProblem, ...] = ()


@dataclass
class _Work:
    """The keys that are to be written, each with what the target has, and what was counted.

    `refused`: the target has other memories, so nothing is written.
    """

    result: CopyResult = field(default_factory=CopyResult)
    held: dict[Key, WholeMemory | None] = field(default_factory=dict[Key, "WholeMemory | None"])
    refused: bool = False

    def add(self, **counts: int) -> None:
        """Count more."""
        total = {name: getattr(self.result, name) + more for name, more in counts.items()}
        self.result = replace(self.result, **total)

    def add_memory(self, memory: WholeMemory) -> None:
        """Count what a memory holds."""
        turns, deltas = len(memory.turns), len(memory.deltas)
        self.add(turns=turns, deltas=deltas, pending=len(memory.pending))

    def fail(self, key: Key, why: str) -> None:
        """Note a problem."""
        self.result = replace(self.result, problems=(*self.result.problems, CopyProblem(key, why)))


_Stamps = Mapping[Key, tuple[int, datetime]]
"""The version of each key, and when it was last written."""


def ignore(_step: CopyProgress) -> None:
    """Nothing to do after a step."""


async def copy_store(
    source: Store,
    target: Store,
    *,
    learner: str | None = None,
    mode: Mode = "copy",
    on_step: Callable[[CopyProgress], None] = ignore,
) -> CopyResult:
    """Copy all learners with their named playbooks and teams, or one, and compare each with the source.

    In the mode "dry run" nothing is written, in "verify" all that is not the same in the target is a problem.
    What can't be copied is among the problems, and the others are copied; where the target has another memory
    under a key, nothing is. With `learner`, grants and proposals on playbooks of others stay out. Raises
    ConfigurationError for a learner without anything, and what the stores raise for all learners.
    """
    before = await _stamps(source, learner)
    work = _Work()
    kinds = [key.kind for key in before]
    work.add(learners=kinds.count("learner"), playbooks=kinds.count("playbook"))
    for done, key in enumerate(before, 1):
        await _noted(work, key, _compare(source, target, key, work, mode))
        on_step(CopyProgress("compared", done, len(before)))
    if mode == "copy" and not work.refused:
        for done, key in enumerate(list(work.held), 1):
            await _noted(work, key, _copy(source, target, key, work))
            on_step(CopyProgress("copied", done, len(work.held)))
    if mode != "copy" or not work.refused:
        await _copy_teams(source, target, learner, work, mode)
    after = await _stamps(source, learner) if mode == "copy" else before
    changed = tuple(sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key)))
    if learner is None:
        there = await _stamps(target, None)
        work.add(only_in_target=len(there.keys() - before.keys()))
    return replace(work.result, changed=changed)


async def _noted(work: _Work, key: Key, job: Awaitable[None]) -> None:
    """Run a job on one key; note its error as a problem."""
    try:
        await job
    except _OF_ONE_KEY as error:
        work.fail(key, str(error))


async def _compare(source: Store, target: Store, key: Key, work: _Work, mode: Mode) -> None:
    """Find out how a key stands in the target."""
    there = await store_of(target, key).whole(key.name)
    if there is None and mode == "copy":
        work.held[key] = None
        work.add(missing=1)
        return
    here = await store_of(source, key).whole(key.name)
    if here is None:
        return  # forgotten since it was listed
    here.snapshot()
    work.add_memory(here)
    if here == there:
        work.add(same=1)
        return
    if there is None:
        work.add(missing=1)
    elif there.precedes(here):
        work.add(outdated=1)
    else:
        work.refused = True
        work.fail(key, _why_different(here, there))
        return
    work.held[key] = there
    if mode == "verify":
        work.fail(key, "is not there" if there is None else _why_different(here, there))


def _why_different(here: WholeMemory, there: WholeMemory) -> str:
    """Say in what the state in the target differs."""
    old, new = there.head.version, here.head.version
    if old.epoch != new.epoch:
        return f"is another memory there, at version {old.n}: forget it there, or choose another target"
    if not there.precedes(here):
        return (
            f"was written to there, and has version {old.n} and {len(there.turns)} turns; in the source "
            f"version {new.n} and {len(here.turns)} turns: keep it, or forget it there and copy again"
        )
    if old.etag != new.etag:
        return f"is older there, version {old.n}, than in the source, version {new.n}: copy again"
    return f"has the same version {new.n} there, and other turns, pending work or grants: copy again"


async def _copy(source: Store, target: Store, key: Key, work: _Work) -> None:
    """Write a key's memory in place of what was compared, and read it back."""
    here = await store_of(source, key).whole(key.name)
    if here is None:
        return  # forgotten since it was compared
    here.snapshot()
    if work.held[key] is None:
        work.add_memory(here)
    if not await store_of(target, key).put_whole(key.name, here, work.held[key]):
        work.fail(key, "was written to in the target meanwhile: stop what writes there, and copy again")
    elif await store_of(target, key).whole(key.name) != here:
        work.fail(key, "reads back from the target as something else: copy again, or report it as an error")
    else:
        work.add(copied=1)


def store_of(store: Store, key: Key) -> KeyedStore:
    return store if key.kind == "learner" else store.playbooks


async def _stamps(store: Store, learner: str | None) -> _Stamps:
    """Return the version of each key of a store, or of one learner and the learner's playbooks.

    Raises ConfigurationError for a learner without anything.
    """
    if learner is not None:
        return await _stamps_of(store, learner)
    found = dict[Key, tuple[int, datetime]]()
    async for summary in pages(store.learners, lambda last: last.learner_id):
        found[Key("learner", summary.learner_id)] = (summary.version, summary.changed_at)
    async for summary in pages(store.playbooks.learners, lambda last: last.learner_id):
        found[Key("playbook", summary.learner_id)] = (summary.version, summary.changed_at)
    return found


async def _stamps_of(store: Store, learner: str) -> _Stamps:
    found = dict[Key, tuple[int, datetime]]()
    memory = await store.whole(learner)
    if memory is not None:
        found[Key("learner", learner)] = (memory.head.version.n, memory.updated_at)
    async for entry in pages(partial(store.playbooks.entries, learner), lambda last: last.name_key):
        found[Key("playbook", entry.playbook_id)] = (entry.version.n, entry.updated_at)
    if not found and not await store.teams_of(learner):
        raise ConfigurationError(f"nothing is stored about learner {learner} there: check --learner")
    return found


async def _copy_teams(source: Store, target: Store, learner: str | None, work: _Work, mode: Mode) -> None:
    """Add the members of the source's teams, or one learner to the learner's teams; or compare them."""
    names = [team async for team in pages(source.teams, str)]
    if learner is not None:
        names = list(await source.teams_of(learner))
    for team in names:
        members = {learner} if learner is not None else {member async for member in members_of(source, team)}
        work.add(memberships=len(members))
        if mode == "copy":
            await target.add_members(team, members)
        if mode == "dry run":
            continue
        there = {member async for member in members_of(target, team)}
        for member in sorted(members - there):
            work.fail(Key("learner", member), f"is not in team {team} there: copy again")


def members_of(store: Store, team: str) -> AsyncIterator[str]:
    """Yield the members of a team, page by page."""
    return pages(partial(store.members, team), str)


# The job of doing the same to many items of one store, each by itself: learners, playbooks.


Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class StoreJob(Generic[Item, Result]):
    """Calls `act` with the store that `settings` name and an item. For Ray, `act` is pickled."""

    settings: Settings
    act: Callable[[Store, Item], Awaitable[Result]]

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Work[Item, Result]]:
        """Open the store; see `Job.opened`."""
        async with open_store(settings=self.settings) as store:
            yield partial(self.act, store)
