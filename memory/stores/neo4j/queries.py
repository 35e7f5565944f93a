"""The Cypher statements that save round trips; input is always a parameter, never in the text.

Writers take the lock of a key by writing to its `AceLock` node. The lock is a node of its own: with the state
node as the lock, attaching a delta to it deadlocks under contention (80 commits of 20 writers: about 1,000
deadlocks; with the lock node none). `l.seq IS NOT NULL` means "the lock is held": see rows.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Annotated, Any, LiteralString, TypeVar, cast
from uuid import uuid4

from pydantic import BaseModel, BeforeValidator, ConfigDict, InstanceOf

from ace_graph.base.errors import IncompleteState
from ace_graph.base.tables import named_texts
from ace_graph.memory.catalogue import AttachedPlaybook, PlaybookRef, WantedPlaybook
from ace_graph.memory.commit import Pending, begun_at, commit_key
from ace_graph.memory.delta.effect import Report
from ace_graph.memory.serialization import dump_record, load_report
from ace_graph.memory.sharing import Grant
from ace_graph.memory.snapshot import Label, Snapshot, Version
from ace_graph.memory.stores.commit_queue import CommitRequest, SerializedPlan
from ace_graph.memory.stores.records import delta_columns, grant_of, new_item
from ace_graph.memory.stores.snapshot_and_log import (
    EMPTY_BASE,
    LEAST_TAIL,
    LEAST_TOUCHES,
    NO_STAMPS,
    CompactionMarks,
    Sizes,
    StateHead,
    StoredBase,
    StoredEffect,
    StoredStamps,
    StoredState,
    StoredTouches,
    content_of,
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


CHANGED = statement("graph.CHANGED")
LOAD = statement("queries.LOAD")
LOAD_ATTACHED = statement("queries.LOAD_ATTACHED")
UPDATE = statement("queries.UPDATE")
CREATE = statement("queries.CREATE")
LOCK = statement("queries.LOCK")
WRITE = statement("queries.WRITE")
BEGIN_OWNED = statement("queries.BEGIN_OWNED")
BEGIN_NAMED = statement("queries.BEGIN_NAMED")
DELETE_LEARNER = statement("queries.DELETE_LEARNER")
LAST_TURNS = statement("queries.LAST_TURNS")
STAGED = statement("queries.STAGED")
UNSTAGE = statement("queries.UNSTAGE")
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


class AttachedRow(BaseModel):
    """A playbook that was wanted, and its place among them. The content is missing where it is known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    playbook_id: str
    name: str
    epoch: str
    version: int
    etag: str
    major: int | None
    minor: int | None
    place: int
    content_base: int | None
    parts: Parts | None
    owner: str
    grants: tuple[Annotated[InstanceOf[Grant], BeforeValidator(grant_of)], ...]

    def attached(self) -> AttachedPlaybook:
        """Return the playbook.

        Raises IncompleteState where another transaction wrote it while it was read; see `Reply.snapshot`.
        """
        content = None
        if self.parts is not None:
            base = self.parts.base or (None if self.content_base else EMPTY_BASE)
            content = content_of(base, self.parts.effects, self._version())
        version, owner = self._version(), self.owner or None
        return AttachedPlaybook(self.playbook_id, self.name, version, content, owner, self.grants)

    def _version(self) -> Version:
        label = Label(self.major or 0, self.minor or 0)
        return Version(self.epoch, self.version, self.etag, label)


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


def new_id() -> str:
    """Return the id of a new state's node, for people."""
    return str(uuid4())


def fresh_parameters(request: CommitRequest, serialized: SerializedPlan) -> Properties:
    """Return the parameters of CREATE and UPDATE, which compare the state that a plan was made from."""
    plan, learner = serialized.plan, request.learner
    create = plan.parent.epoch is None
    work = (request.pending, plan.scheduled)
    parameters = plan_parameters(learner, serialized)
    if create:
        now, epoch = plan.effect.now, plan.snapshot.version.epoch
        parameters["state"] |= {"id": new_id(), "user_id": learner, "epoch": epoch, "created_at": now}
        parameters["state"] |= {"history_base": 0, "content_base": 0, "base_bytes": 0, "stamps_bytes": 0}
        parameters["state"] |= {
            "effects_bytes": serialized.effect_bytes,
            "touches_bytes": serialized.touches_bytes,
        }
    return {
        **parameters,
        "uid": learner,
        "key": request.key,
        "known": {
            "epoch": plan.parent.epoch,
            "n": plan.parent.n,
            "etag": plan.parent.etag,
            "clock": plan.parent_clock,
            "mark": plan.parent_mark,
        },
        "begun": begun_at(request.delta, request.new_turn).timestamp(),
        "bases": [base_properties(learner, serialized.base)] if create and not plan.content_changed else [],
        "pending": [_item(learner, item, plan.effect.now) for item in work if isinstance(item, Pending)],
        "kept": serialized.kept,
        "least_tail": LEAST_TAIL,
        "least_touches": LEAST_TOUCHES,
    }


def _item(learner: str, pending: Pending, now: datetime) -> Properties:
    return {**new_item(learner, pending, now), "key": commit_key(learner, pending.pending_id)}


def plan_parameters(learner: str, serialized: SerializedPlan) -> Properties:
    """Return the parameters of a plan that folds nothing; `etag` is set where it changes the content."""
    plan, touched = serialized.plan, serialized.touched
    version, access = plan.snapshot.version, plan.snapshot.access
    state: Properties = {
        "access_json": serialized.access_json,
        "access_clock": access.access_clock,
        "access_mark": access.mark,
        "updated_at": plan.effect.now,
    }
    if plan.content_changed or plan.parent.epoch is None:
        state |= {"version": version.n, "etag": version.etag, **version.label._asdict()}
    return {
        "state": state,
        "content_changed": plan.content_changed,
        "deltas": [delta_properties(learner, serialized.delta)] if serialized.in_history else [],
        "turns": (
            []
            if serialized.record is None
            else [turn_node(learner, serialized.turn(serialized.record), serialized.record)]
        ),
        "touches": [] if touched is None else [touches_properties(learner, touched)],
        "effect_bytes": serialized.effect_bytes,
        "touches_bytes": serialized.touches_bytes,
        "bases": [],
        "pending": [],
    }


def touches_properties(learner_id: str, touched: WholeTouches) -> Properties:
    """Return the properties of the node of touches."""
    clock, (parent, mark, text) = touched
    values = {"clock": clock, "parent": parent, "mark": mark, "touches_json": text}
    return {"user_id": learner_id, **values}


def delta_properties(learner_id: str, delta: WholeDelta) -> Properties:
    """Return the properties of a delta's node; `content_version` only where it changed the content."""
    stored = delta_columns(delta)
    stored["content"] = stored.pop("content_changed")
    if delta.content_changed and delta.etag:
        stored["content_version"] = delta.n
    return {**stored, "at": delta.at, "key": commit_key(learner_id, delta.op_id), "user_id": learner_id}


def wanted_rows(wanted: Sequence[WantedPlaybook]) -> list[Properties]:
    """Return the parameter of LOAD_ATTACHED."""
    return [
        {
            "place": place,
            "owner_name": owner_name(asked.ref),
            "epoch": asked.known.epoch,
            "etag": asked.known.etag,
            "subjects": list(asked.subjects),
        }
        for place, asked in enumerate(wanted)
    ]


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
