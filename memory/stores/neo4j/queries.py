"""The Cypher statements for a learner's state and history; input is always a parameter, never in the text.

Isolation in Neo4j is read-committed: a statement that only compares and sets loses updates. So every writer
first takes the learner's lock, by writing to the `AceLock` node, and compares after it. The lock is a node of
its own: with the state node as the lock, attaching a delta to it deadlocks under contention (80 commits of 20
writers: about 1,000 deadlocks; with the lock node none).

A transaction that waited for a lock node which `forget` deleted sees it without properties. That is why
`l.seq IS NOT NULL` means "the lock is held".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, LiteralString, TypeVar, cast
from uuid import uuid4

from pydantic import BaseModel, BeforeValidator, ConfigDict

from ace_graph.base.errors import IncompleteState
from ace_graph.base.tables import named_texts
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

_OTHER = re.compile(r"/\* ([a-z]*\.?[A-Z_]+) \*/")


@cache
def statement(name: str) -> LiteralString:
    """Return a statement by its file and its name in that, such as "pending.CLAIM"."""
    file, _, name = name.rpartition(".")
    texts = named_texts("ace_graph.memory.stores.neo4j", f"{file}.cypher")
    text = _OTHER.sub(lambda other: statement(_path(file, other[1])), texts[name])
    return cast("LiteralString", text)  # type: ignore[redundant-cast]  # mypy takes one for a str


def _path(file: str, name: str) -> str:
    return name if "." in name else f"{file}.{name}"


STATE = statement("queries.STATE")
CONTENT_PARTS = statement("queries.CONTENT_PARTS")
PARTS = statement("queries.PARTS")
LOAD = statement("queries.LOAD")
UPDATE = statement("queries.UPDATE")
CREATE = statement("queries.CREATE")
CREATE_PLAYBOOK = statement("queries.CREATE_PLAYBOOK")
LOCK = statement("queries.LOCK")
WRITE = statement("queries.WRITE")
DELTAS = statement("queries.DELTAS")
EXPORT_DELTAS = statement("queries.EXPORT_DELTAS")
BASE = statement("queries.BASE")
TURNS = statement("queries.TURNS")
KNOWN_TURNS = statement("queries.KNOWN_TURNS")
OWNERS_TURNS = statement("queries.OWNERS_TURNS")
DELETE_LEARNER = statement("queries.DELETE_LEARNER")
DESCRIBE = statement("queries.DESCRIBE")


# Converts between the properties of nodes and the values of the memory.


T = TypeVar("T")
Properties = dict[str, Any]
"""The properties of a node as the driver takes them: Any, because Neo4j's types have no common base."""
_NOT_PROPERTIES = {
    *("task", "answer", "answer_hash", "evidence", "injected", "cited"),
    # Neo4j stores no nested values
    *("steps", "reflections", "feedback", "metrics", "playbooks", "learned_into"),
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
