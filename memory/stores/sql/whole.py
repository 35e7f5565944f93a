"""Reading and writing everything under a key; see `stores.whole`.

Reading needs one transaction that reads the same state; the writer has locked the key's row, where there is
one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from ace_graph.memory.commit import PendingItem
from ace_graph.memory.serialization import load_record
from ace_graph.memory.snapshot import Label
from ace_graph.memory.stores.records import ITEM_COLUMNS, item_of, record_columns, turn_columns
from ace_graph.memory.stores.snapshot_and_log import StoredBase, StoredStamps, StoredTouches
from ace_graph.memory.stores.sql.catalogue import add_entry, read_entry
from ace_graph.memory.stores.sql.columns import BASE_COLUMNS, HEAD_COLUMNS, STAMPS_COLUMNS, head_of, head_row
from ace_graph.memory.stores.sql.database import ALL, Row, Tables
from ace_graph.memory.stores.sql.sharing import (
    add_grants,
    add_proposal,
    delete_sharing,
    list_grants,
    list_proposals,
)
from ace_graph.memory.stores.sql.state import delete_rows
from ace_graph.memory.stores.whole import WholeDelta, WholeMemory, WholeTouches, WholeTurn

_STATE = f"access_json, created_at, updated_at, {HEAD_COLUMNS}"
_TOUCHES = "clock, parent, mark, touches_json"
_DELTAS = (
    "op_id, version, content_changed, at, author, reason, source, report_json, effect_json, effect_bytes, "
    "parent, etag, major, minor"
)


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
            for clock, *touches in await rows(_TOUCHES, "ace_touches", "clock")
        ),
        tuple(map(_delta_of, await rows(_DELTAS, "ace_deltas", "seq"))),
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


def _delta_of(row: Row) -> WholeDelta:
    op_id, n, changed, at, *rest, major, minor = row
    when = datetime.fromisoformat(at)
    return WholeDelta._make((op_id, n, bool(changed), when, *rest, Label(major, minor)))


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
    state = _columns(f"{_STATE}, seq", (memory.access_json, *times, *head_row(memory.head), seq))
    if not await tables.insert("ace_learners", {"user_id": key, **state}, "ON CONFLICT DO NOTHING"):
        return False  # another process began it meanwhile

    async def put(table: str, rows: Iterable[dict[str, object]]) -> None:
        await tables.insert_all(table, [{"user_id": key, **row} for row in rows])

    await put("ace_bases", (_columns(BASE_COLUMNS, base) for base in memory.bases))
    if memory.stamps is not None:
        await put("ace_stamps", (_columns(STAMPS_COLUMNS, memory.stamps),))
    await put("ace_touches", (_columns(_TOUCHES, (each.clock, *each.touches)) for each in memory.touches))
    await put("ace_deltas", ({"seq": n, **_delta(delta)} for n, delta in enumerate(memory.deltas, 1)))
    await put("ace_turns", ({"seq": n, **turn_row(turn)} for n, turn in enumerate(memory.turns, 1)))
    await put("ace_pending", ({"seq": n, **_item(item)} for n, item in enumerate(memory.pending, 1)))
    if memory.entry is not None:
        await add_entry(tables, memory.entry)
        await add_grants(tables, memory.grants)
        for proposal in memory.proposals:
            await add_proposal(tables, proposal)
    return True


def _columns(names: str, values: Row) -> dict[str, object]:
    return dict(zip(names.split(", "), values, strict=True))


def _delta(delta: WholeDelta) -> dict[str, object]:
    return _columns(_DELTAS, (*delta[:3], delta.at.isoformat(), *delta[4:-1], *delta.label))


def turn_row(turn: WholeTurn) -> dict[str, object]:
    """Return the columns of a turn, but for its key; the record's text stays as it was stored."""
    record = load_record(turn.record_json)
    return {**turn_columns(record), **record_columns(record), **turn._asdict()}


def _item(item: PendingItem) -> dict[str, object]:
    times = {"created_at": item.created_at.timestamp(), "free_at": item.free_at.timestamp()}
    return {**item.model_dump(exclude={"learner_id"}), **times}
