"""What the SQLite store does in one transaction of several statements: commit, forget, export."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from ace_graph.memory.commit import (
    Commit,
    begun_at,
    check_age,
    check_expected,
    check_not_forgotten,
)
from ace_graph.memory.pending import Amend, PendingItem
from ace_graph.memory.sharing.asked import Asked
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport, PlaybookExport, SharingExport
from ace_graph.memory.stores.base_and_tail import StateHead
from ace_graph.memory.stores.commit_queue import CommitRequest
from ace_graph.memory.stores.serialized_plan import SerializedPlan
from ace_graph.memory.stores.sqlite.catalogue import (
    add_entry,
    check_right,
    delete_entries,
    read_entries,
    read_entry,
)
from ace_graph.memory.stores.sqlite.connection import writing
from ace_graph.memory.stores.sqlite.pending import amend_turn, check_claimed, read_items, write_pending
from ace_graph.memory.stores.sqlite.rows import (
    delete_learner,
    read_history,
    read_report,
    read_turns,
    unknown_turns,
)
from ace_graph.memory.stores.sqlite.sharing import add_grants, delete_sharing, forget_member, read_sharing
from ace_graph.memory.stores.sqlite.state import read_head, read_snapshot, write
from ace_graph.memory.stores.sqlite.tables import Tables
from ace_graph.off_loop import finish

__all__ = ["delete_all", "read_export", "read_start", "write_commit"]


def read_start(
    tables: Tables, request: CommitRequest, known: Snapshot
) -> Commit | tuple[Snapshot, frozenset[str]]:
    """Return the stored state and the trajectories that are not stored, to plan a commit from.

    The commit itself where it was made before. Run it in one read transaction. Raises LearnerForgotten,
    PlaybookNotFound, PlaybookForbidden.
    """
    learner = request.learner
    if request.asked is not None:
        check_right(tables, request.asked, Right.WRITE)
    newest = read_snapshot(tables, learner, known)
    report = read_report(tables, learner, request.delta.op_id)
    if report is not None:
        return Commit("repeated", newest.version, report, newest)
    check_not_forgotten(request.base.version, newest.version)
    return newest, _unknown(tables, request, newest)


def write_commit(
    tables: Tables, request: CommitRequest, start: Snapshot, planned: SerializedPlan, *, at_last: bool
) -> Commit | None:
    """Commit what was planned from `start`; None where that is no longer the stored state.

    `at_last` it is planned again under the lock then.

    Raises LearnerForgotten, CommitTooOld, TrajectoryNotFound, PlaybookExists, PlaybookChanged,
    PlaybookNotFound, PlaybookForbidden, and what an Amend raises.
    """
    learner, delta = request.learner, request.delta
    planned.prepare(read_head(tables, learner))
    with writing(tables.connection):
        if request.asked is not None:
            check_right(tables, request.asked, Right.WRITE)
        report = read_report(tables, learner, delta.op_id)
        if report is not None:
            now = read_snapshot(tables, learner, start)
            return Commit("repeated", now.version, report, now)
        head = read_head(tables, learner)
        if not _is_current(request.base, start, head):
            if not at_last:
                return None
            check_not_forgotten(request.base.version, head.version)
            newest = read_snapshot(tables, learner, start)
            planned = finish(SerializedPlan.making(request, newest, _unknown(tables, request, newest)))
        if isinstance(request.pending, PendingItem):
            check_claimed(tables, learner, request.pending)  # a stored item was never applied
        else:
            check_age(begun_at(delta, request.new_turn), head.keys_from)
        if isinstance(request.record, Amend):
            amend_turn(tables, learner, request.record)
        write(tables, learner, planned, head)
        for work in (request.pending, planned.plan.scheduled):
            write_pending(tables, learner, work, delta.now)
        if request.entry is not None:
            add_entry(tables, request.entry)
            add_grants(tables, request.grants)
    return planned.plan.commit()


def _unknown(tables: Tables, request: CommitRequest, current: Snapshot) -> frozenset[str]:
    """Return the trajectories that the commit names and the learner, or the playbook's owner, has not."""
    named = request.references(current)
    if not named or tables.namespace == "learners":
        return unknown_turns(tables, request.learner, named)
    entry = request.entry or read_entry(tables, request.learner)
    return unknown_turns(tables.of("learners"), (entry and entry.owner) or "", named)


def _is_current(base: Snapshot, start: Snapshot, head: StateHead) -> bool:
    """Whether a plan from `start` may be written onto `head`. Raises LearnerForgotten."""
    if base.absent and start.version.epoch != head.version.epoch:
        return False  # the learner that the queue knew was forgotten; this caller creates a new one
    check_not_forgotten(start.version, head.version)
    return head.is_of(start)


def delete_all(
    tables: Tables, learner: str, asked: Asked | None = None, expected_etag: str | None = None
) -> bool:
    """Delete what is stored under the key, and empty the write-ahead log, which still holds older states.

    With a learner go the playbooks that the learner owns, the grants to the learner and the memberships in
    teams, with a playbook its entry in the catalogue and the grants on it. Raises PlaybookNotFound and
    PlaybookForbidden for a caller who may not delete the playbook, PlaybookChanged for another etag than
    the expected one.
    """
    with writing(tables.connection):
        if asked is not None:
            check_right(tables, asked, Right.OWN)
        if (held := read_head(tables, learner).version).epoch is not None:
            check_expected(expected_etag, held)
        found = delete_learner(tables, learner)
        for playbook_id in delete_entries(tables, learner):
            delete_sharing(tables, playbook_id)
            found = delete_learner(tables.of("playbooks"), playbook_id) or found
        if tables.namespace == "learners":
            found = forget_member(tables, learner) or found
    with suppress(sqlite3.OperationalError):  # a reader is active: the log is overwritten later
        tables.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return found


def read_export(tables: Tables, learner: str) -> LearnerExport:
    """Return everything stored under the key; run it in one read transaction."""
    named = tables.of("playbooks")
    owned = read_entries(tables, learner) if tables.namespace == "learners" else ()
    return LearnerExport(
        learner,
        read_snapshot(tables, learner, None),
        read_history(tables, learner, everything=True),
        read_turns(tables, learner, -1),
        read_items(tables, learner, None, -1),
        tuple(PlaybookExport(entry, read_export(named, entry.playbook_id)) for entry in owned),
        read_sharing(tables, learner) if tables.namespace == "learners" else SharingExport(),
    )
