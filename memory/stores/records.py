"""What the stores keep in rows, or in nodes, as records of the memory, and records as columns.

Rows have the same columns in the same order in all stores; the statements are each store's own. In the SQL
stores times are ISO texts, in Neo4j they are the driver's; everywhere they are seconds since 1970 where they
are compared with a caller's.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from ace_graph.memory.catalogue import PlaybookEntry
from ace_graph.memory.commit import HistoryEntry, Pending, PendingItem
from ace_graph.memory.serialization import dump_record, load_effect, load_report
from ace_graph.memory.sharing import Grant, Proposal, stored_relation, stored_subject
from ace_graph.memory.snapshot import Label, Version
from ace_graph.memory.stores.base import LearnerSummary, StoredVersion
from ace_graph.memory.stores.whole import WholeDelta

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ace_graph.memory.turn import TurnRecord

Row = tuple[Any, ...]  # Any: whatever the statement selects

ITEM_COLUMNS = (
    "user_id, pending_id, turn_id, body, priority, state, attempts, created_at, free_at, lease, owner, error"
)
CATALOGUE_COLUMNS = "playbook_id, owner, name, description, scope, visibility, lessons"
ENTRY_COLUMNS = "created_at, updated_at, epoch, version, etag, major, minor"
SUMMARY_COLUMNS = "user_id, version, created_at, updated_at"
GRANT_COLUMNS = "playbook_id, subject, relation, granted_by, at"
HISTORY_COLUMNS = "version, op_id, at, author, reason, source, report_json, effect_json, major, minor"
_SEARCHED = ("status", "verdict", "agent", "task_type", "parent_id", "deleted")
VERSION_COLUMNS = "version, major, minor, at, author, reason, op_id"


DELTA_COLUMNS = (
    "op_id, version, content_changed, at, author, reason, source, report_json, effect_json, effect_bytes, "
    "parent, etag, major, minor"
)


def moment(stored: Any) -> datetime:  # Any: a text, or what Neo4j's driver returns
    """Return a stored time."""
    if hasattr(stored, "to_native"):
        return cast("datetime", stored.to_native())
    return stored if isinstance(stored, datetime) else datetime.fromisoformat(stored)


def columns(names: str, values: Iterable[object]) -> dict[str, object]:
    """Return the values by the names of their columns."""
    return dict(zip(names.split(", "), values, strict=True))


def item_of(row: Row) -> PendingItem:
    """Return the pending item in the columns `ITEM_COLUMNS`."""
    fields = columns(ITEM_COLUMNS, row)
    fields["learner_id"] = fields.pop("user_id")
    for name in ("created_at", "free_at"):
        fields[name] = datetime.fromtimestamp(float(str(fields[name])), UTC)
    return PendingItem.model_validate(fields)


def item_columns(item: PendingItem) -> dict[str, object]:
    """Return the columns of stored pending work, but for its learner."""
    times = {"created_at": item.created_at.timestamp(), "free_at": item.free_at.timestamp()}
    return {**item.model_dump(exclude={"learner_id"}), **times}


def new_item(learner: str, pending: Pending, now: datetime) -> dict[str, object]:
    """Return the columns of new pending work."""
    times = {"created_at": now.timestamp(), "free_at": now.timestamp()}
    return {"user_id": learner, **pending.model_dump(), "state": "pending", "attempts": 0, **times}


def entry_of(named: Row, state: Row) -> PlaybookEntry:
    """Return the entry in the columns `CATALOGUE_COLUMNS`, and `ENTRY_COLUMNS` of its state."""
    playbook_id, owner, name, description, scope, visibility, lessons = named
    created, updated, epoch, n, etag, major, minor = state
    about = description, scope, visibility, lessons, Version(epoch, n, etag, Label(major, minor))
    return PlaybookEntry(playbook_id, owner or None, name, moment(created), moment(updated), *about)


def entry_columns(entry: PlaybookEntry) -> dict[str, object]:
    """Return what only the catalogue holds of an entry, but for its id."""
    same = ("name", "name_key", "description", "scope", "visibility", "lessons")
    return {"owner": entry.owner or "", **{name: getattr(entry, name) for name in same}}


def grant_of(row: Row) -> Grant:
    """Return the grant in the columns `GRANT_COLUMNS`."""
    playbook_id, subject, relation, by, at = row
    return Grant(stored_subject(subject), stored_relation(relation), playbook_id, by, moment(at))


def grant_columns(grant: Grant) -> dict[str, object]:
    """Return the columns of a grant."""
    values = grant.playbook_id, str(grant.subject), grant.relation, grant.by, grant.at.isoformat()
    return columns(GRANT_COLUMNS, values)


def proposal_columns(proposal: Proposal) -> dict[str, object]:
    """Return the columns of a proposal."""
    return {
        "playbook_id": proposal.playbook_id,
        "proposal_id": proposal.proposal_id,
        "proposer": proposal.by,
        "state": proposal.state,
        "proposal_json": proposal.model_dump_json(),
    }


def history_entry_of(row: Row) -> HistoryEntry:
    """Return the entry of a history in the columns `HISTORY_COLUMNS`. Raises CorruptPayload, NewerFormat."""
    n, op_id, at, author, reason, source, report, effect, major, minor = row
    change = None if effect is None else load_effect(effect)
    label, when = Label(major or 0, minor or 0), moment(at)
    return HistoryEntry(n, op_id, when, author, reason, source, load_report(report), change, label)


def stored_version_of(row: Row, *, base: int, kept: Collection[int]) -> StoredVersion:
    """Return the version in the columns `VERSION_COLUMNS`; content is kept from `base` on, and of `kept`."""
    n, major, minor, at, author, reason, op_id = row
    label, readable = Label(major or 0, minor or 0), n >= base or n in kept
    return StoredVersion(n, label, moment(at), author, reason, op_id, readable)


def summary_of(row: Row) -> LearnerSummary:
    """Return a line of the list of learners: id, version, created, changed, last turn."""
    learner, version, created, changed, last = row
    times = moment(created), moment(changed), None if last is None else moment(last)
    return LearnerSummary(learner, version, *times)


def delta_of(row: Row) -> WholeDelta:
    """Return the commit in the columns `DELTA_COLUMNS`."""
    op_id, n, changed, at, author, reason, source, report, effect, size, parent, etag, major, minor = row
    how = author, reason, source, report, effect, size or 0, parent or "", etag or ""
    return WholeDelta(op_id, n, bool(changed), moment(at), *how, Label(major or 0, minor or 0))


def delta_columns(delta: WholeDelta) -> dict[str, object]:
    """Return the columns `DELTA_COLUMNS` of a commit."""
    return columns(DELTA_COLUMNS, (*delta[:3], delta.at.isoformat(), *delta[4:-1], *delta.label))


def turn_columns(record: TurnRecord) -> dict[str, object]:
    """Return the columns of a turn's record that never change."""
    same = ("turn_id", "conversation_id", "mode", "topic")
    return {**{name: getattr(record, name) for name in same}, "started_at": record.started_at.isoformat()}


def record_columns(record: TurnRecord) -> dict[str, object]:
    """Return the columns of a turn's record that an amendment may change, the record itself among them."""
    return {
        **{name: getattr(record, name) for name in _SEARCHED},
        "record_json": dump_record(record),
        "completed_at": None if record.completed_at is None else record.completed_at.isoformat(),
        "has_steps": bool(record.steps),
    }
