"""The commit of the SQL stores: planned on a snapshot, written where that is current, else tried again."""

from __future__ import annotations

import time
from collections.abc import Collection
from functools import partial

from ace_graph.base.errors import CommitContention
from ace_graph.memory.commit import (
    Amend,
    Commit,
    PendingItem,
    begun_at,
    check_age,
    check_not_forgotten,
)
from ace_graph.memory.rights import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.commit_queue import CommitRequest, SerializedPlan
from ace_graph.memory.stores.snapshot_and_log import StateHead
from ace_graph.memory.stores.sql.catalogue import (
    add_entry,
    add_grants,
    check_right,
    read_entry,
)
from ace_graph.memory.stores.sql.database import Database, Namespace, Tables
from ace_graph.memory.stores.sql.history import (
    amend_turn,
    read_report,
    unknown_turns,
)
from ace_graph.memory.stores.sql.pending import complete_item, write_pending
from ace_graph.memory.stores.sql.state import (
    lock,
    read_head,
    read_snapshot,
    write,
)

_ATTEMPTS = 5
"""How often a commit is tried; where the lock is the whole database's, only the last may plan under it."""


async def commit_once(
    database: Database, namespace: Namespace, start: Snapshot, request: CommitRequest, began: float
) -> Commit:
    """Plan a commit before the lock is taken, from the newest snapshot that is known here, and write it.

    Where another process was faster, or something stored must be looked up first, it is planned again:
    under the lock of the learner's row, or, where a lock is the whole database's, away from it. Raises
    CommitContention where each attempt met another writer.
    """
    looks_up = request.looks_up(start)
    planned = None

    async def plan(unknown: Collection[str] = ()) -> SerializedPlan:
        nonlocal began
        planning = time.monotonic()
        made = await SerializedPlan.of(request, start, unknown)
        began += time.monotonic() - planning
        return made

    if not looks_up:
        planned = await plan()
        if await database.written_at_once(namespace, request, planned):
            return planned.plan.commit()
    for attempt in range(_ATTEMPTS):
        if not database.locks_rows and (attempt or looks_up):
            found = await database.run(namespace, partial(read_start, request=request, known=start))
            if isinstance(found, Commit):
                return found
            start, unknown = found
            planned = await plan(unknown)
        plans = database.locks_rows or attempt == _ATTEMPTS - 1
        write = partial(write_commit, request=request, start=start, planned=planned, plans=plans)
        # Time counts from when it began, so that all commits queued for a locked file fail together.
        commit = await database.run(namespace, write, writes=True, began=began)
        if commit is not None:
            return commit
    raise CommitContention("each attempt met another writer: make the same commit again")


async def read_start(
    tables: Tables, request: CommitRequest, known: Snapshot
) -> Commit | tuple[Snapshot, frozenset[str]]:
    """Return the stored state and the trajectories that are not stored, to plan a commit from.

    The commit itself where it was made before. Raises LearnerForgotten, PlaybookNotFound, PlaybookForbidden.
    """
    async with tables.reading():
        if request.asked is not None:
            await check_right(tables, request.asked, Right.WRITE)
        newest = await read_snapshot(tables, request.learner, known)
        report = await read_report(tables, request.learner, request.delta.op_id)
        if report is not None:
            return Commit("repeated", newest.version, report, newest)
        check_not_forgotten(request.base.version, newest.version)
        return newest, await _unknown(tables, request, newest)


async def write_commit(
    tables: Tables, request: CommitRequest, start: Snapshot, planned: SerializedPlan | None, *, plans: bool
) -> Commit | None:
    """Lock, compare, and write what was planned from `start`.

    Where that is not the stored state, or nothing was planned yet, it `plans` under the lock, or returns
    None; None, too, when another transaction began the learner while this waited. Raises LearnerForgotten,
    CommitTooOld, TrajectoryNotFound, PlaybookExists, PlaybookChanged, PlaybookNotFound, PlaybookForbidden,
    and what an Amend raises.
    """
    learner = request.learner
    if planned is not None and not tables.locks_rows:
        planned.prepare(await read_head(tables, learner))
    async with tables.writing():
        locked = await lock(tables, learner)
        head = locked.head
        if request.asked is not None:
            await check_right(tables, request.asked, Right.WRITE)
        if head.version.epoch is not None:
            report = await read_report(tables, learner, request.delta.op_id)
            if report is not None:
                now = await read_snapshot(tables, learner, start)
                return Commit("repeated", now.version, report, now)
        if planned is None or not _is_current(request.base, start, head):
            if not plans:
                return None
            check_not_forgotten(request.base.version, head.version)
            newest = await read_snapshot(tables, learner, start)
            steps = SerializedPlan.making(request, newest, await _unknown(tables, request, newest))
            planned = await tables.carry_out(steps, learner)
        if isinstance(request.pending, PendingItem):
            await complete_item(tables, learner, request.pending)  # a stored item was never applied
        else:
            check_age(begun_at(request.delta, request.new_turn), head.keys_from)
        if isinstance(request.record, Amend):
            await amend_turn(tables, learner, request.record)
        if not await write(tables, learner, planned, locked):
            return None
        for work in (request.pending, planned.plan.scheduled):
            if not isinstance(work, PendingItem):
                await write_pending(tables, learner, work, request.delta.now, locked.seq + 1)
        if request.entry is not None:
            await add_entry(tables, request.entry)
            await add_grants(tables, request.grants)
    return planned.plan.commit()


async def _unknown(tables: Tables, request: CommitRequest, current: Snapshot) -> frozenset[str]:
    """Return the trajectories that the commit names and the learner, or the playbook's owner, has not."""
    named = request.references(current)
    if not named or tables.namespace == "learners":
        return await unknown_turns(tables, request.learner, named)
    entry = request.entry or await read_entry(tables, request.learner)
    return await unknown_turns(tables.of("learners"), (entry and entry.owner) or "", named)


def _is_current(base: Snapshot, start: Snapshot, head: StateHead) -> bool:
    """Whether a plan from `start` may be written onto `head`. Raises LearnerForgotten."""
    if base.absent and start.version.epoch != head.version.epoch:
        return False  # the learner that the queue knew was forgotten; this caller creates a new one
    check_not_forgotten(start.version, head.version)
    return head.is_of(start)
