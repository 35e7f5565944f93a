"""A consolidation that a worker runs: leave it as pending work, and ask what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import uuid4

from ace_graph.consolidation.report import MergedGroup
from ace_graph.errors import CorruptPayload
from ace_graph.memory.catalogue.name import DEFAULT, name_key
from ace_graph.memory.clock import utc_now
from ace_graph.memory.commit import HistoryEntry, operation_id
from ace_graph.memory.consolidation.schedule import RUN, ConsolidationWork, ended_run, read_consolidation
from ace_graph.memory.delta.effect import Put
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.pending import PendingItem
from ace_graph.memory.sharing.asked import not_found
from ace_graph.memory.stores.base import PendingStore
from ace_graph.playbooks.handle import PlaybookHandle, open_owned

__all__ = ["RunState", "enqueue", "run_state"]


@dataclass(frozen=True)
class RunState:
    """What became of a run that was left to a worker.

    pending  nobody works on it; `error` says why the last attempt failed, if there was one
    running  a worker has claimed it; `groups` are merged already
    failed   it failed too often, and waits for a person: `ace-graph reflect RUN` tries it again
    done     `groups` is all that it merged
    """

    run_id: str
    status: Literal["pending", "running", "failed", "done"]
    groups: tuple[MergedGroup, ...] = ()
    error: str | None = None


async def enqueue(
    store: PendingStore,
    owner: str,
    work: ConsolidationWork | None = None,
    *,
    run_id: str | None = None,
    now: datetime | None = None,
) -> str:
    """Leave a consolidation of one of the owner's playbooks to a worker, and return the id of the run.

    Raises PlaybookNotFound, and what the store raises.
    """
    work, run = work or ConsolidationWork(), run_id or uuid4().hex
    target = await open_owned(store, work.name, owner)
    if target.named is None and (await target.load()).absent:
        raise not_found(work.name)
    delta = Delta(
        op_id=operation_id("consolidation", owner, run, "asked"),
        now=now or utc_now(),
        operations=(),
        author="ace-graph consolidate",
        reason="a consolidation was asked for",
    )
    await store.commit(owner, delta, await store.load(owner), None, work.as_pending(run))
    return run


async def run_state(
    store: PendingStore, owner: str, run_id: str, name: str = DEFAULT, *, now: datetime | None = None
) -> RunState | None:
    """Return what became of a run on one of the owner's playbooks; None for one that is not known.

    A run that merged nothing is known until the next one ends; one that merged something as long as the
    history holds it. Raises PlaybookNotFound, and what the store raises.
    """
    target = await open_owned(store, name, owner)
    items = await store.list_pending(owner, limit=1_000_000)
    item = next((each for each in items if each.pending_id == run_id and _is_for(each, target)), None)
    history = await target.store.history(target.key)
    groups = _merged(entry for entry in history.entries if entry.source == f"{RUN}{run_id}")
    if item is None:
        ended = (await store.load(owner)).access.consolidation.ended
        known = groups or ended == ended_run(run_id, target.ref.name)
        return RunState(run_id, "done", groups) if known else None
    if item.state == "dead":
        return RunState(run_id, "failed", groups, item.error)
    running = item.leased(now or utc_now())
    return RunState(run_id, "running" if running else "pending", groups, item.error)


def _is_for(item: PendingItem, target: PlaybookHandle) -> bool:
    """Whether an item is a consolidation of the playbook at a target."""
    try:
        work = read_consolidation(item)
    except CorruptPayload:
        return target.ref.is_default  # a dead letter that nobody can read: its learner may still ask for it
    return work is not None and name_key(work.name) == target.ref.key


def _merged(entries: Iterable[HistoryEntry]) -> tuple[MergedGroup, ...]:
    groups: list[MergedGroup] = []
    for entry in entries:
        sources: dict[str, list[str]] = {}
        for pair in entry.report.merged:
            sources.setdefault(pair.kept, []).append(pair.gone)
        changes = () if entry.effect is None else entry.effect.changes
        texts = {each.bullet.id: each.bullet.content for each in changes if isinstance(each, Put)}
        groups += [MergedGroup(tuple(ids), texts.get(kept, ""), kept) for kept, ids in sources.items()]
    return tuple(groups)
