"""The commit: planned on a snapshot, written where that is current, else tried again."""

from __future__ import annotations

import time
from collections.abc import Collection
from functools import partial

from ace_graph.base.errors import CommitContention
from ace_graph.memory.commit import Amend, Commit, PendingItem, begun_at, check_age, check_not_forgotten
from ace_graph.memory.rights import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.backend import Backend, Namespace, Rows
from ace_graph.memory.stores.catalogue import add_entry, check_right, put_grants, read_entry
from ace_graph.memory.stores.commit_queue import CommitRequest, SerializedPlan
from ace_graph.memory.stores.history import amend_turn, unknown_turns
from ace_graph.memory.stores.pending import complete_item, write_pending
from ace_graph.memory.stores.snapshot_and_log import StateHead
from ace_graph.memory.stores.states import load, lock_state, read_head, read_report, write

_ATTEMPTS = 5
"""How often a commit is tried; where the lock is the whole database's, only the last may plan under it."""


async def commit_once(
    backend: Backend, namespace: Namespace, start: Snapshot, request: CommitRequest, began: float
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
        if not (request.must_read or request.entry) and await backend.commit_at_once(
            namespace, request, planned
        ):
            return planned.plan.commit()
    for attempt in range(_ATTEMPTS):
        if not backend.locks_rows and (attempt or looks_up):
            found = await backend.run(namespace, partial(_read_start, request=request, known=start))
            if isinstance(found, Commit):
                return found
            start, unknown = found
            planned = await plan(unknown)
        plans = backend.locks_rows or attempt == _ATTEMPTS - 1
        written = partial(_write_commit, request=request, start=start, planned=planned, plans=plans)
        # Time counts from when it began, so that all commits queued for a locked file fail together.
        commit = await backend.run(namespace, written, writes=True, began=began)
        if commit is not None:
            return commit
    raise CommitContention("each attempt met another writer: make the same commit again")


async def _read_start(
    rows: Rows, request: CommitRequest, known: Snapshot
) -> Commit | tuple[Snapshot, frozenset[str]]:
    """Return the stored state and the trajectories that are not stored, to plan a commit from.

    The commit itself where it was made before. Raises LearnerForgotten, PlaybookNotFound, PlaybookForbidden.
    """
    async with rows.reading(request.learner):
        if request.asked is not None:
            await check_right(rows, request.asked, Right.WRITE)
        newest = (await load(rows, request.learner, known)).snapshot
        report = await read_report(rows, request.learner, request.delta.op_id)
        if report is not None:
            return Commit("repeated", newest.version, report, newest)
        check_not_forgotten(request.base.version, newest.version)
        return newest, await _unknown(rows, request, newest)


async def _write_commit(
    rows: Rows, request: CommitRequest, start: Snapshot, planned: SerializedPlan | None, *, plans: bool
) -> Commit | None:
    """Lock, compare, and write what was planned from `start`.

    Where that is not the stored state, or nothing was planned yet, it `plans` under the lock, or returns
    None; None, too, when another transaction began the learner while this waited. Raises LearnerForgotten,
    CommitTooOld, TrajectoryNotFound, PlaybookExists, PlaybookChanged, PlaybookNotFound, PlaybookForbidden,
    and what an Amend raises.
    """
    learner = request.learner
    if planned is not None and not rows.locks_rows:
        planned.prepare(await read_head(rows, learner))
    async with rows.writing():
        locked = await lock_state(rows, learner, request.delta.op_id, start)
        head = locked.head
        if request.asked is not None:
            await check_right(rows, request.asked, Right.WRITE)
        if locked.repeated is not None:
            now = locked.snapshot or (await load(rows, learner, start)).snapshot
            return Commit("repeated", now.version, locked.repeated, now)
        if planned is None or not _is_current(request.base, start, head):
            if not plans:
                return None
            check_not_forgotten(request.base.version, head.version)
            newest = locked.snapshot or (await load(rows, learner, start)).snapshot
            steps = SerializedPlan.making(request, newest, await _unknown(rows, request, newest))
            planned = await rows.carry_out(steps, learner)
        if isinstance(request.pending, PendingItem):
            await complete_item(rows, learner, request.pending)  # a stored item was never applied
        else:
            check_age(begun_at(request.delta, request.new_turn), head.keys_from)
        if isinstance(request.record, Amend):
            await amend_turn(rows, learner, request.record)
        if not await write(rows, learner, planned, locked):
            return None
        for work in (request.pending, planned.plan.scheduled):
            if not isinstance(work, PendingItem):
                await write_pending(rows, learner, work, request.delta.now, locked.seq + 1)
        if request.entry is not None:
            await add_entry(rows, request.entry)
            await put_grants(rows, request.grants)
    return planned.plan.commit()


async def _unknown(rows: Rows, request: CommitRequest, current: Snapshot) -> frozenset[str]:
    """Return the trajectories that the commit names and the learner, or the playbook's owner, has not."""
    named = request.references(current)
    if not named or rows.namespace == "learners":
        return await unknown_turns(rows, request.learner, named)
    entry = request.entry or await read_entry(rows, request.learner)
    return await unknown_turns(rows.of("learners"), (entry and entry.owner) or "", named)


def _is_current(base: Snapshot, start: Snapshot, head: StateHead) -> bool:
    """Whether a plan from `start` may be written onto `head`. Raises LearnerForgotten."""
    if base.absent and start.version.epoch != head.version.epoch:
        return False  # the learner that the queue knew was forgotten; this caller creates a new one
    check_not_forgotten(start.version, head.version)
    return head.is_of(start)
