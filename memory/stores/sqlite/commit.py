"""What the SQLite store does in one transaction with several statements: commit, forget, export.

Does not: hold SQL, or know on which thread it runs.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from dataclasses import dataclass

from ace_graph.memory.commit import Commit, NewToken, begun_at, check_age, meets, plan
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.pending import Amend, Pending, PendingItem
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport
from ace_graph.memory.stores.sqlite.connection import writing
from ace_graph.memory.stores.sqlite.pending import amend_turn, check_held, read_items, write_pending
from ace_graph.memory.stores.sqlite.rows import (
    Head,
    Prepared,
    delete_learner,
    read_head,
    read_history,
    read_report,
    read_snapshot,
    read_turns,
    write,
)
from ace_graph.memory.turn import TurnRecord

__all__ = ["Job", "erase", "read_export", "write_job"]


@dataclass(frozen=True)
class Job:
    """One call of commit. `base` is what the caller had, whatever newer state the queue offers."""

    learner: str
    delta: Delta
    base: Snapshot
    record: TurnRecord | Amend | None
    pending: Pending | PendingItem | None
    policy: Policy
    new_token: NewToken

    def prepared(self, base: Snapshot) -> Prepared:
        """Plan from `base`, and write the texts."""
        new = self.record if isinstance(self.record, TurnRecord) else None
        return Prepared(plan(base, self.delta, self.policy, new, self.new_token), new)


def write_job(connection: sqlite3.Connection, job: Job, start: Snapshot) -> Commit:
    """Commit. Planned from `start`, the newest that the queue holds; the job's base says which life is meant.

    Raises LearnerForgotten, CommitTooOld, TrajectoryNotFound, and what an Amend raises.
    """
    learner, delta = job.learner, job.delta
    prepared = job.prepared(start)
    with writing(connection):
        report = read_report(connection, learner, delta.op_id)
        if report is not None:
            now = read_snapshot(connection, learner, start)
            return Commit("repeated", now.version, report, now)
        head = read_head(connection, learner)
        if not _holds(job.base, start, head):
            prepared = job.prepared(read_snapshot(connection, learner, start))
        if isinstance(job.pending, PendingItem):
            check_held(connection, learner, job.pending)  # what is held was never applied
        else:
            check_age(begun_at(delta, prepared.record), head.keys_from)
        if isinstance(job.record, Amend):
            amend_turn(connection, learner, job.record)
        write(connection, learner, prepared, head.marks, job.policy.history_kept)
        write_pending(connection, learner, job.pending, delta.now)
    return prepared.plan.commit()


def _holds(base: Snapshot, start: Snapshot, head: Head) -> bool:
    """Whether a plan from `start` may be written onto `head`. Raises LearnerForgotten."""
    if base.absent and start.version.epoch != head.version.epoch:
        return False  # the queue held a life that has ended, the caller wants a new one
    clock = start.access.access_clock
    return meets(start.version, head.version, base_clock=clock, clock=head.access_clock)


def erase(connection: sqlite3.Connection, learner: str) -> bool:
    """Delete the rows, and empty the log, in which older states of them can still be read."""
    with writing(connection):
        found = delete_learner(connection, learner)
    with suppress(sqlite3.OperationalError):  # somebody reads: the log is overwritten later
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return found


def read_export(connection: sqlite3.Connection, learner: str) -> LearnerExport:
    """Return everything stored about the learner; the caller's transaction makes it one moment."""
    return LearnerExport(
        learner,
        read_snapshot(connection, learner, None),
        read_history(connection, learner, everything=True),
        read_turns(connection, learner, -1),
        read_items(connection, learner, None, -1),
    )
