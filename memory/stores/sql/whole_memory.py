"""A whole memory in one transaction of the SQL stores: forget, export, copy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from ace_graph.memory.commit import (
    check_expected,
)
from ace_graph.memory.serialization import load_record
from ace_graph.memory.stores.base import LearnerExport, PlaybookExport, SharingExport
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
from ace_graph.memory.stores.snapshot_and_log import StoredBase, StoredStamps, StoredTouches
from ace_graph.memory.stores.sql.catalogue import (
    add_entry,
    add_grants,
    add_proposal,
    delete_sharing,
    forget_member,
    list_entries,
    list_grants,
    list_proposals,
    owned_ids,
    read_entry,
    read_sharing,
)
from ace_graph.memory.stores.sql.database import ALL, Row, Tables
from ace_graph.memory.stores.sql.history import (
    read_history,
    read_turns,
)
from ace_graph.memory.stores.sql.pending import read_items
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
)
from ace_graph.memory.stores.whole import WholeMemory, WholeTouches, WholeTurn


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
