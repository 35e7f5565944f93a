"""The columns of the SQL stores (SQLite, PostgreSQL) as records of the memory, and records as columns.

Times are ISO texts, or seconds since 1970 where they are compared with a caller's. The statements are each
store's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import cast

from ace_graph.memory.catalogue import PlaybookEntry, Scope, Visibility
from ace_graph.memory.commit import HistoryEntry, Pending, PendingItem
from ace_graph.memory.serialization import dump_record, load_effect, load_report
from ace_graph.memory.sharing import Grant, Subject, stored_relation
from ace_graph.memory.snapshot import Label, Version
from ace_graph.memory.stores.base import LearnerSummary, StoredVersion
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord

Row = tuple[object, ...]

ITEM_COLUMNS = (
    "user_id, pending_id, turn_id, body, priority, state, attempts, created_at, free_at, lease, owner, error"
)
ENTRY_COLUMNS = (
    "c.playbook_id, c.owner, c.name, s.created_at, s.updated_at, c.description, c.scope, c.visibility, "
    "s.epoch, s.version, s.etag, s.major, s.minor"
)
GRANT_COLUMNS = "playbook_id, subject, relation, granted_by, at"
HISTORY_COLUMNS = "version, op_id, at, author, reason, source, report_json, effect_json, major, minor"
VERSION_COLUMNS = "version, major, minor, at, author, reason, op_id"


def item_of(row: Row) -> PendingItem:
    """Return the pending item in the columns `ITEM_COLUMNS`."""
    fields = dict(zip(ITEM_COLUMNS.split(", "), row, strict=True))
    fields["learner_id"] = fields.pop("user_id")
    for name in ("created_at", "free_at"):
        fields[name] = datetime.fromtimestamp(float(str(fields[name])), UTC)
    return PendingItem.model_validate(fields)


def new_item(learner: str, pending: Pending, now: datetime) -> dict[str, object]:
    """Return the columns of new pending work."""
    return {
        "user_id": learner,
        "pending_id": pending.pending_id,
        "turn_id": pending.turn_id,
        "body": pending.body,
        "priority": pending.priority,
        "state": "pending",
        "attempts": 0,
        "created_at": now.timestamp(),
        "free_at": now.timestamp(),
    }


def entry_of(row: Row) -> PlaybookEntry:
    """Return the catalogue's entry in the columns `ENTRY_COLUMNS`."""
    playbook_id, owner, name, created, updated, description, scope, visibility, *version = row
    epoch, n, etag, major, minor = cast("tuple[str, int, str, int, int]", tuple(version))
    return PlaybookEntry(
        str(playbook_id),
        str(owner) or None,
        str(name),
        datetime.fromisoformat(str(created)),
        datetime.fromisoformat(str(updated)),
        str(description),
        cast("Scope", scope),
        cast("Visibility", visibility),
        Version(epoch, n, etag, Label(major, minor)),
    )


def grant_of(row: Row) -> Grant:
    """Return the grant in the columns `GRANT_COLUMNS`."""
    playbook_id, subject, relation, by, at = map(str, row)
    kind, _, name = subject.partition(":")
    whom = Subject("team" if kind == "team" else "user", name)
    return Grant(whom, stored_relation(relation), playbook_id, by, datetime.fromisoformat(at))


def grant_row(grant: Grant) -> Row:
    """Return the columns `GRANT_COLUMNS` of a grant."""
    return grant.playbook_id, str(grant.subject), grant.relation, grant.by, grant.at.isoformat()


def history_entry_of(row: Row) -> HistoryEntry:
    """Return the entry of a history in the columns `HISTORY_COLUMNS`. Raises CorruptPayload, NewerFormat."""
    n, op_id, at, author, reason, source, report, effect, major, minor = cast(
        "tuple[int, str, str, str, str, str, str, str | None, int, int]", row
    )
    return HistoryEntry(
        n,
        op_id,
        datetime.fromisoformat(at),
        author,
        reason,
        source,
        load_report(report),
        None if effect is None else load_effect(effect),
        Label(major, minor),
    )


def stored_version_of(row: Row, *, base: int, kept: set[int]) -> StoredVersion:
    """Return the version in the columns `VERSION_COLUMNS`; content is kept from `base` on, and of `kept`."""
    n, major, minor, at, author, reason, op_id = cast("tuple[int, int, int, str, str, str, str]", row)
    label, readable = Label(major, minor), n >= base or n in kept
    return StoredVersion(n, label, datetime.fromisoformat(at), author, reason, op_id, readable)


def summary_of(row: Row) -> LearnerSummary:
    """Return a line of the list of learners: id, version, created, changed, last turn."""
    learner, version, created, changed, last = cast("tuple[str, int, str, str, str | None]", row)
    return LearnerSummary(
        learner,
        version,
        datetime.fromisoformat(created),
        datetime.fromisoformat(changed),
        None if last is None else datetime.fromisoformat(last),
    )


def turn_columns(record: TurnRecord) -> dict[str, object]:
    """Return the columns of a turn's record that never change."""
    return {
        "turn_id": record.turn_id,
        "conversation_id": record.conversation_id,
        "mode": record.mode,
        "topic": record.topic,
        "started_at": record.started_at.isoformat(),
    }


def record_columns(record: TurnRecord) -> dict[str, object]:
    """Return the columns of a turn's record that an amendment may change, the record itself among them."""
    return {
        "record_json": dump_record(record),
        "status": record.status,
        "verdict": record.verdict,
        "completed_at": None if record.completed_at is None else record.completed_at.isoformat(),
        "agent": record.agent,
        "task_type": record.task_type,
        "parent_id": record.parent_id,
        "deleted": record.deleted,
        "has_steps": bool(record.steps),
    }


def turn_conditions(wanted: TrajectoryFilter) -> Iterator[tuple[str, str, object]]:
    """Return column, comparison and value of each condition of a filter, but for its `turn_ids`."""
    for name in ("turn_id", "agent", "task_type", "status", "parent_id"):
        if getattr(wanted, name) is not None:
            yield name, "=", getattr(wanted, name)
    # As text in UTC: texts with different offsets would not sort by time.
    if wanted.since is not None:
        yield "completed_at", ">=", wanted.since.astimezone(UTC).isoformat()
    if wanted.until is not None:
        yield "completed_at", "<=", wanted.until.astimezone(UTC).isoformat()
