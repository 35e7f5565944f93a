"""Converts between the properties of nodes and the values of the memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, TypeVar, cast
from uuid import uuid4

from neo4j.time import DateTime
from pydantic import BaseModel, BeforeValidator, ConfigDict

from ace_graph.errors import IncompleteState
from ace_graph.memory.catalogue.entry import PlaybookEntry
from ace_graph.memory.catalogue.label import Label
from ace_graph.memory.catalogue.name import PlaybookRef
from ace_graph.memory.commit import CommitPlan, HistoryEntry, commit_key
from ace_graph.memory.delta.effect import Report
from ace_graph.memory.serialization import dump_record, dump_report, load_effect, load_report
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.base_and_tail import (
    EMPTY_BASE,
    NO_STAMPS,
    Sizes,
    StateHead,
    StoredBase,
    StoredEffect,
    StoredStamps,
    StoredState,
    StoredTouches,
)
from ace_graph.memory.stores.compaction import CompactionMarks
from ace_graph.memory.stores.neo4j.runner import Row
from ace_graph.memory.stores.serialized_plan import SerializedPlan
from ace_graph.memory.turn import TurnRecord

__all__ = [
    "Parts",
    "Properties",
    "Reply",
    "base_properties",
    "known_parameter",
    "native",
    "owner_name",
    "read_entry",
    "stamps_properties",
    "turn_properties",
    "write_delta",
    "write_entry",
    "write_state",
    "write_turn",
    "write_use",
]

T = TypeVar("T")

Properties = dict[str, Any]
"""The properties of a node as the driver takes them: Any, because Neo4j's types have no common base."""

_NOT_PROPERTIES = {
    *("task", "answer", "answer_hash", "evidence", "injected", "cited"),
    *("steps", "reflections", "feedback", "metrics", "playbooks"),  # Neo4j stores no nested values
}


def native(moment: object) -> object:
    """Return a moment as a Python datetime."""
    return moment.to_native() if isinstance(moment, DateTime) else moment


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
    plan = serialized.plan
    if plan.touches is None:
        return {"touches": [], "stamps": [stamps_properties(learner_id, serialized.stamps)]}
    touches = {
        "user_id": learner_id,
        "clock": plan.snapshot.access.access_clock,
        "parent": plan.parent_mark,
        "mark": plan.snapshot.access.mark,
        "touches_json": serialized.touches_json,
        "touches_bytes": serialized.touches_bytes,
    }
    return {"touches": [touches], "stamps": []}


def write_delta(serialized: SerializedPlan, learner_id: str) -> Properties:
    """Return the properties of the delta's node; `content_version` only where it changed the content."""
    plan = serialized.plan
    effect, version = plan.effect, plan.snapshot.version
    link: Properties = {}
    if plan.content_changed:
        link = {"content_version": version.n, "parent": plan.parent.etag, "etag": version.etag}
        link["effect_bytes"] = serialized.effect_bytes
    return {
        "key": commit_key(learner_id, effect.op_id),
        "user_id": learner_id,
        "op_id": effect.op_id,
        "version": version.n,
        "content": plan.content_changed,
        "at": effect.now,
        "author": effect.author,
        "reason": effect.reason,
        "source": effect.source,
        "report_json": serialized.report_json,
        "effect_json": serialized.effect_json,
        **version.label._asdict(),
        **link,
    }


def write_entry(entry: PlaybookEntry) -> Properties:
    """Return the entry of a new playbook as properties of its state; `owner_name` is unique."""
    return {
        "owner": entry.owner or "",
        "name": entry.name,
        "name_key": entry.name_key,
        "owner_name": owner_name(entry.ref),
        "description": entry.description,
        "scope": entry.scope,
        "visibility": entry.visibility,
    }


def owner_name(ref: PlaybookRef) -> str:
    """Return owner and name as one text; the length of the owner keeps two pairs from being one text."""
    owner = ref.owner or ""
    return f"{len(owner)}:{owner}:{ref.key}"


def write_turn(plan: CommitPlan, learner_id: str, record: TurnRecord) -> Properties:
    """Return the properties of a new turn's node."""
    effect = plan.effect
    return turn_properties(record) | {
        "key": commit_key(learner_id, effect.op_id),
        "user_id": learner_id,
        "op_id": effect.op_id,
        "report_json": dump_report(effect.report),
    }


def turn_properties(record: TurnRecord) -> Properties:
    """Return the record as JSON, and as properties what is searched for or useful in Neo4j Browser."""
    searched = record.model_dump(exclude=_NOT_PROPERTIES)
    lists = {"injected": list(record.injected), "cited": list(record.cited)}
    return searched | lists | {"has_steps": bool(record.steps), "record_json": dump_record(record)}


class _DeltaRow(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    n: int
    op_id: str
    at: Annotated[datetime, BeforeValidator(native)]
    author: str
    reason: str
    source: str
    report_json: str
    effect_json: str | None
    major: int | None = None
    minor: int | None = None


def read_entry(row: Row) -> HistoryEntry:
    """Return the history entry of a delta's row. Raises CorruptPayload."""
    delta = _DeltaRow.model_validate(row)
    effect = None if delta.effect_json is None else load_effect(delta.effect_json)
    report = load_report(delta.report_json)
    label = Label(delta.major or 0, delta.minor or 0)
    return HistoryEntry(
        delta.n, delta.op_id, delta.at, delta.author, delta.reason, delta.source, report, effect, label
    )
