"""The write protocol on Neo4j: first an optimistic write, and after a conflict one under the learner's lock.

Retries after an error are made by the connection, the queue of commits is in the store.
"""

from __future__ import annotations

from typing import LiteralString, NamedTuple

from ace_graph.errors import CommitContention, LearnerForgotten, TrajectoryNotFound
from ace_graph.memory.catalogue.entry import PlaybookEntry
from ace_graph.memory.commit import Commit, CommitPlan, begun_at, check_age, check_not_forgotten
from ace_graph.memory.pending import Amend, PendingItem
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.commit_queue import CommitRequest
from ace_graph.memory.stores.neo4j import pending as pending_items
from ace_graph.memory.stores.neo4j import queries as cypher
from ace_graph.memory.stores.neo4j.catalogue import check_right
from ace_graph.memory.stores.neo4j.connection import Link, Neo4jConnection, Runner, fetch
from ace_graph.memory.stores.neo4j.rows import (
    Properties,
    Reply,
    write_delta,
    write_entry,
    write_state,
    write_turn,
)
from ace_graph.memory.stores.neo4j.sharing import grant_rows

__all__ = ["CommitResult", "commit_once", "lock"]

_ATTEMPTS = 5


class CommitResult(NamedTuple):
    """A commit, and how many effects to keep where the history is due for compaction."""

    commit: Commit
    compact_to: int | None = None


async def lock(
    transaction: Runner, learner_id: str, known: Version | None = None, key: str = ""
) -> Reply | None:
    """Take the learner's lock until the transaction ends; return the state that is read under it.

    None when there is no such learner, or when it was forgotten while this waited. The content is left out
    where epoch and etag are those of `known`. `key` is that of an operation that may have been applied.
    """
    version = known or Version()
    rows = await fetch(
        transaction, cypher.LOCK, uid=learner_id, key=key, epoch=version.epoch, etag=version.etag
    )
    state = Reply.model_validate(rows[0]) if rows else None
    return state if state is not None and state.locked else None


async def commit_once(
    connection: Neo4jConnection, link: Link, request: CommitRequest, base: Snapshot
) -> CommitResult:
    """Write the plan made from `base` in one statement; after a conflict plan again, under the lock.

    Safe to repeat: an operation that was applied gives its report. Raises LearnerForgotten,
    CommitTooOld, TrajectoryNotFound, CommitContention, CorruptPayload, NewerFormat, PlaybookNotFound,
    PlaybookForbidden, and the driver's errors.
    """
    newest: Snapshot | None = base
    if not request.must_read and not request.references(base):
        plan = request.plan(base)
        async with connection.session(link) as session:
            reply = await _write_if_fresh(session, request, plan, base)
        if reply is not None and reply.fresh:
            return _result(request, plan, reply)
        newest = reply.snapshot(base) if reply is not None and reply.locked else base
    for _ in range(_ATTEMPTS):
        async with connection.transaction(link) as transaction:
            done = await _commit_locked(transaction, request, newest or base)
        if done is not None:
            return done
    raise CommitContention("each attempt met another writer: make the same commit again")


async def _commit_locked(transaction: Runner, request: CommitRequest, held: Snapshot) -> CommitResult | None:
    """Lock, read, resolve, write. None when the learner was forgotten or created while this waited."""
    state = await lock(transaction, request.learner, held.version, request.key)
    if request.asked is not None:
        await check_right(transaction, request.asked, Right.WRITE)
    current = (state and state.snapshot(held)) or Snapshot()
    report = None if state is None else state.report()
    if report is not None:
        return CommitResult(Commit("repeated", current.version, report, current))
    if state is not None and not isinstance(request.pending, PendingItem):  # a stored item was never applied
        check_age(begun_at(request.delta, request.new_turn), state.keys_from)
    check_not_forgotten(request.base.version, current.version)
    plan = request.plan(current, await _unknown(transaction, request, current))
    if request.must_read:
        await _complete_and_amend(transaction, request, absent=state is None or state.epoch is None)
    if state is None or state.epoch is None:
        reply = await _write_if_fresh(transaction, request, plan, current)
        return _result(request, plan, reply) if reply is not None and reply.fresh else None
    (row,) = await fetch(transaction, cypher.WRITE, seq=state.seq, **_parameters(request, plan))
    return _result(request, plan, Reply.model_validate(row))


