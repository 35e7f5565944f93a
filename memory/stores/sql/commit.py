"""What the SQL store does in one transaction of several statements: commit, forget, export, copy."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial

from ace_graph.base.errors import CommitContention
from ace_graph.memory.commit import (
    Amend,
    Commit,
    PendingItem,
    begun_at,
    check_age,
    check_expected,
    check_not_forgotten,
)
from ace_graph.memory.rights import Right
from ace_graph.memory.serialization import load_record
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport, PlaybookExport, SharingExport
from ace_graph.memory.stores.commit_queue import CommitRequest, SerializedPlan
from ace_graph.memory.stores.records import (
    DELTA_COLUMNS,
    ITEM_COLUMNS,
    columns,
    delta_columns,
    delta_of,
    item_columns,
    item_of,
    record_columns,
    turn_columns,
)
from ace_graph.memory.stores.snapshot_and_log import StateHead, StoredBase, StoredStamps, StoredTouches
from ace_graph.memory.stores.sql.catalogue import (
    add_entry,
    add_grants,
    add_proposal,
    check_right,
    delete_sharing,
    forget_member,
    list_entries,
    list_grants,
    list_proposals,
    owned_ids,
    read_entry,
    read_sharing,
)
from ace_graph.memory.stores.sql.database import ALL, Database, Namespace, Row, Tables
from ace_graph.memory.stores.sql.history import (
    amend_turn,
    read_history,
    read_report,
    read_turns,
    unknown_turns,
)
from ace_graph.memory.stores.sql.pending import complete_item, read_items, write_pending
from ace_graph.memory.stores.sql.state import (
    BASE_COLUMNS,
    HEAD_COLUMNS,
    STAMPS_COLUMNS,
    TOUCHES_COLUMNS,
    delete_rows,
    head_of,
    head_row,
    lock,
    read_head,
    read_snapshot,
    write,
)
from ace_graph.memory.stores.whole import WholeMemory, WholeTouches, WholeTurn

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
        await tables.change("DELETE FROM ace_named_catalogue WHERE playbook_id = ?", (playbook_id,))
    found = await delete_rows(tables, key) or found
    if tables.namespace == "learners":
        found = await forget_member(tables, key) or found
    return found


async def read_export(tables: Tables, key: str) -> LearnerExport:
    """Return everything stored under the key; run it in one read transaction."""
    named, is_learner = tables.of("playbooks"), tables.namespace == "learners"
    owned = await list_entries(tables, key, ALL, "") if is_learner else ()
    return LearnerExport(
        key,
        await read_snapshot(tables, key, None),
        await read_history(tables, key, everything=True),
        await read_turns(tables, key, ALL),
        await read_items(tables, key, None, ALL),
        tuple([PlaybookExport(entry, await read_export(named, entry.playbook_id)) for entry in owned]),
        await read_sharing(tables, key) if is_learner else SharingExport(),
    )


# Reading and writing everything under a key; see `stores.whole`.
#
# Reading needs one transaction that reads the same state; the writer has locked the key's row, where there is
# one.


_STATE = f"access_json, created_at, updated_at, {HEAD_COLUMNS}"


async def read_whole(tables: Tables, key: str) -> WholeMemory | None:
    """Return everything stored under the key."""

    async def rows(columns: str, table: str, order: str = "user_id") -> list[Row]:
        statement = f"SELECT {columns} FROM {table} WHERE user_id = ? ORDER BY {order}"  # noqa: S608  constants
        return await tables.rows(statement, (key,))

    states = await rows(_STATE, "ace_learners")
    if not states:
        return None
    ((access_json, created, updated, *head),) = states
    stamps = await rows(STAMPS_COLUMNS, "ace_stamps")
    memory = WholeMemory(
        head_of(tuple(head)),
        access_json,
        datetime.fromisoformat(created),
        datetime.fromisoformat(updated),
        tuple(StoredBase(*row) for row in await rows(BASE_COLUMNS, "ace_bases", "version")),
        StoredStamps(*stamps[0]) if stamps else None,
        tuple(
            WholeTouches(clock, StoredTouches(*touches))
            for clock, *touches in await rows(TOUCHES_COLUMNS, "ace_touches", "clock")
        ),
        tuple(map(delta_of, await rows(DELTA_COLUMNS, "ace_deltas", "seq"))),
        tuple(WholeTurn(*row) for row in await rows("op_id, report_json, record_json", "ace_turns", "seq")),
        tuple(map(item_of, await rows(ITEM_COLUMNS, "ace_pending", "seq, pending_id"))),
    )
    if tables.namespace != "playbooks":
        return memory
    return replace(
        memory,
        entry=await read_entry(tables, key),
        grants=await list_grants(tables, key, ALL, ""),
        proposals=await list_proposals(tables, key, None, ALL, ""),
    )


async def put_whole(tables: Tables, key: str, memory: WholeMemory, held: WholeMemory | None) -> bool:
    """Store everything under the key in place of `held`; False where something else is stored there."""
    found = await read_whole(tables, key)
    if found == memory:
        return True
    if found != held:
        return False
    if tables.namespace == "playbooks":
        await tables.change("DELETE FROM ace_named_catalogue WHERE playbook_id = ?", (key,))
        await delete_sharing(tables, key)
    await delete_rows(tables, key)
    seq = max(len(memory.deltas), len(memory.turns), len(memory.pending), 1)
    times = memory.created_at.isoformat(), memory.updated_at.isoformat()
    state = columns(f"{_STATE}, seq", (memory.access_json, *times, *head_row(memory.head), seq))
    if not await tables.insert("ace_learners", {"user_id": key, **state}, "ON CONFLICT DO NOTHING"):
        return False  # another process began it meanwhile

    async def put(table: str, rows: Iterable[dict[str, object]]) -> None:
        await tables.insert_all(table, [{"user_id": key, **row} for row in rows])

    await put("ace_bases", (columns(BASE_COLUMNS, base) for base in memory.bases))
    if memory.stamps is not None:
        await put("ace_stamps", (columns(STAMPS_COLUMNS, memory.stamps),))
    await put("ace_touches", (columns(TOUCHES_COLUMNS, (n, *touches)) for n, touches in memory.touches))
    await put("ace_deltas", ({"seq": n, **delta_columns(delta)} for n, delta in enumerate(memory.deltas, 1)))
    await put("ace_turns", ({"seq": n, **turn_row(turn)} for n, turn in enumerate(memory.turns, 1)))
    await put("ace_pending", ({"seq": n, **item_columns(item)} for n, item in enumerate(memory.pending, 1)))
    if memory.entry is not None:
        await add_entry(tables, memory.entry)
        await add_grants(tables, memory.grants)
        for proposal in memory.proposals:
            await add_proposal(tables, proposal)
    return True


def turn_row(turn: WholeTurn) -> dict[str, object]:
    """Return the columns of a turn, but for its key; the record's text stays as it was stored."""
    record = load_record(turn.record_json)
    return {**turn_columns(record), **record_columns(record), **turn._asdict()}
