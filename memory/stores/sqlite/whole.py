"""Reading and writing everything under a key in SQLite; see `stores.whole`.

The caller begins and ends the transaction.
"""

from __future__ import annotations

from uuid import uuid4

from ace_graph.memory.commit import commit_key
from ace_graph.memory.stores.base_and_tail import StoredBase, StoredStamps, StoredTouches
from ace_graph.memory.stores.records import ITEM_COLUMNS, item_of
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


def read_whole(tables: Tables, key: str) -> WholeMemory | None:
    """Return everything stored under the key."""
    state = tables.execute(
        f"SELECT access_json, created_at, updated_at, {HEAD_COLUMNS} "  # noqa: S608  constants
        "FROM ace_learners WHERE user_id = ?",
        (key,),
    ).fetchone()
    if state is None:
        return None
    bases = tables.execute(
        "SELECT version, etag, checksum, memory_json FROM ace_base_contents WHERE user_id = ? "
        "ORDER BY version",
        (key,),
    )
    stamps = tables.execute(
        "SELECT mark, checksum, stamps_json FROM ace_stamps WHERE user_id = ?", (key,)
    ).fetchone()
    touches = tables.execute(
        "SELECT clock, parent, mark, touches_json FROM ace_touches WHERE user_id = ? ORDER BY clock", (key,)
    )
    deltas = tables.execute(
        f"SELECT {DELTA_COLUMNS} FROM ace_deltas WHERE user_id = ? ORDER BY seq",  # noqa: S608  constants
        (key,),
    )
    turns = tables.execute(
        "SELECT op_id, report_json, record_json FROM ace_turns WHERE user_id = ? ORDER BY seq", (key,)
    )
    items = tables.execute(
        f"SELECT {ITEM_COLUMNS} FROM ace_pending WHERE user_id = ? ORDER BY seq",  # noqa: S608  constants
        (key,),
    )
    named = tables.namespace == "playbooks"
    return WholeMemory(
        head_of(state[3:]),
        state[0],
        *moments_of(state[1:3]),
        tuple(StoredBase(*row) for row in bases),
        None if stamps is None else StoredStamps(*stamps),
        tuple(WholeTouches(clock, StoredTouches(*rest)) for clock, *rest in touches),
        tuple(map(delta_of, deltas)),
        tuple(WholeTurn(*row) for row in turns),
        tuple(map(item_of, items)),
        read_entry(tables, key) if named else None,
        list_grants(tables, key, -1, "") if named else (),
        list_proposals(tables, key, None, -1, "") if named else (),
    )


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
        "INSERT INTO ace_base_contents (user_id, version, etag, checksum, memory_json) "
        "VALUES (?, ?, ?, ?, ?)",
        ((key, *base) for base in memory.bases),
    )
    tables.executemany(
        "INSERT INTO ace_touches (user_id, clock, parent, mark, touches_json) VALUES (?, ?, ?, ?, ?)",
        ((key, each.clock, *each.touches) for each in memory.touches),
    )
    if memory.stamps is not None:
        tables.execute(
            "INSERT INTO ace_stamps (user_id, mark, checksum, stamps_json) VALUES (?, ?, ?, ?)",
            (key, *memory.stamps),
        )
