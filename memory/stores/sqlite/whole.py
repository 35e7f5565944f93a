"""Reading and writing everything under a key in SQLite; see `stores.whole`.

The caller begins and ends the transaction.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from uuid import uuid4

from ace_graph.memory.commit import commit_key
from ace_graph.memory.stores.records import ITEM_COLUMNS
from ace_graph.memory.stores.sqlite.catalogue import add_entry, delete_entries, read_entry
from ace_graph.memory.stores.sqlite.rows import delete_learner
from ace_graph.memory.stores.sqlite.sharing import (
    add_grants,
    add_proposal,
    delete_sharing,
    list_grants,
    list_proposals,
)
from ace_graph.memory.stores.sqlite.tables import Tables
from ace_graph.memory.stores.whole import WholeMemory
from ace_graph.memory.stores.whole_columns import (
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

__all__ = ["put_whole", "read_whole"]


def read_whole(tables: Tables, key: str) -> WholeMemory | None:
    """Return everything stored under the key."""
    state = _rows(tables, f"{STATE_COLUMNS} FROM ace_learners", key).fetchone()
    if state is None:
        return None
    memory = memory_of(
        WholeRows(
            state,
            _rows(tables, f"{BASE_COLUMNS} FROM ace_base_contents", key, "version"),
            _rows(tables, f"{STAMPS_COLUMNS} FROM ace_stamps", key).fetchone(),
            _rows(tables, f"{TOUCHES_COLUMNS} FROM ace_touches", key, "clock"),
            _rows(tables, f"{DELTA_COLUMNS} FROM ace_deltas", key, "seq"),
            _rows(tables, f"{TURN_COLUMNS} FROM ace_turns", key, "seq"),
            _rows(tables, f"{ITEM_COLUMNS} FROM ace_pending", key, "seq"),
        )
    )
    if tables.namespace != "playbooks":
        return memory
    return replace(
        memory,
        entry=read_entry(tables, key),
        grants=list_grants(tables, key, -1, ""),
        proposals=list_proposals(tables, key, None, -1, ""),
    )


def _rows(tables: Tables, columns: str, key: str, order: str = "user_id") -> sqlite3.Cursor:
    return tables.execute(f"SELECT {columns} WHERE user_id = ? ORDER BY {order}", (key,))


def put_whole(tables: Tables, key: str, memory: WholeMemory, held: WholeMemory | None) -> bool:
    """Store everything under the key in place of `held`; False where something else is stored there."""
    found = read_whole(tables, key)
    if found == memory:
        return True
    if found != held:
        return False
    _delete(tables, key)
    tables.insert("ace_learners", {"user_id": key, "id": str(uuid4()), **state_columns(memory)})
    _put_parts(tables, key, memory)
    for delta in memory.deltas:
        name = commit_key(key, delta.op_id)
        tables.insert("ace_deltas", {"user_id": key, "key": name, **delta_columns(delta)})
    for turn in memory.turns:
        name = commit_key(key, turn.op_id)
        tables.insert("ace_turns", {"user_id": key, "key": name, **whole_turn_columns(turn)})
    for item in memory.pending:
        name = commit_key(key, item.pending_id)
        tables.insert("ace_pending", {"user_id": key, "key": name, **item_columns(item)})
    if memory.entry is not None:
        add_entry(tables, memory.entry)
        add_grants(tables, memory.grants)
        for proposal in memory.proposals:
            add_proposal(tables, proposal)
    return True


def _delete(tables: Tables, key: str) -> None:
    delete_learner(tables, key)
    if tables.namespace == "playbooks":
        delete_entries(tables, key)
        delete_sharing(tables, key)


def _put_parts(tables: Tables, key: str, memory: WholeMemory) -> None:
    tables.executemany(
        f"INSERT INTO ace_base_contents (user_id, {BASE_COLUMNS}) VALUES (?, ?, ?, ?, ?)",  # noqa: S608  constants
        ((key, *base) for base in memory.bases),
    )
    tables.executemany(
        f"INSERT INTO ace_touches (user_id, {TOUCHES_COLUMNS}) VALUES (?, ?, ?, ?, ?)",  # noqa: S608  constants
        ((key, each.clock, *each.touches) for each in memory.touches),
    )
    if memory.stamps is not None:
        tables.execute(
            f"INSERT INTO ace_stamps (user_id, {STAMPS_COLUMNS}) VALUES (?, ?, ?, ?)",  # noqa: S608  constants
            (key, *memory.stamps),
        )
