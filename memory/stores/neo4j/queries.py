"""The Cypher statements for a learner's state and history; input is always a parameter, never in the text.

Isolation in Neo4j is read-committed: a statement that only compares and sets loses updates. So every writer
first takes the learner's lock, by writing to the `AceLock` node, and compares after it. The lock is a node of
its own: with the state node as the lock, attaching a delta to it deadlocks under contention (80 commits of 20
writers: about 1,000 deadlocks; with the lock node none).

A transaction that waited for a lock node which `forget` deleted sees it without properties. That is why
`l.seq IS NOT NULL` means "the lock is held".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar, cast
from uuid import uuid4

from pydantic import BaseModel, BeforeValidator, ConfigDict

from ace_graph.base.errors import IncompleteState
from ace_graph.memory.catalogue import PlaybookEntry, PlaybookRef
from ace_graph.memory.commit import commit_key
from ace_graph.memory.delta.effect import Report
from ace_graph.memory.serialization import dump_record, load_report
from ace_graph.memory.snapshot import Label, Snapshot, Version
from ace_graph.memory.stores.commit_queue import SerializedPlan
from ace_graph.memory.stores.records import delta_columns, entry_columns
from ace_graph.memory.stores.snapshot_and_log import (
    EMPTY_BASE,
    NO_STAMPS,
    CompactionMarks,
    Sizes,
    StateHead,
    StoredBase,
    StoredEffect,
    StoredStamps,
    StoredState,
    StoredTouches,
)
from ace_graph.memory.stores.whole import WholeDelta, WholeTouches, WholeTurn
from ace_graph.memory.turn import TurnRecord

STATE = """
m.epoch AS epoch, m.version AS version, m.etag AS etag, m.major AS major, m.minor AS minor,
m.access_clock AS access_clock, m.access_mark AS access_mark, m.access_json AS access_json,
m.history_base AS history_base, m.history_next AS history_next, m.content_base AS content_base,
m.base_bytes AS base_bytes, m.effects_bytes AS effects_bytes,
m.stamps_bytes AS stamps_bytes, m.touches_bytes AS touches_bytes, m.keys_from AS keys_from
"""
CONTENT_PARTS = """
base: head(COLLECT {
  MATCH (m)-[:HAS_BASE]->(b:AceBase) WHERE NOT follows AND b.version = m.content_base
  RETURN [b.version, b.etag, b.checksum, b.memory_json]
}),
effects: COLLECT {
  MATCH (d:AceDelta)
  WHERE d.user_id = m.user_id AND d.content_version > CASE WHEN follows THEN $known.n ELSE m.content_base END
  RETURN [d.content_version, d.parent, d.etag, d.effect_json] ORDER BY d.content_version
}
"""
PARTS = f"""
CALL (m) {{
  WITH m, coalesce(m.epoch = $known.epoch, false) AS same
  WITH m, same, COLLECT {{
    MATCH (d:AceDelta) WHERE same AND d.user_id = m.user_id AND d.content_version > $known.n
    RETURN d.effect_bytes
  }} AS newer, COLLECT {{
    MATCH (t:AceTouch) WHERE same AND t.user_id = m.user_id AND t.clock > $known.clock
    RETURN [t.parent, t.mark, t.touches_json] ORDER BY t.clock
  }} AS recent
  WITH m, recent, coalesce(same AND m.history_base <= $known.n AND $known.n <= m.version
    AND reduce(total = 0, each IN newer | total + each) <= m.base_bytes + m.effects_bytes, false) AS follows,
    coalesce(same AND CASE WHEN size(recent) = 0 THEN m.access_mark ELSE recent[0][0] END = $known.mark,
      false) AS used
  RETURN {{
    follows: follows,
    {CONTENT_PARTS},
    stamps: head(COLLECT {{
      MATCH (m)-[:HAS_STAMPS]->(s:AceStamps) WHERE NOT used RETURN [s.mark, s.checksum, s.stamps_json]
    }}),
    used: used,
    touches: CASE WHEN used THEN recent ELSE COLLECT {{
      MATCH (t:AceTouch) WHERE t.user_id = m.user_id AND t.clock >= 0
      RETURN [t.parent, t.mark, t.touches_json] ORDER BY t.clock
    }} END
  }} AS parts
}}
"""
"""The parts of a state that are newer than what `$known` names, or all of them where that is less or nothing
is known. They may be of several commits, as each is read when it comes: the chain of etags tells."""
LOAD = f"MATCH (m:AceMemoryState {{user_id: $uid}}) {PARTS} RETURN {STATE}, parts"
"""Read the state in one round trip."""
_REPEATED = """
OPTIONAL MATCH (d:AceDelta {key: $key})
OPTIONAL MATCH (t:AceTurn {key: $key})
WITH l, m, coalesce(d.report_json, t.report_json) AS repeated
"""
_WRITE_HISTORY = """
FOREACH (delta IN CASE WHEN fresh THEN $deltas ELSE [] END |
  CREATE (m)-[:HAS_DELTA]->(new:AceDelta) SET new = delta, new.seq = seq)