async def _unknown(transaction: Runner, request: CommitRequest, current: Snapshot) -> frozenset[str]:
    """Return the trajectories that the commit names and the learner, or the playbook's owner, has not."""
    named = request.references(current)
    if not named:
        return named
    ids = sorted(named)
    if transaction.namespace == "learners":
        rows = await fetch(transaction, cypher.KNOWN_TURNS, uid=request.learner, ids=ids)
    else:
        owner = None if request.entry is None else request.entry.owner
        rows = await fetch(
            transaction.of("learners"), cypher.OWNERS_TURNS, uid=request.learner, owner=owner, ids=ids
        )
    return named - {str(row["turn_id"]) for row in rows}


async def _complete_and_amend(transaction: Runner, request: CommitRequest, *, absent: bool) -> None:
    """Complete the pending item and change the stored turn that this commit names, under the lock."""
    if isinstance(request.pending, PendingItem) and (
        absent or not await pending_items.complete(transaction, request.learner, request.pending)
    ):
        raise LearnerForgotten(
            "the learner was forgotten while a worker processed the item: nothing is stored"
        )
    if isinstance(request.record, Amend):
        if absent and not request.record.missing_ok:
            raise TrajectoryNotFound(f"there is no trajectory {request.record.turn_id} of this learner")
        await pending_items.amend_turn(transaction, request.learner, request.record)


async def _write_if_fresh(
    run: Runner, request: CommitRequest, plan: CommitPlan, base: Snapshot
) -> Reply | None:
    """Write the plan if the stored state is still `base`; None when there is no such learner any more."""
    version, clock = base.version, base.access.access_clock
    rows = await fetch(
        run,
        _statement(run, create=base.absent),
        key=request.key,
        epoch=version.epoch,
        etag=version.etag,
        clock=clock,
        grants=grant_rows(request.grants),
        begun=begun_at(request.delta, request.new_turn).timestamp(),
        **_parameters(request, plan, create=base.absent),
    )
    return Reply.model_validate(rows[0]) if rows else None


def _statement(run: Runner, *, create: bool) -> LiteralString:
    if not create:
        return cypher.UPDATE
    return cypher.CREATE if run.namespace == "learners" else cypher.CREATE_PLAYBOOK


def _parameters(request: CommitRequest, plan: CommitPlan, *, create: bool = False) -> Properties:
    in_history = plan.content_changed or request.new_turn is None
    return {
        "uid": request.learner,
        "state": write_state(plan, request.learner, create=create) | _entry(request.entry, create=create),
        "deltas": [write_delta(plan, request.learner)] if in_history else [],
        "turns": [] if request.new_turn is None else [write_turn(plan, request.learner, request.new_turn)],
        "pending": [
            *pending_items.new_items(request.learner, request.pending, plan.effect.now),
            *pending_items.new_items(request.learner, plan.scheduled, plan.effect.now),
        ],
    }


def _entry(entry: PlaybookEntry | None, *, create: bool) -> Properties:
    """Return the properties of the state that are the entry of a new playbook in the catalogue."""
    return {} if entry is None or not create else write_entry(entry)


def _result(request: CommitRequest, plan: CommitPlan, reply: Reply) -> CommitResult:
    kept = plan.effects_kept(request.policy)
    due = plan.content_changed and reply.marks.after(plan.snapshot.version.n, kept) != reply.marks
    return CommitResult(plan.commit(), kept if due else None)
