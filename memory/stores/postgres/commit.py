"""What the PostgreSQL store does in one transaction of several statements: commit, forget, export."""

from __future__ import annotations

from ace_graph.errors import CommitContention
from ace_graph.memory.commit import Commit, begun_at, check_age, check_expected, check_not_forgotten
from ace_graph.memory.pending import Amend, PendingItem
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport, PlaybookExport, SharingExport
from ace_graph.memory.stores.base_and_tail import StateHead
from ace_graph.memory.stores.commit_queue import CommitRequest
from ace_graph.memory.stores.postgres.catalogue import (
    add_entry,
    check_right,
    list_entries,
    owned_ids,
    read_entry,
)
from ace_graph.memory.stores.postgres.connection import Link, PostgresConnection
from ace_graph.memory.stores.postgres.history import read_history, read_report, read_turns, unknown_turns
from ace_graph.memory.stores.postgres.pending import amend_turn, complete_item, read_items, write_pending
from ace_graph.memory.stores.postgres.sharing import (
    add_grants,
    delete_sharing,
    forget_member,
    read_sharing,
)
from ace_graph.memory.stores.postgres.state import Locked, lock, read_head, read_snapshot
from ace_graph.memory.stores.postgres.tables import Tables
from ace_graph.memory.stores.postgres.writing import delete_rows, write, write_at_once
from ace_graph.memory.stores.serialized_plan import SerializedPlan

__all__ = ["commit_once", "delete_all", "read_export"]

_ATTEMPTS = 5


async def commit_once(
    connection: PostgresConnection,
    link: Link,
    request: CommitRequest,
    start: Snapshot,
    planned: SerializedPlan | None,
) -> Commit:
    """Commit what was planned before the lock is taken, from `start`, the newest in the queue.

    A delta that names older trajectories, or is for somebody else's playbook, is planned under the lock,
    where trajectories and rights are looked up. Safe to repeat. Raises LearnerForgotten, CommitTooOld,
    CommitContention, TrajectoryNotFound, PlaybookExists, PlaybookChanged, PlaybookNotFound,
    PlaybookForbidden, what an Amend raises, and the driver's errors.
    """
    if planned is not None and await _written_at_once(connection, link, request, planned):
        return planned.plan.commit()
    for _ in range(_ATTEMPTS):
        async with connection.writing(link) as tables:
            done = await _commit_locked(tables, request, start, planned)
        if done is not None:
            return done
    raise CommitContention("each attempt met another writer: make the same commit again")


async def _written_at_once(
    connection: PostgresConnection, link: Link, request: CommitRequest, planned: SerializedPlan
) -> bool:
    """Whether the plan is written, in one statement; where it can't be, the lock is needed."""
    if request.must_read or request.entry is not None:
        return False
    works = (request.pending, planned.plan.scheduled)
    async with connection.statement(link) as tables:
        return await write_at_once(
            tables, request.learner, planned, works, begun_at(request.delta, request.new_turn)
        )


async def _commit_locked(
    tables: Tables, request: CommitRequest, start: Snapshot, planned: SerializedPlan | None
) -> Commit | None:
    """Lock, compare, write. None when another transaction began the learner while this waited."""
    learner, delta = request.learner, request.delta
    locked = await lock(tables, learner)
    head = locked.head
    if request.asked is not None:
        await check_right(tables, request.asked, Right.WRITE)
    if head.version.epoch is not None:
        report = await read_report(tables, learner, delta.op_id)
        if report is not None:
            now = await read_snapshot(tables, learner, start)
            return Commit("repeated", now.version, report, now)
    if planned is None or not _is_current(request.base, start, head):
        check_not_forgotten(request.base.version, head.version)
        newest = await read_snapshot(tables, learner, start)
        planned = await SerializedPlan.of(request, newest, await _unknown(tables, request, newest))
    if isinstance(request.pending, PendingItem):
        await complete_item(tables, learner, request.pending)  # a stored item was never applied
    else:
        check_age(begun_at(delta, request.new_turn), head.keys_from)
    if isinstance(request.record, Amend):
        await amend_turn(tables, learner, request.record)
    if not await write(tables, learner, planned, locked):
        return None
    await _write_beside(tables, request, planned, locked)
    return planned.plan.commit()


async def _write_beside(
    tables: Tables, request: CommitRequest, planned: SerializedPlan, locked: Locked
) -> None:
    """Write the pending work, and the entry of a new playbook."""
    for work in (request.pending, planned.plan.scheduled):
        if not isinstance(work, PendingItem):
            await write_pending(tables, request.learner, work, request.delta.now, locked.seq + 1)
    if request.entry is not None:
        await add_entry(tables, request.entry)
        if request.grants:
            await add_grants(tables, request.grants)


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


async def delete_all(tables: Tables, key: str, expected_etag: str | None = None) -> bool:
    """Delete what is stored under the key; the caller holds its lock.

    With a learner go the playbooks that the learner owns, the grants to the learner and the memberships in
    teams, with a playbook its entry in the catalogue and the grants on it. Raises PlaybookChanged for another
    etag than the expected one.
    """
    if expected_etag is not None and (held := (await read_head(tables, key)).version).epoch is not None:
        check_expected(expected_etag, held)
    named, found = tables.of("playbooks"), False
    ids = await owned_ids(tables, key)
    for playbook_id in ids:
        if tables.namespace == "learners":
            await lock(named, playbook_id)
        await delete_sharing(tables, playbook_id)
        found = await delete_rows(named, playbook_id) or found
    await tables.run("DELETE FROM ace_named_catalogue WHERE playbook_id = ANY(%s)", (list(ids),))
    found = await delete_rows(tables, key) or found
    if tables.namespace == "learners":
        found = await forget_member(tables, key) or found
    return found


async def read_export(tables: Tables, key: str) -> LearnerExport:
    """Return everything stored under the key; run it in one read transaction."""
    named, is_learner = tables.of("playbooks"), tables.namespace == "learners"
    owned = await list_entries(tables, key, None, "") if is_learner else ()
    return LearnerExport(
        key,
        await read_snapshot(tables, key, None),
        await read_history(tables, key, everything=True),
        await read_turns(tables, key, None),
        await read_items(tables, key, None, None),
        tuple([PlaybookExport(entry, await read_export(named, entry.playbook_id)) for entry in owned]),
        await read_sharing(tables, key) if is_learner else SharingExport(),
    )
