"""Reads a learner's history and turns, and the export of everything.

The caller holds the learner's lock where several reads must be consistent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, LiteralString, cast
from uuid import uuid4

from ace_graph.base.errors import CommitContention, PlaybookExists
from ace_graph.memory.commit import History, PendingItem, commit_key
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.serialization import load_record
from ace_graph.memory.stores.base import LearnerExport, PlaybookExport, SharingExport, VectorChange
from ace_graph.memory.stores.neo4j import queries as cypher
from ace_graph.memory.stores.neo4j.catalogue import (
    add_proposal,
    delete_sharing,
    find_entry,
    list_entries,
    list_grants,
    list_proposals,
    put_grants,
    read_entry,
    read_sharing,
)
from ace_graph.memory.stores.neo4j.commit_retry import read_locked
from ace_graph.memory.stores.neo4j.connection import (
    Neo4jConnection,
    Neo4jLink,
    Row,
    Runner,
    fetch,
    fetch_rows,
)
from ace_graph.memory.stores.neo4j.pending import read_items
from ace_graph.memory.stores.neo4j.queries import (
    Properties,
    Reply,
    base_properties,
    delta_properties,
    stamps_properties,
    statement,
    touches_properties,
    turn_node,
    write_entry,
)
from ace_graph.memory.stores.records import delta_of, history_entry_of, item_columns, item_of, moment
from ace_graph.memory.stores.snapshot_and_log import StoredBase, StoredStamps, StoredTouches, load_base
from ace_graph.memory.stores.whole import WholeMemory, WholeTouches, WholeTurn
from ace_graph.memory.turn import TurnRecord

_ALL = 2**31


async def read_history(run: Runner, learner_id: str, *, everything: bool = False) -> History:
    """Return the content changes whose effects are kept; with `everything` all deltas.

    Raises CorruptPayload, NewerFormat.
    """
    base_n, base = await read_base(run, learner_id)
    query = cypher.EXPORT_DELTAS if everything else cypher.DELTAS
    rows = await fetch_rows(run, query, uid=learner_id)
    return History(base_n, base, tuple(map(history_entry_of, rows)))


async def read_turns(run: Runner, learner_id: str, limit: int = _ALL) -> tuple[TurnRecord, ...]:
    """Return at most `limit` turn records, the newest first. Raises CorruptPayload."""
    rows = await fetch(run, cypher.TURNS, uid=learner_id, limit=max(0, limit))
    return tuple(load_record(str(row["record_json"])) for row in rows)


async def read_export(run: Runner, learner_id: str) -> LearnerExport:
    """Return everything stored about a learner, with the playbooks that the learner owns, or a playbook."""
    snapshot = await read_locked(run, learner_id)
    history = await read_history(run, learner_id, everything=True)
    turns, pending = await read_turns(run, learner_id), await read_items(run, learner_id, None, _ALL)
    named = run.of("playbooks")
    owned = await list_entries(named, learner_id, _ALL, "") if run.namespace == "learners" else ()
    playbooks = [PlaybookExport(entry, await read_export(named, entry.playbook_id)) for entry in owned]
    sharing = SharingExport()
    if run.namespace == "learners":
        sharing = await read_sharing(run, learner_id, [entry.playbook_id for entry in owned])
    return LearnerExport(learner_id, snapshot, history, turns, pending, tuple(playbooks), sharing)


async def read_base(run: Runner, learner_id: str) -> tuple[int, Playbook]:
    rows = await fetch(run, cypher.BASE, uid=learner_id)
    if not rows or not rows[0]["n"]:
        return 0, Playbook()
    n, base = int(str(rows[0]["n"])), StoredBase(*cast("list[Any]", rows[0]["base"]))
    return n, load_base(base.checked().text)


# The vectors of bullets in the Neo4j store (see `ace_graph.memory.stores.base`): a node for each.


READ_VECTORS: Final = statement("history.READ_VECTORS")
_PUT: Final = statement("history.PUT")


async def put_vectors(run: Runner, learner: str, epoch: str | None, change: VectorChange) -> bool:
    """Store and delete rows, under the learner's lock; False where the state is not of that epoch."""
    rows = [[name, row] for name, row in change.rows.items()]
    done = await fetch(
        run, _PUT, uid=learner, epoch=epoch, model=change.model, gone=list(change.gone), rows=rows
    )
    return bool(done)


