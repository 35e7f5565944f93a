"""What the SQLite store does in one transaction of several statements: commit, forget, export."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from ace_graph.memory.commit import Commit, begun_at, check_age, check_not_forgotten, is_current
from ace_graph.memory.pending import Amend, PendingItem
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport
from ace_graph.memory.stores.commit_queue import CommitRequest
from ace_graph.memory.stores.sqlite.connection import writing
from ace_graph.memory.stores.sqlite.pending import amend_turn, check_claimed, read_items, write_pending
from ace_graph.memory.stores.sqlite.rows import (
    Head,
    SerializedPlan,
    delete_learner,
    read_head,
    read_history,
    read_report,
    read_snapshot,
    read_turns,
    unknown_turns,
    write,
)

__all__ = ["delete_all", "read_export", "write_commit"]


def write_commit(connection: sqlite3.Connection, request: CommitRequest, start: Snapshot) -> Commit:
    """Commit. The first plan, made before the lock is taken, is from `start`, the newest in the queue.

    A delta that names older trajectories is planned under the lock, where they are looked up.
    Raises LearnerForgotten, CommitTooOld, TrajectoryNotFound, and what an Amend raises.
    """
    learner, delta = request.learner, request.delta
    planned = None if request.references(start) else SerializedPlan(request.plan(start), request.new_turn)
    with writing(connection):
        report = read_report(connection, learner, delta.op_id)
        if report is not None:
            now = read_snapshot(connection, learner, start)
            return Commit("repeated", now.version, report, now)
        head = read_head(connection, learner)
        if planned is None or not _is_current(request.base, start, head):
            check_not_forgotten(request.base.version, head.version)
            newest = read_snapshot(connection, learner, start)
            unknown = unknown_turns(connection, learner, request.references(newest))
            planned = SerializedPlan(request.plan(newest, unknown), request.new_turn)
        if isinstance(request.pending, PendingItem):
            check_claimed(connection, learner, request.pending)  # a stored item was never applied
        else:
            check_age(begun_at(delta, request.new_turn), head.keys_from)
        if isinstance(request.record, Amend):
            amend_turn(connection, learner, request.record)
        write(connection, learner, planned, head.marks, request.policy.history_kept)
        write_pending(connection, learner, request.pending, delta.now)
    return planned.plan.commit()


def _is_current(base: Snapshot, start: Snapshot, head: Head) -> bool:
    """Whether a plan from `start` may be written onto `head`. Raises LearnerForgotten."""
    if base.absent and start.version.epoch != head.version.epoch:
        return False  # the learner that the queue knew was forgotten; this caller creates a new one
    clock = start.access.access_clock
    return is_current(start.version, head.version, base_clock=clock, clock=head.access_clock)


def delete_all(connection: sqlite3.Connection, learner: str) -> bool:
    """Delete the learner's rows, and empty the write-ahead log, which still holds older states of them."""
    with writing(connection):
        found = delete_learner(connection, learner)
    with suppress(sqlite3.OperationalError):  # a reader is active: the log is overwritten later
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return found


def read_export(connection: sqlite3.Connection, learner: str) -> LearnerExport:
    """Return everything stored about the learner; run it in one read transaction."""
    return LearnerExport(
        learner,
        read_snapshot(connection, learner, None),
        read_history(connection, learner, everything=True),
        read_turns(connection, learner, -1),
        read_items(connection, learner, None, -1),
    )
