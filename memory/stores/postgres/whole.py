"""Reading and writing everything under a key in PostgreSQL; see `stores.whole`.

Reading needs one transaction that reads the same state; the writer has locked the key's row, where there is
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ace_graph.memory.stores.base_and_tail import StoredBase, StoredStamps, StoredTouches
from ace_graph.memory.stores.postgres.catalogue import add_entry, read_entry
from ace_graph.memory.stores.postgres.sharing import (
    add_grants,
    add_proposal,
    delete_sharing,
    list_grants,
    list_proposals,
)
from ace_graph.memory.stores.postgres.tables import Row, Tables
from ace_graph.memory.stores.postgres.writing import delete_rows
from ace_graph.memory.stores.records import ITEM_COLUMNS, item_of
from ace_graph.memory.stores.state_columns import HEAD_COLUMNS, head_of
from ace_graph.memory.stores.whole import WholeMemory, WholeTouches, WholeTurn
from ace_graph.memory.stores.whole_columns import (
    DELTA_COLUMNS,
    delta_columns,
    delta_of,
    item_columns,
    moments_of,
    state_columns,
    whole_turn_columns,
)

__all__ = ["put_whole", "read_whole"]

_ALL = 2**31


async def read_whole(tables: Tables, key: str) -> WholeMemory | None:
    """Return everything stored under the key."""
    state = await tables.row(
        f"SELECT access_json, created_at, updated_at, {HEAD_COLUMNS} "  # noqa: S608  constants
        "FROM ace_learners WHERE user_id = %s",
        (key,),
    )
    if state is None:
        return None
    stamps = await tables.row("SELECT mark, checksum, stamps_json FROM ace_stamps WHERE user_id = %s", (key,))
    bases = await _all(tables, "version, etag, checksum, memory_json FROM ace_bases", key, "version")
    touches = await _all(tables, "clock, parent, mark, touches_json FROM ace_touches", key, "clock")
    turns = await _all(tables, "op_id, report_json, record_json FROM ace_turns", key, "seq")
    named = tables.namespace == "playbooks"
    return WholeMemory(
        head_of(state[3:]),
        state[0],
        *moments_of(state[1:3]),
        tuple(StoredBase(*row) for row in bases),
        None if stamps is None else StoredStamps(*stamps),
        tuple(WholeTouches(clock, StoredTouches(*rest)) for clock, *rest in touches),
        tuple(map(delta_of, await _all(tables, f"{DELTA_COLUMNS} FROM ace_deltas", key, "seq"))),
        tuple(WholeTurn(*row) for row in turns),
        tuple(map(item_of, await _all(tables, f"{ITEM_COLUMNS} FROM ace_pending", key, "seq, pending_id"))),
        await read_entry(tables, key) if named else None,
        await list_grants(tables, key, _ALL, "") if named else (),
        await list_proposals(tables, key, None, _ALL, "") if named else (),
    )


async def _all(tables: Tables, columns: str, key: str, order: str) -> list[Row]:
    return await tables.rows(f"SELECT {columns} WHERE user_id = %s ORDER BY {order}", (key,))


async def put_whole(tables: Tables, key: str, memory: WholeMemory, held: WholeMemory | None) -> bool:
    """Store everything under the key in place of `held`; False where something else is stored there."""
    found = await read_whole(tables, key)
    if found == memory:
        return True
    if found != held:
        return False
    if tables.namespace == "playbooks":
        await tables.run("DELETE FROM ace_named_catalogue WHERE playbook_id = %s", (key,))
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
    bases = (_columns(key, "version, etag, checksum, memory_json", each) for each in memory.bases)
    await _copy(tables, "ace_bases", bases)
    if memory.stamps is not None:
        await tables.insert("ace_stamps", _columns(key, "mark, checksum, stamps_json", memory.stamps))
    touches = (
        {**_columns(key, "parent, mark, touches_json", each.touches), "clock": each.clock}
        for each in memory.touches
    )
    await _copy(tables, "ace_touches", touches)


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
        await _copy(tables, table, ({"user_id": key, "seq": n, **row} for n, row in enumerate(rows, 1)))


async def _copy(tables: Tables, table: str, rows: Iterable[Mapping[str, object]]) -> None:
    """Insert rows that all have the same columns."""
    here = iter(rows)
    first = next(here, None)
    if first is None:
        return
    async with tables.copy_into(table, tuple(first)) as copy:
        await copy.write_row(tuple(first.values()))
        for row in here:
            await copy.write_row(tuple(row.values()))
