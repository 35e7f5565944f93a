"""Reading and writing everything under a key; see `stores.whole`.

Reading needs one transaction that reads the same state; the writer has locked the key's row, where there is
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ace_graph.memory.stores.records import ITEM_COLUMNS
from ace_graph.memory.stores.sql.catalogue import add_entry, read_entry
from ace_graph.memory.stores.sql.columns import (
    BASE_COLUMNS,
    DELTA_COLUMNS,
    STAMPS_COLUMNS,
    STATE_COLUMNS,
    TOUCHES_COLUMNS,
    TURN_COLUMNS,
    WholeRows,
    delta_columns,
    item_columns,
    memory_of,
    state_columns,
    whole_turn_columns,
)
from ace_graph.memory.stores.sql.database import ALL, Row, Tables
from ace_graph.memory.stores.sql.sharing import (
    add_grants,
    add_proposal,
    delete_sharing,
    list_grants,
    list_proposals,
)
from ace_graph.memory.stores.sql.state import delete_rows
from ace_graph.memory.stores.whole import WholeMemory


async def read_whole(tables: Tables, key: str) -> WholeMemory | None:
    """Return everything stored under the key."""
    state = await _one(tables, f"{STATE_COLUMNS} FROM ace_learners", key)
    if state is None:
        return None
    memory = memory_of(
        WholeRows(
            state,
            await _all(tables, f"{BASE_COLUMNS} FROM ace_bases", key, "version"),
            await _one(tables, f"{STAMPS_COLUMNS} FROM ace_stamps", key),
            await _all(tables, f"{TOUCHES_COLUMNS} FROM ace_touches", key, "clock"),
            await _all(tables, f"{DELTA_COLUMNS} FROM ace_deltas", key, "seq"),
            await _all(tables, f"{TURN_COLUMNS} FROM ace_turns", key, "seq"),
            await _all(tables, f"{ITEM_COLUMNS} FROM ace_pending", key, "seq, pending_id"),
        )
    )
    if tables.namespace != "playbooks":
        return memory
    return replace(
        memory,
        entry=await read_entry(tables, key),
        grants=await list_grants(tables, key, ALL, ""),
        proposals=await list_proposals(tables, key, None, ALL, ""),
    )


async def _one(tables: Tables, columns: str, key: str) -> Row | None:
    return await tables.row(f"SELECT {columns} WHERE user_id = ?", (key,))


async def _all(tables: Tables, columns: str, key: str, order: str) -> list[Row]:
    return await tables.rows(f"SELECT {columns} WHERE user_id = ? ORDER BY {order}", (key,))


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
    state = {"user_id": key, "seq": seq, **state_columns(memory)}
    if not await tables.insert("ace_learners", state, "ON CONFLICT DO NOTHING"):
        return False  # another process began it meanwhile
    await _put_parts(tables, key, memory)
    await _put_rows(tables, key, memory)
    if memory.entry is not None:
        await add_entry(tables, memory.entry)
        await add_grants(tables, memory.grants)
        for proposal in memory.proposals:
            await add_proposal(tables, proposal)
    return True


async def _put_parts(tables: Tables, key: str, memory: WholeMemory) -> None:
    await tables.insert_all("ace_bases", [_columns(key, BASE_COLUMNS, base) for base in memory.bases])
    if memory.stamps is not None:
        await tables.insert("ace_stamps", _columns(key, STAMPS_COLUMNS, memory.stamps))
    touches = [_columns(key, TOUCHES_COLUMNS, (moved.clock, *moved.touches)) for moved in memory.touches]
    await tables.insert_all("ace_touches", touches)


def _columns(key: str, names: str, values: Sequence[object]) -> dict[str, object]:
    return {"user_id": key, **dict(zip(names.split(", "), values, strict=True))}


async def _put_rows(tables: Tables, key: str, memory: WholeMemory) -> None:
    """Insert deltas, turns and pending work, numbered in their order."""
    lists = (
        ("ace_deltas", map(delta_columns, memory.deltas)),
        ("ace_turns", map(whole_turn_columns, memory.turns)),
        ("ace_pending", map(item_columns, memory.pending)),
    )
    for table, rows in lists:
        await tables.insert_all(table, [{"user_id": key, "seq": n, **row} for n, row in enumerate(rows, 1)])