# Reading and writing everything under a key in Neo4j; see `stores.whole`. The Cypher is in history.cypher.
#
# Neo4j holds what a transaction writes, or sorts, in memory, and has little of it. So texts are read in
# batches, and written in batches, as nodes that no other statement finds (`AceStaged`); one transaction then
# makes them parts of the memory. What a copy that was killed has left of them, the next one deletes.


_ATTEMPTS = 5
_ROWS, _CHARS = 200, 1_000_000
"""The most rows of a batch, and the most characters, unless one row has more."""

STATE_ALONE: Final = statement("history.STATE_ALONE")
BASES: Final = statement("history.BASES")
STAMPS: Final = statement("history.STAMPS")
TOUCHES: Final = statement("history.TOUCHES")
DELTA_KEYS: Final = statement("history.DELTA_KEYS")
DELTAS: Final = statement("history.DELTAS")
TURN_KEYS: Final = statement("history.TURN_KEYS")
TURNS: Final = statement("history.TURNS")
ITEMS: Final = statement("history.ITEMS")
TAKE_OR_MAKE: Final = statement("history.TAKE_OR_MAKE")
DROP: Final = statement("history.DROP")
CREATE_OWNED: Final = statement("history.CREATE_OWNED")
CREATE_NAMED: Final = statement("history.CREATE_NAMED")

SET_SEQ: Final = "MATCH (l:AceLock {user_id: $uid}) SET l.seq = l.seq + $seq"

STAGE: Final = "UNWIND $rows AS row CREATE (n:AceStaged) SET n = row"

UNSTAGE: Final = statement("history.UNSTAGE")
_STAGED: Final = statement("history.STAGED")
_TAKE: Final[dict[str, LiteralString]] = {
    "bases": "SET n:AceBase CREATE (m)-[:HAS_BASE]->(n)",
    "stamps": "SET n:AceStamps CREATE (m)-[:HAS_STAMPS]->(n)",
    "touches": "SET n:AceTouch CREATE (m)-[:HAS_TOUCH]->(n)",
    "deltas": "SET n:AceDelta CREATE (m)-[:HAS_DELTA]->(n)",
    "turns": "SET n:AceTurn CREATE (m)-[:HAS_TURN]->(n)",
    "pending": "SET n:AcePending CREATE (m)-[:HAS_PENDING]->(n)",
}


async def read_whole(run: Runner, key: str) -> WholeMemory | None:
    """Return everything stored under the key; run it in one transaction.

    It takes no lock, so that nothing is written to a database that is read only: where the count of the
    lock has moved meanwhile, it reads again. Raises CommitContention.
    """
    for _ in range(_ATTEMPTS):
        before = await fetch(run, STATE_ALONE, uid=key)
        if not before:
            return None
        memory = await _read(run, key, dict(before[0]))
        if await fetch(run, STATE_ALONE, uid=key) == before:
            return memory
    raise CommitContention(f"{key} is written all the time: stop what writes to it")


async def _read(run: Runner, key: str, state: Row) -> WholeMemory:
    created, updated = moment(state.pop("created_at")), moment(state.pop("updated_at"))
    reply = Reply.model_validate(state)
    named = run.namespace == "playbooks"
    bases, stamps = await _lists(run, BASES, key), await _lists(run, STAMPS, key)
    touches, turns = await _lists(run, TOUCHES, key), await _in_batches(run, TURN_KEYS, TURNS, key)
    return WholeMemory(
        reply.head(),
        reply.access_json or "",
        created,
        updated,
        tuple(StoredBase(*row) for row in bases),
        next((StoredStamps(*row) for row in stamps), None),
        tuple(WholeTouches(clock, StoredTouches(*rest)) for clock, *rest in touches),
        tuple(map(delta_of, await _in_batches(run, DELTA_KEYS, DELTAS, key))),
        tuple(WholeTurn(*row) for row in turns),
        tuple(map(item_of, await fetch_rows(run, ITEMS, uid=key))),
        await read_entry(run, key) if named else None,
        await list_grants(run, key, _ALL, "") if named else (),
        await list_proposals(run, key, None, _ALL, "") if named else (),
    )


async def _lists(run: Runner, query: LiteralString, key: str) -> list[list[Any]]:  # Any: what nodes hold
    return [cast("list[Any]", row["row"]) for row in await fetch(run, query, uid=key)]


