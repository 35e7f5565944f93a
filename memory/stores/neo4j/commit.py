"""The write protocol on Neo4j: once without waiting, and after a conflict once more under the lock.

Does not: try again after an error, or queue; the connection and the store do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from neo4j import AsyncSession, AsyncTransaction

from ace_graph.errors import CommitContention, LearnerForgotten, TrajectoryNotFound
from ace_graph.memory.commit import (
    Commit,
    NewToken,
    Plan,
    begun_at,
    check_age,
    commit_key,
    meets,
    plan,
)
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.pending import Amend, Pending, PendingItem
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.neo4j import pending as queue
from ace_graph.memory.stores.neo4j import queries as cypher
from ace_graph.memory.stores.neo4j.connection import Link, Neo4jConnection, fetch
from ace_graph.memory.stores.neo4j.rows import Properties, Reply, write_delta, write_state, write_turn
from ace_graph.memory.turn import TurnRecord

__all__ = ["Done", "Job", "commit_once", "lock"]

_TRIES = 5


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

    @property
    def key(self) -> str:
        """The record of whether this operation was applied."""
        return commit_key(self.learner, self.delta.op_id)

    @property
    def new_turn(self) -> TurnRecord | None:
        """The record of a turn that this commit brings."""
        return self.record if isinstance(self.record, TurnRecord) else None

    @property
    def looks_first(self) -> bool:
        """Whether something that is stored must be read under the lock before anything is written."""
        return isinstance(self.record, Amend) or isinstance(self.pending, PendingItem)

    def plan(self, current: Snapshot) -> Plan:
        """Return what to write onto `current`."""
        return plan(current, self.delta, self.policy, self.new_turn, self.new_token)


class Done(NamedTuple):
    """A commit, and whether the history has grown enough to be compacted."""

    commit: Commit
    marks_move: bool = False


async def lock(
    transaction: AsyncTransaction, learner_id: str, known: Version | None = None, key: str = ""
) -> Reply | None:
    """Take the learner's lock until the transaction ends; return the state under it.

    None when there is no such learner, or was none when the lock was free. The content is left out
    when epoch and etag are those of `known`; `key` asks whether that operation was applied before.
    """
    version = known or Version()
    rows = await fetch(
        transaction, cypher.LOCK, uid=learner_id, key=key, epoch=version.epoch, etag=version.etag
    )
    state = Reply.model_validate(rows[0]) if rows else None
    return state if state is not None and state.locked else None


async def commit_once(connection: Neo4jConnection, link: Link, job: Job, base: Snapshot) -> Done:
    """Write the plan made from `base` in one statement; where another writer was faster, under the lock.

    Safe to repeat: an operation that was applied gives its report. Raises LearnerForgotten,
    CommitTooOld, TrajectoryNotFound, CommitContention, CorruptPayload, NewerFormat, and the driver's errors.
    """
    newest: Snapshot | None = base
    if not job.looks_first:
        planned = job.plan(base)
        async with connection.session(link) as session:
            reply = await _write_if_fresh(session, job, planned, base)
        if reply is not None and reply.fresh:
            return _done(job, planned, reply)
        newest = reply.snapshot(base) if reply is not None and reply.locked else base
    for _ in range(_TRIES):
        async with connection.transaction(link) as transaction:
            done = await _under_the_lock(transaction, job, newest or base)
        if done is not None:
            return done
    raise CommitContention("other writers were always faster: the same commit can be made again")


async def _under_the_lock(transaction: AsyncTransaction, job: Job, held: Snapshot) -> Done | None:
    """Lock, read, resolve, write. None when the learner was forgotten or created while this waited."""
    state = await lock(transaction, job.learner, held.version, job.key)
    current = (state and state.snapshot(held)) or Snapshot()
    report = None if state is None else state.report()
    if report is not None:
        return Done(Commit("repeated", current.version, report, current))
    if state is not None and not isinstance(job.pending, PendingItem):  # held work was never applied
        check_age(begun_at(job.delta, job.new_turn), state.keys_from)
    base, access = job.base, current.access
    meets(base.version, current.version, base_clock=base.access.access_clock, clock=access.access_clock)
    planned = job.plan(current)
    if job.looks_first:
        await _at_what_is_stored(transaction, job, absent=state is None or state.epoch is None)
    if state is None or state.epoch is None:
        reply = await _write_if_fresh(transaction, job, planned, current)
        return _done(job, planned, reply) if reply is not None and reply.fresh else None
    (row,) = await fetch(transaction, cypher.WRITE, seq=state.seq, **_parameters(job, planned))
    return _done(job, planned, Reply.model_validate(row))


async def _at_what_is_stored(transaction: AsyncTransaction, job: Job, *, absent: bool) -> None:
    """Complete the pending work and change the turn that this commit is about, under the lock."""
    if isinstance(job.pending, PendingItem) and (
        absent or not await queue.complete(transaction, job.learner, job.pending)
    ):
        raise LearnerForgotten("the learner was forgotten while a worker was at it: nothing is stored")
    if isinstance(job.record, Amend):
        if absent and not job.record.missing_ok:
            raise TrajectoryNotFound(f"there is no trajectory {job.record.turn_id} of this learner")
        await queue.amend_turn(transaction, job.learner, job.record)


async def _write_if_fresh(
    run: AsyncSession | AsyncTransaction, job: Job, planned: Plan, base: Snapshot
) -> Reply | None:
    """Write the plan if the state is still `base`; None when there is no such learner any more."""
    version, clock = base.version, base.access.access_clock
    rows = await fetch(
        run,
        cypher.CREATE if base.absent else cypher.UPDATE,
        key=job.key,
        epoch=version.epoch,
        etag=version.etag,
        clock=clock,
        begun=begun_at(job.delta, job.new_turn).timestamp(),
        **_parameters(job, planned, create=base.absent),
    )
    return Reply.model_validate(rows[0]) if rows else None


def _parameters(job: Job, planned: Plan, *, create: bool = False) -> Properties:
    in_history = planned.content_changed or job.new_turn is None
    return {
        "uid": job.learner,
        "state": write_state(planned, job.learner, create=create),
        "deltas": [write_delta(planned, job.learner)] if in_history else [],
        "turns": [] if job.new_turn is None else [write_turn(planned, job.learner, job.new_turn)],
        "pending": queue.new_items(job.learner, job.pending, planned.effect.now),
    }


def _done(job: Job, planned: Plan, reply: Reply) -> Done:
    moved = reply.marks.after(planned.snapshot.version.n, job.policy.history_kept)
    return Done(planned.commit(), planned.content_changed and moved != reply.marks)
