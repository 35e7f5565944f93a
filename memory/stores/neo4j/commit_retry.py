"""The write protocol on Neo4j: first an optimistic write, and after a conflict one under the learner's lock.

Retries after an error are made by the connection, the queue of commits is in the store.
"""

from __future__ import annotations

from typing import Final, LiteralString, NamedTuple

from ace_graph.base.errors import CommitContention, IncompleteState, LearnerForgotten, TrajectoryNotFound
from ace_graph.memory.catalogue import PlaybookEntry
from ace_graph.memory.commit import Amend, Commit, PendingItem, begun_at, check_age, check_not_forgotten
from ace_graph.memory.rights import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.commit_queue import CommitRequest, SerializedPlan
from ace_graph.memory.stores.neo4j import pending as pending_items
from ace_graph.memory.stores.neo4j import queries as cypher
from ace_graph.memory.stores.neo4j.catalogue import check_right, grant_rows
from ace_graph.memory.stores.neo4j.connection import Neo4jConnection, Neo4jLink, Runner, fetch
from ace_graph.memory.stores.neo4j.queries import (
    Parts,
    Properties,
    Reply,
    base_properties,
    delta_properties,
    known_parameter,
    stamps_properties,
    statement,
    turn_node,
    write_entry,
    write_state,
    write_use,
)
from ace_graph.memory.stores.snapshot_and_log import (
    EMPTY_BASE,
    NO_STAMPS,
    Folding,
    check_chain,
    check_touches,
)

# Folding on Neo4j (commit.cypher): a base, or stamps, in place of what came after the earlier ones.
#
# A commit is one statement in one round trip, so it does not know whether a fold is due until it is done.
# The fold is a transaction of its own after it, under the lock, which first checks the chain. If it fails,
# or the process ends before it, the next commit finds it due.


LINKS: Final = statement("commit.LINKS")
FOLD_CONTENT: Final = statement("commit.FOLD_CONTENT")
FOLD_ACCESS: Final = statement("commit.FOLD_ACCESS")


def due(serialized: SerializedPlan, reply: Reply) -> Folding:
    """Return what to fold after the commit of a plan, of which `reply` is the state."""
    folds = serialized.folding_after(reply.head())
    return Folding(
        folds.marks,
        content=folds.content and serialized.plan.snapshot.version.n > (reply.content_base or 0),
        access=folds.access and serialized.plan.touches is not None,
    )


async def fold(run: Runner, learner: str, serialized: SerializedPlan) -> None:
    """Fold what is due still, now that the lock is held. Raises IncompleteState."""
    rows = await fetch(run, LINKS, uid=learner)
    if not rows:
        return
    reply = Reply.model_validate(rows[0])
    head, parts, snapshot = reply.head(), reply.parts or Parts(), serialized.plan.snapshot
    folds = due(serialized, reply)
    if head.version.epoch != snapshot.version.epoch or not (folds.content or folds.access):
        return
    if folds.content:
        base = EMPTY_BASE if parts.base is None else parts.base
        links = parts.effects
        check_chain((base.n, base.etag), links, head.version)
        check_chain(
            (base.n, base.etag), [link for link in links if link.n <= snapshot.version.n], snapshot.version
        )
        await fetch(
            run,
            FOLD_CONTENT,
            uid=learner,
            base=base_properties(learner, serialized.base),
            base_bytes=serialized.base_bytes,
            history_base=folds.marks.base,
            history_next=folds.marks.next,
            moved=folds.marks != head.marks,
        )
    if folds.access:
        mark = (NO_STAMPS if parts.stamps is None else parts.stamps).mark
        check_touches(mark, parts.touches, head.access_mark)
        if not any(touched.mark == snapshot.access.mark for touched in parts.touches):
            return
        await fetch(
            run,
            FOLD_ACCESS,
            uid=learner,
            clock=snapshot.access.access_clock,
            stamps=stamps_properties(learner, serialized.stamps),
            stamps_bytes=serialized.stamps_bytes,
        )


_ATTEMPTS = 5
_SIZES = ("base_bytes", "effects_bytes", "stamps_bytes", "touches_bytes")


class CommitResult(NamedTuple):
    """A commit, and what was written where a fold is due after it."""

    commit: Commit
    due: SerializedPlan | None = None


async def lock(
    transaction: Runner, learner_id: str, known: Snapshot | None = None, key: str = ""
) -> Reply | None:
    """Take the learner's lock until the transaction ends; return the state that is read under it.

    None when there is no such learner, or when it was forgotten while this waited. What `known` has is left
    out. `key` is that of an operation that may have been applied.
    """
    parameter = known_parameter(known or Snapshot())
    rows = await fetch(transaction, cypher.LOCK, uid=learner_id, key=key, known=parameter)
    state = Reply.model_validate(rows[0]) if rows else None
    return state if state is not None and state.locked else None


async def read_locked(transaction: Runner, learner_id: str, known: Snapshot | None = None) -> Snapshot:
    """Take the lock and return the state. Raises CorruptPayload, NewerFormat."""
    state = await lock(transaction, learner_id, known)
    return Snapshot() if state is None else await snapshot_of(transaction, learner_id, state, known)