FOREACH (turn IN CASE WHEN fresh THEN $turns ELSE [] END |
  CREATE (m)-[:HAS_TURN]->(new:AceTurn) SET new = turn, new.seq = seq)
FOREACH (item IN CASE WHEN fresh THEN $pending ELSE [] END |
  MERGE (new:AcePending {key: item.key}) ON CREATE SET new = item, new.seq = seq
  MERGE (m)-[:HAS_PENDING]->(new))
FOREACH (touch IN CASE WHEN fresh THEN $touches ELSE [] END |
  CREATE (m)-[:HAS_TOUCH]->(new:AceTouch) SET new = touch)
FOREACH (stamps IN CASE WHEN fresh THEN $stamps ELSE [] END |
  CREATE (m)-[:HAS_STAMPS]->(new:AceStamps) SET new = stamps)
FOREACH (base IN CASE WHEN fresh THEN $bases ELSE [] END |
  CREATE (m)-[:HAS_BASE]->(new:AceBase) SET new = base)
"""
_OUTDATED_USE = """
COLLECT {
  MATCH (m)-[:HAS_TOUCH|HAS_STAMPS]->(old) WHERE size($stamps) > 0 RETURN old
} AS outdated
"""
"""Stamps and touches from before the access part started anew."""
_SET_STATE = """
FOREACH (old IN CASE WHEN fresh THEN outdated ELSE [] END | DETACH DELETE old)
FOREACH (state IN CASE WHEN fresh THEN [$state] ELSE [] END |
  SET m += state, m.effects_bytes = m.effects_bytes + $effect_bytes,
    m.touches_bytes = m.touches_bytes + $touches_bytes)
"""
UPDATE = f"""
MATCH (l:AceLock {{user_id: $uid}})
SET l.seq = l.seq + 1
WITH l
MATCH (m:AceMemoryState {{user_id: $uid}})
{_REPEATED}
WITH m, repeated, l.seq AS seq, l.seq IS NOT NULL AND repeated IS NULL
  AND coalesce(m.epoch = $known.epoch AND m.etag = $known.etag AND m.access_clock = $known.clock
    AND m.access_mark = $known.mark, false)
  AND coalesce(m.keys_from <= $begun, true) AS fresh
WITH m, repeated, seq, fresh, {_OUTDATED_USE}
{_SET_STATE}
{_WRITE_HISTORY}
WITH m, repeated, seq, fresh
CALL (m, fresh) {{
  WITH m WHERE NOT fresh
  {PARTS}
  RETURN collect(parts) AS found
}}
RETURN fresh, repeated, seq, {STATE}, head(found) AS parts
"""
"""Lock, compare, write in one round trip. On a conflict nothing is written, and the reply holds the newer
state. A commit that is older than the stored keys is not written either. No row: there is no such learner."""
_OWNED_BY_USER = """
  MERGE (u:User {id: $uid}) ON CREATE SET u.ace_created = true
  WITH l, u LIMIT 1
  CREATE (u)-[:HAS_ACE_MEMORY]->(m:AceMemoryState) SET m = $state
