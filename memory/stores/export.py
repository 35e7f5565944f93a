"""Everything under a key in one transaction: its export, its copy (see `stores.whole`), and its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ace_graph.base.errors import PlaybookExists
from ace_graph.memory.commit import check_expected
from ace_graph.memory.serialization import load_record
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.backend import Row, Rows
from ace_graph.memory.stores.base import LearnerExport, PlaybookExport, SharingExport
from ace_graph.memory.stores.catalogue import (
    add_entry,
    delete_sharing,
    find_entry,
    forget_member,
    list_entries,
    list_grants,
    list_proposals,
    on,
    owned_ids,
    put_grants,
    read_entry,
    read_sharing,
)
from ace_graph.memory.stores.history import find_turns, read_history, turns_wanted
from ace_graph.memory.stores.pending import read_items
from ace_graph.memory.stores.records import (
    DELTA_COLUMNS,
    ITEM_COLUMNS,
    columns,
    delta_columns,
    delta_of,
    item_columns,
    item_of,
    moment,
    proposal_columns,
    record_columns,
    turn_columns,
)
from ace_graph.memory.stores.snapshot_and_log import StoredBase, StoredStamps, StoredTouches
from ace_graph.memory.stores.states import (
    BASE_COLUMNS,
    HEAD_COLUMNS,
    STAMPS_COLUMNS,
    TOUCHES_COLUMNS,
    delete_rows,
    head_of,
    head_row,
    load,
    of,
    read_head,
)
from ace_graph.memory.stores.whole import WholeMemory, WholeTurn

_STATE = f"access_json, created_at, updated_at, {HEAD_COLUMNS}"


async def read_export(rows: Rows, key: str) -> LearnerExport:
    """Return everything stored about a learner, with the playbooks that the learner owns, or a playbook."""
    named, is_learner = rows.of("playbooks"), rows.namespace == "learners"
    owned = await list_entries(rows, key) if is_learner else ()
    sharing = await read_sharing(rows, key, [entry.playbook_id for entry in owned]) if is_learner else None
    return LearnerExport(
        key,
        (await load(rows, key, Snapshot())).snapshot,
        await read_history(rows, key, everything=True),
        await find_turns(rows, *turns_wanted(key)),
        await read_items(rows, key),
        tuple([PlaybookExport(entry, await read_export(named, entry.playbook_id)) for entry in owned]),
        sharing or SharingExport(),
    )


async def delete_all(rows: Rows, key: str, expected_etag: str | None = None) -> bool:
    """Delete what is stored under the key; the caller holds its lock. False where there was nothing.

    With a learner go the playbooks that the learner owns, the grants to the learner and the memberships in
    teams, with a playbook its entry in the catalogue and what is shared of it. Raises PlaybookChanged for
    another etag than the expected one.
    """
    if expected_etag is not None and (held := (await read_head(rows, key)).version).epoch is not None:
        check_expected(expected_etag, held)
    if rows.namespace == "playbooks":
        await delete_sharing(rows, key)
        return await delete_rows(rows, key)
    named, found = rows.of("playbooks"), False
    for playbook_id in await owned_ids(rows, key):
        await named.lock(playbook_id)
        found = await delete_all(named, playbook_id) or found
    found = await delete_rows(rows, key) or found
    return await forget_member(rows, key) or found


async def read_whole(rows: Rows, key: str) -> WholeMemory | None:
    """Return everything stored under the key."""

    async def select(names: str, table: str, order: str = "") -> list[Row]:
        return await rows.select(table, names, of(key), order=order)

    states = await select(_STATE, "states")
    if not states:
        return None
    ((access_json, created, updated, *head),) = states
    stamps = await select(STAMPS_COLUMNS, "stamps")
    memory = WholeMemory(
        head_of(tuple(head)),
        access_json,
        moment(created),
        moment(updated),
        tuple(StoredBase(*row) for row in await select(BASE_COLUMNS, "bases", "version")),
        StoredStamps(*stamps[0]) if stamps else None,
        tuple(StoredTouches(*row) for row in await select(TOUCHES_COLUMNS, "touches", "clock")),
        tuple(map(delta_of, await select(DELTA_COLUMNS, "deltas", "seq"))),
        tuple(WholeTurn(*row) for row in await select("op_id, report_json, record_json", "turns", "seq")),
        tuple(map(item_of, await select(ITEM_COLUMNS, "pending", "seq, pending_id"))),
    )
    if rows.namespace != "playbooks":
        return memory
    entry, grants = await read_entry(rows, key), await list_grants(rows, key)
    return replace(memory, entry=entry, grants=grants, proposals=await list_proposals(rows, on(key)))


async def put_whole(rows: Rows, key: str, memory: WholeMemory, held: WholeMemory | None) -> bool:
    """Store everything under the key in place of `held`; False where something else is stored there.

    The caller holds the lock. Raises PlaybookExists.
    """
    found = await read_whole(rows, key)
    if found == memory:
        return True
    if found != held:
        return False
    if memory.entry is not None:
        other = await find_entry(rows, memory.entry.ref)
        if other is not None and other.playbook_id != key:
            raise PlaybookExists(f"there is a playbook {other.name} already: choose another name")
    if rows.namespace == "playbooks":
        await delete_sharing(rows, key)
    await delete_rows(rows, key)
    tables = whole_rows(key, memory)
    if not await rows.add("states", *tables.pop("states")):
        return False  # another process began it meanwhile
    for table, parts in tables.items():
        await rows.add(table, *parts)
    if memory.entry is not None:
        await add_entry(rows, memory.entry)
        await put_grants(rows, memory.grants)
        await rows.add("proposals", *map(proposal_columns, memory.proposals))
    return True


def whole_rows(key: str, memory: WholeMemory) -> dict[str, list[dict[str, object]]]:
    """Return the rows of each table, numbered in their order; a record's text stays as it was stored."""
    times = memory.created_at.isoformat(), memory.updated_at.isoformat()
    seq = max(len(memory.deltas), len(memory.turns), len(memory.pending), 1)
    state = columns(f"{_STATE}, seq", (memory.access_json, *times, *head_row(memory.head), seq))
    stamps = () if memory.stamps is None else (memory.stamps,)
    parts: dict[str, Iterator[Mapping[str, object]]] = {
        "states": iter((state,)),
        "bases": (columns(BASE_COLUMNS, base) for base in memory.bases),
        "stamps": (columns(STAMPS_COLUMNS, row) for row in stamps),
        "touches": (columns(TOUCHES_COLUMNS, touched) for touched in memory.touches),
        "deltas": ({"seq": n, **delta_columns(delta)} for n, delta in enumerate(memory.deltas, 1)),
        "turns": ({"seq": n, **turn_row(turn)} for n, turn in enumerate(memory.turns, 1)),
        "pending": ({"seq": n, **item_columns(item)} for n, item in enumerate(memory.pending, 1)),
    }
    return {table: [{"user_id": key, **row} for row in rows] for table, rows in parts.items()}


def turn_row(turn: WholeTurn) -> dict[str, object]:
    """Return the columns of a turn, but for its key and number."""
    record = load_record(turn.record_json)
    return {**turn_columns(record), **record_columns(record), **turn._asdict()}