async def snapshot_of(transaction: Runner, learner_id: str, state: Reply, known: Snapshot | None) -> Snapshot:
    """Return the state that was read under the lock, read whole where it does not follow what is known.

    Raises CorruptPayload, NewerFormat.
    """
    if known is None or known.absent:
        return state.snapshot(known or Snapshot())
    try:
        return state.snapshot(known)
    except IncompleteState:  # what is known may be of another history: a backup was restored
        nothing = Snapshot(known.playbook)
        whole = await lock(transaction, learner_id, nothing)
        return Snapshot() if whole is None else whole.snapshot(nothing)


async def commit_once(
    connection: Neo4jConnection,
    link: Neo4jLink,
    request: CommitRequest,
    base: Snapshot,
    planned: SerializedPlan | None,
) -> CommitResult:
    """Write what was planned from `base` in one statement; else, and after a conflict, plan under the lock.

    Safe to repeat: an operation that was applied gives its report. Raises LearnerForgotten,
    CommitTooOld, TrajectoryNotFound, CommitContention, CorruptPayload, NewerFormat, PlaybookNotFound,
    PlaybookForbidden, and the driver's errors.
    """
    newest = base
    if planned is not None:
        async with connection.session(link) as session:
            reply = await _write_if_fresh(session, request, planned, base)
        if reply is not None and reply.fresh:
            return _result(planned, reply)
        newest = _newest(reply, base)
    for _ in range(_ATTEMPTS):
        async with connection.transaction(link) as transaction:
            done = await _commit_locked(transaction, request, newest)
        if done is not None:
            return done
    raise CommitContention("each attempt met another writer: make the same commit again")


def _newest(reply: Reply | None, base: Snapshot) -> Snapshot:
    """The state that a conflict replied with, else what was known; it is read again under the lock."""
    if reply is None or not reply.locked or reply.parts is None:
        return base
    try:
        return reply.snapshot(base)
    except IncompleteState:
        return base


async def _commit_locked(transaction: Runner, request: CommitRequest, held: Snapshot) -> CommitResult | None:
    """Lock, read, resolve, write. None when the learner was forgotten or created while this waited."""
    state = await lock(transaction, request.learner, held, request.key)
    if request.asked is not None:
        await check_right(transaction, request.asked, Right.WRITE)
    current = Snapshot()
    if state is not None:
        current = await snapshot_of(transaction, request.learner, state, held)
    report = None if state is None else state.report()
    if report is not None:
        return CommitResult(Commit("repeated", current.version, report, current))
    if state is not None and not isinstance(request.pending, PendingItem):  # a stored item was never applied
        check_age(begun_at(request.delta, request.new_turn), state.keys_from)
    check_not_forgotten(request.base.version, current.version)
    unknown = await _unknown(transaction, request, current)
    plan = await SerializedPlan.of(request, current, unknown)
    if request.must_read:
        # Complete the pending item and change the stored turn that this commit names, under the lock
        absent = state is None or state.epoch is None
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
    if state is None or state.epoch is None:
        reply = await _write_if_fresh(transaction, request, plan, current)
        return _result(plan, reply) if reply is not None and reply.fresh else None
    (row,) = await fetch(transaction, cypher.WRITE, seq=state.seq, **_parameters(request, plan))
    return _result(plan, Reply.model_validate(row))


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


async def _write_if_fresh(
    run: Runner, request: CommitRequest, plan: SerializedPlan, base: Snapshot
) -> Reply | None:
    """Write the plan if the stored state is still `base`; None when there is no such learner any more."""
    rows = await fetch(
        run,
        _statement(run, create=base.absent),
        key=request.key,
        known=known_parameter(base) | {"clock": base.access.access_clock},
        grants=grant_rows(request.grants),
        begun=begun_at(request.delta, request.new_turn).timestamp(),
        **_parameters(request, plan, create=base.absent),
    )
    return Reply.model_validate(rows[0]) if rows else None


def _statement(run: Runner, *, create: bool) -> LiteralString:
    if not create:
        return cypher.UPDATE
    return cypher.CREATE if run.namespace == "learners" else cypher.CREATE_PLAYBOOK


def _parameters(request: CommitRequest, serialized: SerializedPlan, *, create: bool = False) -> Properties:
    plan, learner, turn = serialized.plan, request.learner, request.new_turn
    without_content = create and not plan.content_changed
    return {
        "uid": learner,
        "state": write_state(serialized, learner, create=create) | _entry(request.entry, create=create),
        "deltas": [delta_properties(learner, serialized.delta)] if serialized.in_history else [],
        "turns": [] if turn is None else [turn_node(learner, serialized.turn(turn), turn)],
        "bases": [base_properties(learner, serialized.base)] if without_content else [],
        "effect_bytes": serialized.effect_bytes,
        "touches_bytes": serialized.touches_bytes,
        **write_use(serialized, learner),
        "pending": [
            *pending_items.new_items(request.learner, request.pending, plan.effect.now),
            *pending_items.new_items(request.learner, plan.scheduled, plan.effect.now),
        ],
    }


def _entry(entry: PlaybookEntry | None, *, create: bool) -> Properties:
    """Return the properties of the state that are the entry of a new playbook in the catalogue."""
    return {} if entry is None or not create else write_entry(entry)


def _result(plan: SerializedPlan, reply: Reply) -> CommitResult:
    if plan.plan.parent.epoch is None:  # the reply is about the state before
        created = write_state(plan, "", create=True)
        reply = reply.model_copy(update={name: created[name] for name in _SIZES} | {"content_base": 0})
    folds = due(plan, reply)
    return CommitResult(plan.plan.commit(), plan if folds.content or folds.access else None)
