"""Converts between the properties of nodes and the values of the memory."""

from __future__ import annotations

import zlib
from datetime import datetime
from typing import Annotated, Any
from uuid import uuid4

from neo4j.time import DateTime
from pydantic import BaseModel, BeforeValidator, ConfigDict

from ace_graph.memory.catalogue.entry import PlaybookEntry
from ace_graph.memory.catalogue.label import stored_label
from ace_graph.memory.catalogue.name import PlaybookRef
from ace_graph.memory.commit import CommitPlan, HistoryEntry, commit_key
from ace_graph.memory.delta.effect import Report
from ace_graph.memory.serialization import (
    dump_access,
    dump_effect,
    dump_playbook,
    dump_record,
    dump_report,
    load_access,
    load_effect,
    load_playbook,
    load_report,
)
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.compaction import CompactionMarks
from ace_graph.memory.stores.neo4j.connection import Row
from ace_graph.memory.turn import TurnRecord

__all__ = [
    "Properties",
    "Reply",
    "checksum",
    "native",
    "owner_name",
    "read_entry",
    "turn_properties",
    "write_delta",
    "write_entry",
    "write_state",
    "write_turn",
]

Properties = dict[str, Any]
"""The properties of a node as the driver takes them: Any, because Neo4j's types have no common base."""

_NOT_PROPERTIES = {
    *("task", "answer", "answer_hash", "evidence", "injected", "cited"),
    *("steps", "reflections", "feedback", "metrics", "playbooks"),  # Neo4j stores no nested values
}


def native(moment: object) -> object:
    """Return a moment as a Python datetime."""
    return moment.to_native() if isinstance(moment, DateTime) else moment


class Reply(BaseModel):
    """A row with a state in it; `epoch` is None where there is none.

    `known`: the caller has this content already. `seq` counts how often the lock was taken; None: it was not
    held while this was read. `fresh`: the plan was written. `repeated` is the report of an operation that was
    applied before. `base_version` and `next_base_version` are the compaction marks. Keys from before
    `keys_from` were removed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    epoch: str | None
    version: int | None
    etag: str | None
    checksum: int | None
    access_clock: int | None
    access_json: str | None
    base_version: int | None
    next_base_version: int | None
    memory_json: str | None
    known: bool = False
    seq: int | None = None
    fresh: bool = False
    repeated: str | None = None
    keys_from: float | None = None
    major: int | None = None
    minor: int | None = None

    def snapshot(self, known: Snapshot) -> Snapshot | None:
        """Return the state; None for an inconsistent read, made while another transaction wrote it.

        Readers in Neo4j take no lock, so one may get the etag of one commit and the content of the next
        (measured: a few of a thousand reads beside a constant writer). The checksum covers both.
        Raises CorruptPayload, NewerFormat.
        """
        if self.epoch is None:
            return Snapshot()
        n = self.version or 0
        version = Version(self.epoch, n, self.etag or "", stored_label(n, self.major, self.minor))
        if self.known:
            return Snapshot(known.playbook, load_access(self.access_json), known.version)
        if not self.locked and self.checksum != checksum(version, self.memory_json or ""):
            return None
        content = load_playbook(self.memory_json, known.playbook)
        return Snapshot(content, load_access(self.access_json), version)

    @property
    def locked(self) -> bool:
        """Whether the learner's lock was held."""
        return self.seq is not None

    @property
    def marks(self) -> CompactionMarks:
        """The compaction marks of the history."""
        return CompactionMarks(self.base_version or 0, self.next_base_version)

    def report(self) -> Report | None:
        """Return the report of the operation, where it was applied before. Raises CorruptPayload."""
        return None if self.repeated is None else load_report(self.repeated)


def checksum(version: Version, memory_json: str) -> int:
    """Return the checksum of an etag and the content that belongs to it."""
    named = zlib.crc32(f"{version.n} {version.etag}".encode())
    return zlib.crc32(memory_json.encode("utf-8", "surrogatepass"), named)


def write_state(plan: CommitPlan, learner_id: str, *, create: bool) -> Properties:
    """Return the properties to set on the state node; the content only where it changed."""
    version, access, now = plan.snapshot.version, plan.snapshot.access, plan.effect.now
    state: Properties = {
        "access_json": dump_access(access),
        "access_clock": access.access_clock,
        "updated_at": now,
    }
    if plan.content_changed or create:
        content = dump_playbook(plan.snapshot.playbook)
        state |= {"memory_json": content, "version": version.n, "etag": version.etag}
        state |= version.label._asdict()
        state["checksum"] = checksum(version, content)
    if create:
        state |= {"id": str(uuid4()), "user_id": learner_id, "epoch": version.epoch, "created_at": now}
        state["base_version"] = 0
    return state


def write_delta(plan: CommitPlan, learner_id: str) -> Properties:
    """Return the properties of the delta's node."""
    effect = plan.effect
    return {
        "key": commit_key(learner_id, effect.op_id),
        "user_id": learner_id,
        "op_id": effect.op_id,
        "version": plan.snapshot.version.n,
        "content": plan.content_changed,
        "at": effect.now,
        "author": effect.author,
        "reason": effect.reason,
        "source": effect.source,
        "report_json": dump_report(effect.report),
        "effect_json": dump_effect(effect),
        **plan.snapshot.version.label._asdict(),
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
    label = stored_label(delta.n, delta.major, delta.minor)
    return HistoryEntry(
        delta.n, delta.op_id, delta.at, delta.author, delta.reason, delta.source, report, effect, label
    )