async def _in_batches(
    run: Runner, keys: LiteralString, query: LiteralString, uid: str
) -> list[Any]:  # Any: what nodes hold
    """Return the column `row` of what the query finds for each key, in the order of the keys."""
    names = [str(row["key"]) for row in await fetch(run, keys, uid=uid)]
    found = dict[str, Any]()
    for start in range(0, len(names), _ROWS):
        for row in await fetch(run, query, keys=names[start : start + _ROWS]):
            found[str(row["key"])] = row["row"]
    return [found[name] for name in names if name in found]


async def stage(connection: Neo4jConnection, link: Neo4jLink, key: str, memory: WholeMemory) -> None:
    """Write the parts of a memory for `put_whole`, each batch in a transaction of its own."""
    await unstage(connection, link, key)
    for part, rows in _nodes(key, memory).items():
        for batch in _batches({**row, "part": part} for row in rows):
            await connection.rows(link, STAGE, rows=batch)


async def unstage(connection: Neo4jConnection, link: Neo4jLink, key: str) -> None:
    """Delete what was staged and is no part of a memory."""
    while (await connection.rows(link, UNSTAGE, uid=key))[0]["gone"] != 0:
        pass


def _batches(rows: Iterable[Properties]) -> Iterator[list[Properties]]:
    batch, size = list[Properties](), 0
    for row in rows:
        more = sum(len(value) for value in row.values() if isinstance(value, str))
        if batch and (len(batch) == _ROWS or size + more > _CHARS):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += more
    if batch:
        yield batch


async def put_whole(run: Runner, key: str, memory: WholeMemory, held: WholeMemory | None) -> bool:
    """Store everything under the key in place of `held`; False where something else is stored there.

    Its parts were staged. It takes the lock. Raises PlaybookExists.
    """
    (lock,) = await fetch(run, TAKE_OR_MAKE, uid=key)
    if lock["seq"] is None:
        return False  # the learner was forgotten while this waited
    found = await read_whole(run, key)
    if found == memory:
        return True
    if found != held:
        return False
    if memory.entry is not None:
        entry = memory.entry
        other = await find_entry(run, entry.ref)
        if other is not None and other.playbook_id != entry.playbook_id:
            raise PlaybookExists(f"there is a playbook {entry.name} already: choose another name")
        await delete_sharing(run, key)
    await fetch(run, DROP, uid=key)
    create = CREATE_OWNED if run.namespace == "learners" else CREATE_NAMED
    await fetch(run, create, uid=key, state=_state(key, memory))
    for part, taken in _TAKE.items():
        await fetch(run, _STAGED + taken, uid=key, part=part)
    await fetch(run, SET_SEQ, uid=key, seq=max(len(memory.deltas), len(memory.turns), len(memory.pending)))
    if memory.entry is not None:
        await put_grants(run, memory.grants)
        for proposal in memory.proposals:
            await add_proposal(run, proposal)
    return True


def _state(key: str, memory: WholeMemory) -> Properties:
    head = memory.head
    version = head.version
    return {
        "id": str(uuid4()),
        "user_id": key,
        "epoch": version.epoch,
        "version": version.n,
        "etag": version.etag,
        **version.label._asdict(),
        "access_json": memory.access_json,
        "access_clock": head.access_clock,
        "access_mark": head.access_mark,
        "history_base": head.marks.base,
        "history_next": head.marks.next,
        "content_base": head.base_n,
        "base_bytes": head.content.base,
        "effects_bytes": head.content.tail,
        "stamps_bytes": head.access.base,
        "touches_bytes": head.access.tail,
        "keys_from": head.keys_from,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        **({} if memory.entry is None else write_entry(memory.entry)),
    }


def _nodes(key: str, memory: WholeMemory) -> dict[str, list[Properties]]:
    """Return the properties of all nodes, numbered in their order."""
    return {
        "bases": [base_properties(key, base) for base in memory.bases],
        "stamps": [] if memory.stamps is None else [stamps_properties(key, memory.stamps)],
        "touches": [touches_properties(key, touched) for touched in memory.touches],
        "deltas": _numbered(delta_properties(key, delta) for delta in memory.deltas),
        "turns": _numbered(turn_node(key, turn, load_record(turn.record_json)) for turn in memory.turns),
        "pending": _numbered(_item_properties(key, item) for item in memory.pending),
    }


def _numbered(rows: Iterable[Properties]) -> list[Properties]:
    return [{**row, "seq": n} for n, row in enumerate(rows, 1)]


def _item_properties(key: str, item: PendingItem) -> Properties:
    return {**item_columns(item), "key": commit_key(key, item.pending_id), "user_id": key}
