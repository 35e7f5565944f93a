"""The Cypher statements that save round trips; input is always a parameter, never in the text.

Writers take the lock of a key by writing to its `AceLock` node. The lock is a node of its own: with the state
node as the lock, attaching a delta to it deadlocks under contention (80 commits of 20 writers: about 1,000
deadlocks; with the lock node none). `l.seq IS NOT NULL` means "the lock is held": see rows.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, LiteralString, TypeVar, cast

from pydantic import BeforeValidator, InstanceOf

from ace_graph.base.frozen import Frozen
from ace_graph.base.tables import named_texts
from ace_graph.memory.catalogue import AttachedPlaybook, PlaybookRef, WantedPlaybook
from ace_graph.memory.delta.effect import Report
from ace_graph.memory.serialization import dump_record, load_report
from ace_graph.memory.sharing import Grant
from ace_graph.memory.snapshot import Label, Snapshot, Version
from ace_graph.memory.stores.records import grant_of
from ace_graph.memory.stores.snapshot_and_log import (
    EMPTY_BASE,
    NO_STAMPS,
    StateHead,
    StoredBase,
    StoredEffect,
    StoredStamps,
    StoredState,
    StoredTouches,
    content_of,
)
from ace_graph.memory.stores.states import head_of, missing_content
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


# Converts between the properties of nodes and the values of the memory.


T = TypeVar("T")
Properties = dict[str, Any]
"""The properties of a node as the driver takes them: Any, because Neo4j's types have no common base."""
_NOT_PROPERTIES = {
    *("task", "answer", "answer_hash", "evidence"),
    # Neo4j stores no nested values
    *("steps", "reflections", "feedback", "metrics", "playbooks", "learned_into"),
}


def _parts_of(row: object, kind: Callable[..., T]) -> T | None:
    return None if row is None else kind(*cast("list[Any]", row))  # Any: what a node holds, as it was written


class Parts(Frozen):
    """The parts of a state that were read. Without a base, or stamps, the rest follows what is known."""

    follows: bool = False
    base: Annotated[StoredBase | None, BeforeValidator(lambda row: _parts_of(row, StoredBase))] = None
    effects: tuple[StoredEffect, ...] = ()
    used: bool = False
    stamps: Annotated[StoredStamps | None, BeforeValidator(lambda row: _parts_of(row, StoredStamps))] = None
    touches: tuple[StoredTouches, ...] = ()


class Reply(Frozen):
    """A row with a state in it; `head` is None where there is none.

    `seq` counts how often the lock was taken; None: it was not held while this was read. `repeated` is the
    report of an operation that was applied before.
    """

    head: Annotated[
        InstanceOf[StateHead] | None, BeforeValidator(lambda row: head_of(row) if row[0] else None)
    ]
    access_json: str | None
    parts: Parts | None = None
    seq: int | None = None
    repeated: str | None = None

    def snapshot(self, known: Snapshot) -> Snapshot:
        """Return the state.

        Readers in Neo4j take no lock, so one may get parts of several commits, and what is known may be of a
        history that a restored backup has replaced. Raises IncompleteState then, CorruptPayload, NewerFormat.
        """
        head, parts = self.head, self.parts or Parts()
        if head is None:
            return Snapshot()
        if not parts.follows and parts.base is None and head.base_n:
            raise missing_content(head.base_n)
        return StoredState(
            head.version,
            self.access_json or "",
            head.access_mark,
            None if parts.follows else parts.base or EMPTY_BASE,
            parts.effects,
            None if parts.used else parts.stamps or NO_STAMPS,
            parts.touches,
        ).snapshot(known)

    def report(self) -> Report | None:
        """Return the report of the operation, where it was applied before. Raises CorruptPayload."""
        return None if self.repeated is None else load_report(self.repeated)


class AttachedRow(Frozen):
    """A playbook that was wanted, and its place among them. The content is missing where it is known."""

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
        content, label = None, Label(self.major or 0, self.minor or 0)
        version = Version(self.epoch, self.version, self.etag, label)
        if self.parts is not None:
            if self.parts.base is None and self.content_base:
                raise missing_content(self.content_base)
            content = content_of(self.parts.base or EMPTY_BASE, self.parts.effects, version)
        owner = self.owner or None
        return AttachedPlaybook(self.playbook_id, self.name, version, content, owner, self.grants)


def known_parameter(known: Snapshot) -> Properties:
    """Return the parameter `$known`: what a reader has already."""
    version, access = known.version, known.access
    clock = access.access_clock if access.mark else -1
    of_content = {"epoch": version.epoch, "n": version.n, "etag": version.etag}
    return {**of_content, "clock": clock, "mark": access.mark}


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


def turn_properties(record: TurnRecord) -> Properties:
    """Return the record as JSON, and as properties what is searched for or useful in Neo4j Browser."""
    searched = record.model_dump(exclude=_NOT_PROPERTIES)
    return searched | {"has_steps": bool(record.steps), "record_json": dump_record(record)}
