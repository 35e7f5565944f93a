"""Reads everything that a store keeps, and names what is damaged.

    found = await check_all(store)        # only reads; found.problems is empty where all can be read

Every learner's memory and every named playbook is read whole: the content and each version that is kept of
it, the history, the turns, the work that waits. What can't be read is named, and the next one is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, runtime_checkable

from ace_graph.base.errors import AceError, CorruptPayload, NewerFormat
from ace_graph.memory.serialization import load_effect, load_record, load_report
from ace_graph.memory.stores.base import LearnerSummary, pages
from ace_graph.memory.stores.snapshot_and_log import StoredBase, load_base
from ace_graph.memory.stores.store import PlaybookStore, Store
from ace_graph.memory.stores.whole import WholeMemory
from ace_graph.stores.copy_store import CopyProblem, CopyProgress, Key, ignore, members_of, store_of

_DAMAGED = (CorruptPayload, NewerFormat, ValueError, TypeError)
"""ValueError and TypeError come from a column, such as a date, that holds something else."""


@dataclass(frozen=True)
class CheckResult:
    """What was read, and what could not be. `turns`, `deltas` and `pending` are of what could."""

    learners: int = 0
    playbooks: int = 0
    turns: int = 0
    deltas: int = 0
    pending: int = 0
    problems: tuple[CopyProblem, ...] = ()

    def with_counts_of(self, memory: WholeMemory) -> CheckResult:
        """Return the result with what a memory holds."""
        return replace(
            self,
            turns=self.turns + len(memory.turns),
            deltas=self.deltas + len(memory.deltas),
            pending=self.pending + len(memory.pending),
        )


@runtime_checkable
class _ChecksItself(Protocol):
    async def integrity(self) -> tuple[str, ...]: ...


async def check_all(store: Store, on_step: Callable[[CopyProgress], None] = ignore) -> CheckResult:
    """Read everything in a store. Raises what the store raises where it can't be read at all."""
    problems = [CopyProblem(Key("store", store.name), why) for why in await _integrity(store)]
    learners = await _listed(problems, "learners", _ids(store))
    playbooks = await _listed(problems, "playbooks", _ids(store.playbooks))
    for team in await _listed(problems, "teams", pages(store.teams, str)):
        await _listed(problems, f"members of team {team}", members_of(store, team))
    keys = [*(Key("learner", name) for name in learners), *(Key("playbook", name) for name in playbooks)]
    result = CheckResult(len(learners), len(playbooks))
    for done, key in enumerate(keys, 1):
        try:
            memory = await store_of(store, key).whole(key.name)
        except _DAMAGED as error:
            problems.append(CopyProblem(key, _sentence(error)))
            memory = None
        if memory is not None:  # else it was forgotten since it was listed
            problems += (CopyProblem(key, why) for why in await asyncio.to_thread(_damage, memory))
            if key.kind == "playbook" and memory.entry is None:
                problems.append(CopyProblem(key, "is in no catalogue: nobody can find it by a name"))
            result = result.with_counts_of(memory)
        on_step(CopyProgress("read", done, len(keys)))
    return replace(result, problems=tuple(problems))


async def _integrity(store: Store) -> tuple[str, ...]:
    if not isinstance(store, _ChecksItself):
        return ()
    try:
        return await store.integrity()
    except _DAMAGED as error:
        return (_sentence(error),)


async def _ids(store: Store | PlaybookStore) -> AsyncIterator[str]:
    """Yield the keys; one that can't be listed takes those before it from nobody."""

    async def listed(limit: int, after: str) -> Sequence[LearnerSummary]:
        try:
            return await store.learners(limit, after)
        except _DAMAGED:
            return await store.learners(1, after)

    async for summary in pages(listed, lambda last: last.learner_id):
        yield summary.learner_id


async def _listed(problems: list[CopyProblem], what: str, items: AsyncIterator[str]) -> list[str]:
    """Return a list as far as it can be read."""
    found = list[str]()
    try:
        async for item in items:
            found.append(item)
    except _DAMAGED as error:
        after = f" after {found[-1]}" if found else ""
        problems.append(
            CopyProblem(Key("list", f"of {what}"), f"can't be read on{after}: {_sentence(error)}")
        )
    return found


def _damage(memory: WholeMemory) -> list[str]:
    """Say what of a memory can't be read: each part once, with the version or the turn."""
    parts: list[tuple[str, Callable[[], object]]] = [("the present content", memory.snapshot)]
    parts += [(f"the content of version {base.n}", partial(_read_base, base)) for base in memory.bases]
    for delta in memory.deltas:
        parts.append((f"the report of version {delta.n}", partial(load_report, delta.report_json)))
        if delta.effect_json is not None:
            parts.append((f"the change to version {delta.n}", partial(load_effect, delta.effect_json)))
    for turn in memory.turns:
        parts.append((f"the record of turn {turn.op_id}", partial(load_record, turn.record_json)))
        parts.append((f"the report of turn {turn.op_id}", partial(load_report, turn.report_json)))
    return [f"{name}: {why}" for name, read in parts if (why := _why_unreadable(read)) is not None]


def _read_base(base: StoredBase) -> None:
    load_base(base.checked().text)


def _why_unreadable(read: Callable[[], object]) -> str | None:
    try:
        read()
    except _DAMAGED as error:
        return _sentence(error)
    return None


def _sentence(error: Exception) -> str:
    """Say what is wrong; what a column held instead may be a learner's text, so it is not repeated."""
    return str(error) if isinstance(error, AceError) else "what is stored has another form"
