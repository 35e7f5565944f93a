"""The columns of the SQL stores (SQLite, PostgreSQL) as a whole memory, and back.

The statements are each store's own; so are the keys, the numbers that put rows in order, and the tables of
named playbooks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from ace_graph.memory.catalogue.label import stored_label
from ace_graph.memory.pending import PendingItem
from ace_graph.memory.serialization import load_record
from ace_graph.memory.stores.base_and_tail import StoredBase, StoredStamps, StoredTouches
from ace_graph.memory.stores.records import item_of, record_columns, turn_columns
from ace_graph.memory.stores.state_columns import HEAD_COLUMNS, head_of
from ace_graph.memory.stores.whole import WholeDelta, WholeMemory, WholeTouches, WholeTurn

__all__ = [
    "BASE_COLUMNS",
    "DELTA_COLUMNS",
    "STAMPS_COLUMNS",
    "STATE_COLUMNS",
    "TOUCHES_COLUMNS",
    "TURN_COLUMNS",
    "WholeRows",
    "delta_columns",
    "item_columns",
    "memory_of",
    "state_columns",
    "whole_turn_columns",
]

STATE_COLUMNS = f"access_json, created_at, updated_at, {HEAD_COLUMNS}"
BASE_COLUMNS = "version, etag, checksum, memory_json"
STAMPS_COLUMNS = "mark, checksum, stamps_json"
TOUCHES_COLUMNS = "clock, parent, mark, touches_json"
TURN_COLUMNS = "op_id, report_json, record_json"

_Row = tuple[Any, ...]  # Any: whatever a statement selects
_Number = int | None
_Text = str | None
_DeltaRow = tuple[str, int, bool, str, str, str, str, str, _Text, int, _Text, _Text, _Number, _Number]
DELTA_COLUMNS = (
    "op_id, version, content_changed, at, author, reason, source, report_json, effect_json, effect_bytes, "
    "parent, etag, major, minor"
)


@dataclass(frozen=True)
class WholeRows:
    """The rows under one key, in the columns above; pending work in those of `records.ITEM_COLUMNS`."""

    state: _Row
    bases: Iterable[_Row]
    stamps: _Row | None
    touches: Iterable[_Row]
    deltas: Iterable[_Row]
    turns: Iterable[_Row]
    pending: Iterable[_Row]


def memory_of(rows: WholeRows) -> WholeMemory:
    """Return the memory in these rows, without the fields of a named playbook."""
    access_json, created, updated, *head = rows.state
    return WholeMemory(
        head_of(head),
        access_json,
        datetime.fromisoformat(created),
        datetime.fromisoformat(updated),
        tuple(StoredBase(*row) for row in rows.bases),
        None if rows.stamps is None else StoredStamps(*rows.stamps),
        tuple(WholeTouches(clock, StoredTouches(*rest)) for clock, *rest in rows.touches),
        tuple(map(_delta_of, rows.deltas)),
        tuple(WholeTurn(*row) for row in rows.turns),
        tuple(map(item_of, rows.pending)),
    )


def state_columns(memory: WholeMemory) -> dict[str, object]:
    """Return the columns of a state, but for its key."""
    head = memory.head
    version, content, access = head.version, head.content, head.access
    return {
        "epoch": version.epoch,
        "version": version.n,
        "etag": version.etag,
        "major": version.label.major,
        "minor": version.label.minor,
        "access_json": memory.access_json,
        "access_clock": head.access_clock,
        "access_mark": head.access_mark,
        "base_version": head.marks.base,
        "next_base_version": head.marks.next,
        "content_base": head.base_n,
        "base_bytes": content.base,
        "effects_bytes": content.tail,
        "stamps_bytes": access.base,
        "touches_bytes": access.tail,
        "keys_from": head.keys_from,
        "created_at": memory.created_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
    }


def _delta_of(row: _Row) -> WholeDelta:
    """Return the delta in the columns `DELTA_COLUMNS`; those of old versions have no etags."""
    op_id, n, changed, at, author, reason, source, report, effect, size, parent, etag, major, minor = cast(
        "_DeltaRow", row
    )
    return WholeDelta(
        op_id,
        n,
        bool(changed),
        datetime.fromisoformat(at),
        author,
        reason,
        source,
        report,
        effect,
        size,
        parent or "",
        etag or "",
        stored_label(n, major, minor),
    )


def delta_columns(delta: WholeDelta) -> dict[str, object]:
    """Return the columns of a delta, but for its key."""
    return {
        "op_id": delta.op_id,
        "version": delta.n,
        "content_changed": delta.content_changed,
        "at": delta.at.isoformat(),
        "author": delta.author,
        "reason": delta.reason,
        "source": delta.source,
        "report_json": delta.report_json,
        "effect_json": delta.effect_json,
        "effect_bytes": delta.effect_bytes,
        "parent": delta.parent,
        "etag": delta.etag,
        "major": delta.label.major,
        "minor": delta.label.minor,
    }


def whole_turn_columns(turn: WholeTurn) -> dict[str, object]:
    """Return the columns of a turn, but for its key; the record's text stays as it was stored."""
    record = load_record(turn.record_json)
    columns = {**turn_columns(record), **record_columns(record)}
    return {**columns, "op_id": turn.op_id, "report_json": turn.report_json, "record_json": turn.record_json}


def item_columns(item: PendingItem) -> dict[str, object]:
    """Return the columns of pending work, but for its key."""
    columns = item.model_dump(exclude={"learner_id"})
    return {
        **columns,
        "created_at": item.created_at.timestamp(),
        "free_at": item.free_at.timestamp(),
    }