"""
_AFTERSTATE = f"""
  WITH m, l.seq AS seq, true AS fresh
  {_WRITE_HISTORY}
  RETURN count(m) > 0 AS fresh
}}
WITH l, old AS m, repeated, fresh
RETURN fresh, repeated, l.seq AS seq, {STATE}, null AS parts
"""
_IF_ABSENT = f"""
MERGE (l:AceLock {{user_id: $uid}}) ON CREATE SET l.seq = 0
SET l.seq = l.seq + 1
WITH l
OPTIONAL MATCH (old:AceMemoryState {{user_id: $uid}})
WITH l, old AS m
{_REPEATED}
WITH l, m AS old, repeated
CALL (l, old, repeated) {{
  WITH l WHERE old IS NULL AND repeated IS NULL AND l.seq IS NOT NULL
"""
CREATE = f"{_IF_ABSENT} {_OWNED_BY_USER} {_AFTERSTATE}"
"""The first commit of a learner. An existing User node is used as it is; one that is created here is marked,
because only such a node may be deleted again."""
_WITH_GRANTS = """
  CREATE (m:AceMemoryState) SET m = $state
  FOREACH (grant IN $grants | CREATE (g:AceGrant) SET g = grant)
"""
CREATE_PLAYBOOK = f"{_IF_ABSENT} {_WITH_GRANTS} {_AFTERSTATE}"
"""The first commit of a named playbook. It names its owner and belongs to no User node."""
LOCK = f"""
MATCH (l:AceLock {{user_id: $uid}})
SET l.seq = l.seq + 1
WITH l
OPTIONAL MATCH (m:AceMemoryState {{user_id: $uid}})
{_REPEATED}
CALL (m) {{
  WITH m WHERE m IS NOT NULL
  {PARTS}
  RETURN collect(parts) AS found
}}
RETURN l.seq AS seq, repeated, {STATE}, head(found) AS parts
"""
"""Take the lock until the transaction ends, and read the state under it."""
WRITE = f"""
MATCH (m:AceMemoryState {{user_id: $uid}})
WITH m, $seq AS seq, true AS fresh, {_OUTDATED_USE}
{_SET_STATE}
{_WRITE_HISTORY}
RETURN fresh, seq, {STATE}, null AS parts
"""
"""Write under the lock that the transaction holds. It does not match the lock node again: that would look it
up in its unique index, whose entry the waiting transactions hold, and deadlock with them."""
_DELTA = """
d.version AS n, d.op_id AS op_id, d.at AS at, d.author AS author, d.reason AS reason, d.source AS source,
d.report_json AS report_json, d.effect_json AS effect_json, d.major AS major, d.minor AS minor
"""
DELTAS = f"""
MATCH (:AceMemoryState {{user_id: $uid}})-[:HAS_DELTA]->(d:AceDelta)
WHERE d.content AND d.effect_json IS NOT NULL
RETURN {_DELTA} ORDER BY d.version
"""
"""The content changes whose effects are kept, in order."""
EXPORT_DELTAS = f"""
MATCH (:AceMemoryState {{user_id: $uid}})-[:HAS_DELTA]->(d:AceDelta)
RETURN {_DELTA} ORDER BY d.seq
"""
"""All deltas, also those that changed no content and those whose effect was dropped."""
BASE = """
MATCH (m:AceMemoryState {user_id: $uid})
OPTIONAL MATCH (m)-[:HAS_BASE]->(b:AceBase) WHERE b.version = m.history_base
RETURN m.history_base AS n, [b.version, b.etag, b.checksum, b.memory_json] AS base
"""
"""The content at the version from which effects are kept; version 0 is empty and has no node."""
TURNS = """
MATCH (t:AceTurn {user_id: $uid}) WHERE t.seq > 0 AND coalesce(t.deleted, false) = false
RETURN t.record_json AS record_json ORDER BY t.seq DESC LIMIT $limit
"""
"""Turn records, the newest first, in the order of the index on (user_id, seq)."""
KNOWN_TURNS = """
UNWIND $ids AS id
MATCH (t:AceTurn {user_id: $uid, turn_id: id})
RETURN DISTINCT id AS turn_id
"""
"""Which of these trajectories the learner has a record of, deleted ones too."""
OWNERS_TURNS = """
OPTIONAL MATCH (p:AcePlaybook {user_id: $uid})
WITH coalesce($owner, p.owner) AS owner
UNWIND $ids AS id
MATCH (t:AceTurn {user_id: owner, turn_id: id})
RETURN DISTINCT id AS turn_id
"""
"""The same for the owner of a playbook; runs in the namespace of learners. `owner` is given for a new one."""
DELETE_LEARNER = """
MATCH (l:AceLock {user_id: $uid})
SET l.seq = l.seq + 1
WITH l
OPTIONAL MATCH (m:AceMemoryState {user_id: $uid})
OPTIONAL MATCH (u:User)-[:HAS_ACE_MEMORY]->(m)
WITH l, m, collect(u) AS users
CALL (m) {
  MATCH (m)-[:HAS_DELTA|HAS_TURN|HAS_BASE|HAS_STAMPS|HAS_TOUCH
    |HAS_BULLET|HAS_PENDING|HAS_VECTOR]->(part)
  DETACH DELETE part
}
DETACH DELETE m
DELETE l
WITH users, m IS NOT NULL AS found
CALL (users) {
  UNWIND users AS u
  WITH u WHERE u.ace_created AND NOT EXISTS { (u)--() } AND size(labels(u)) = 1 AND size(keys(u)) = 2
  DELETE u
}
RETURN found
"""
"""Delete everything about the learner; the User node too if it was created here and nothing was added."""
PROJECT = """
MATCH (m:AceMemoryState {user_id: $uid})
CALL (m) {
  MATCH (m)-[:HAS_BULLET]->(old:AceBullet)
  DETACH DELETE old
}
WITH m
UNWIND $bullets AS bullet
CREATE (m)-[:HAS_BULLET]->(b:AceBullet)
SET b = bullet
WITH b
UNWIND b.examples AS turn_id
MATCH (t:AceTurn {user_id: $uid, turn_id: turn_id})
CREATE (b)-[:LEARNED_FROM]->(t)
"""
"""Replace the bullet nodes. The caller holds the lock."""
DESCRIBE = """
CALL dbms.components() YIELD name, versions, edition WHERE name = 'Neo4j Kernel'
OPTIONAL MATCH (m:AceMemoryState)
WITH versions[0] AS version, edition, count(m) AS learners
OPTIONAL MATCH (s:AceSchema)
RETURN version, edition, learners, max(s.name) AS schema
"""
"""The server's version and edition, the schema, and the number of learners."""


# Converts between the properties of nodes and the values of the memory.


T = TypeVar("T")
Properties = dict[str, Any]
"""The properties of a node as the driver takes them: Any, because Neo4j's types have no common base."""
_NOT_PROPERTIES = {
    *("task", "answer", "answer_hash", "evidence", "injected", "cited"),
    *("steps", "reflections", "feedback", "metrics", "playbooks"),  # Neo4j stores no nested values
}


def _parts_of(row: object, kind: Callable[..., T]) -> T | None:
    return None if row is None else kind(*cast("list[Any]", row))  # Any: what a node holds, as it was written


class Parts(BaseModel):
    """The parts of a state that were read. Without a base, or stamps, the rest follows what is known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    follows: bool = False
    base: Annotated[StoredBase | None, BeforeValidator(lambda row: _parts_of(row, StoredBase))] = None
    effects: tuple[StoredEffect, ...] = ()
    used: bool = False
    stamps: Annotated[StoredStamps | None, BeforeValidator(lambda row: _parts_of(row, StoredStamps))] = None
    touches: tuple[StoredTouches, ...] = ()


class Reply(BaseModel):
    """A row with a state in it; `epoch` is None where there is none.

    `seq` counts how often the lock was taken; None: it was not held while this was read. `fresh`: the plan
    was written. `repeated` is the report of an operation that was applied before. `history_base` and
    `history_next` are the compaction marks. Keys from before `keys_from` were removed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    epoch: str | None
    version: int | None
    etag: str | None
    access_clock: int | None
    access_mark: str | None
    access_json: str | None
    history_base: int | None
    history_next: int | None
    content_base: int | None
    base_bytes: int | None
    effects_bytes: int | None
    stamps_bytes: int | None
    touches_bytes: int | None
    parts: Parts | None = None
    seq: int | None = None
    fresh: bool = False
    repeated: str | None = None
    keys_from: float | None = None
    major: int | None = None
    minor: int | None = None

    def head(self) -> StateHead:
        """Return the small part of the state."""
        n = self.version or 0
        return StateHead(
            Version(self.epoch, n, self.etag or "", Label(self.major or 0, self.minor or 0)),
            self.access_clock or 0,
            self.access_mark or "",
            CompactionMarks(self.history_base or 0, self.history_next),
            self.content_base or 0,
            Sizes(self.base_bytes or 0, self.effects_bytes or 0),
            Sizes(self.stamps_bytes or 0, self.touches_bytes or 0),
            self.keys_from,
        )

    def snapshot(self, known: Snapshot) -> Snapshot:
        """Return the state.

        Readers in Neo4j take no lock, so one may get parts of several commits, and what is known may be of a
        history that a restored backup has replaced. Raises IncompleteState then, CorruptPayload, NewerFormat.
        """
        head = self.head()
        if head.version.epoch is None:
            return Snapshot()
        parts = self.parts or Parts()
        if not parts.follows and parts.base is None and head.base_n:
            raise IncompleteState(
                f"the stored content of version {head.base_n} is missing: restore the database from a backup"
            )
        return StoredState(
            head.version,
            self.access_json or "",
            head.access_mark,
            None if parts.follows else parts.base or EMPTY_BASE,
            parts.effects,
            None if parts.used else parts.stamps or NO_STAMPS,
            parts.touches,
        ).snapshot(known)

    @property
    def locked(self) -> bool:
        """Whether the learner's lock was held."""
        return self.seq is not None

    def report(self) -> Report | None:
        """Return the report of the operation, where it was applied before. Raises CorruptPayload."""
        return None if self.repeated is None else load_report(self.repeated)


def known_parameter(known: Snapshot) -> Properties:
    """Return the parameter `$known`: what a reader has already."""
    version, access = known.version, known.access
    clock = access.access_clock if access.mark else -1
    return {
        "epoch": version.epoch,
        "n": version.n,
        "etag": version.etag,
        "clock": clock,
        "mark": access.mark,
    }


def base_properties(learner_id: str, base: StoredBase) -> Properties:
    """Return the properties of a base's node."""
    return {
        "user_id": learner_id,
        "version": base.n,
        "etag": base.etag,
        "checksum": base.checksum,
        "memory_json": base.text,
    }


def stamps_properties(learner_id: str, stamps: StoredStamps) -> Properties:
    """Return the properties of the node of stamps."""
    return {
        "user_id": learner_id,
        "mark": stamps.mark,
        "checksum": stamps.checksum,
        "stamps_json": stamps.text,
    }


def write_state(serialized: SerializedPlan, learner_id: str, *, create: bool) -> Properties:
    """Return the properties to set on the state node."""
    plan = serialized.plan
    version, access, now = plan.snapshot.version, plan.snapshot.access, plan.effect.now
    state: Properties = {
        "access_json": serialized.access_json,
        "access_clock": access.access_clock,
        "access_mark": access.mark,
        "updated_at": now,
    }
    if plan.touches is None:
        state |= {"stamps_bytes": serialized.stamps_bytes, "touches_bytes": 0}
    if plan.content_changed or create:
        state |= {"version": version.n, "etag": version.etag}
        state |= version.label._asdict()
    if create:
        state |= {"id": str(uuid4()), "user_id": learner_id, "epoch": version.epoch, "created_at": now}
        state |= {"history_base": 0, "content_base": 0, "base_bytes": 0, "stamps_bytes": 0}
        state |= {"effects_bytes": serialized.effect_bytes, "touches_bytes": serialized.touches_bytes}
    return state


def write_use(serialized: SerializedPlan, learner_id: str) -> Properties:
    """Return the nodes of touches, or the stamps where the access part starts anew."""
    if serialized.touched is None:
        return {"touches": [], "stamps": [stamps_properties(learner_id, serialized.stamps)]}
    return {"touches": [touches_properties(learner_id, serialized.touched)], "stamps": []}


def touches_properties(learner_id: str, touched: WholeTouches) -> Properties:
    """Return the properties of the node of touches."""
    text = touched.touches.text
    return {
        "user_id": learner_id,
        "clock": touched.clock,
        "parent": touched.touches.parent,
        "mark": touched.touches.mark,
        "touches_json": text,
        "touches_bytes": len(text.encode("utf-8", "surrogatepass")),
    }


def delta_properties(learner_id: str, delta: WholeDelta) -> Properties:
    """Return the properties of a delta's node; `content_version` only where it changed the content."""
    stored = delta_columns(delta)
    stored["content"] = stored.pop("content_changed")
    if delta.content_changed and delta.etag:
        stored["content_version"] = delta.n
    return {**stored, "at": delta.at, "key": commit_key(learner_id, delta.op_id), "user_id": learner_id}


def write_entry(entry: PlaybookEntry) -> Properties:
    """Return the entry of a new playbook as properties of its state; `owner_name` is unique."""
    return {**entry_columns(entry), "owner_name": owner_name(entry.ref)}


def owner_name(ref: PlaybookRef) -> str:
    """Return owner and name as one text; the length of the owner keeps two pairs from being one text."""
    owner = ref.owner or ""
    return f"{len(owner)}:{owner}:{ref.key}"


def turn_node(learner_id: str, turn: WholeTurn, record: TurnRecord) -> Properties:
    """Return the properties of a turn's node; the record's text stays as it was stored."""
    return {
        **turn_properties(record),
        **turn._asdict(),
        "key": commit_key(learner_id, turn.op_id),
        "user_id": learner_id,
    }


def turn_properties(record: TurnRecord) -> Properties:
    """Return the record as JSON, and as properties what is searched for or useful in Neo4j Browser."""
    searched = record.model_dump(exclude=_NOT_PROPERTIES)
    lists = {"injected": list(record.injected), "cited": list(record.cited)}
    return searched | lists | {"has_steps": bool(record.steps), "record_json": dump_record(record)}
