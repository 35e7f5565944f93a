"""Feedback on a stored trajectory, from a person or a system; and learning from one once more.

    given = await give_feedback(store, "alice", trajectory_id, "failure", "the sign is wrong")
    given.pending_id        # set where a worker is to learn from it again

The vote counts at once; the same source judging the same trajectory again replaces its earlier vote. When
the trajectory's effective score moves by 0.3 or more it is to be learned from again, what moved most first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import UsageError, unknown
from ace_graph.learning.tasks import PendingWork, task_of
from ace_graph.learning.trajectories import get_trajectory, votes_of
from ace_graph.memory.commit import Amend, Commit, Pending, operation_id
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.evidence import SCORES, Evidence, Verdict
from ace_graph.memory.stores.store import Store
from ace_graph.memory.trajectory import ScoreRule, effective_score, with_feedback
from ace_graph.memory.turn import FeedbackKind, TurnFeedback, TurnRecord

if TYPE_CHECKING:
    from ace_graph.agent.resources import Resources
    from ace_graph.learning.worker import PendingOutcome

RELEARN_AT = 0.3
"""A trajectory whose effective score moved by so much is learned from again."""
AUTHOR = "feedback"


@dataclass(frozen=True)
class FeedbackGiven:
    """What the feedback did: the commit with its votes, the scores, and the work it leaves, if any."""

    commit: Commit
    before: float | None
    after: float
    pending_id: str | None


async def give_feedback(
    store: Store,
    learner_id: str,
    trajectory_id: str,
    verdict: Verdict,
    text: str = "",
    *,
    kind: FeedbackKind = "human",
    score: float | None = None,
    by: str = "",
    rule: ScoreRule = "weighted",
    clock: Callable[[], datetime] = utc_now,
    op_id: str | None = None,
) -> FeedbackGiven:
    """Keep the feedback with the trajectory, vote, and leave the work of learning again, in one commit.

    A person is the source `learner`, the other kinds are `evaluator`. `score` is in [0, 1]; by default
    it follows from the verdict. With an `op_id` it is given once, however often it is asked for. Raises
    TrajectoryNotFound, UsageError, and what the store raises.
    """
    if verdict not in SCORES:
        raise UsageError(unknown("verdict", verdict, ("success", "failure", "partial")))
    if score is not None and not 0 <= score <= 1:
        raise UsageError("a score must be a number from 0 to 1")
    turn, now = await get_trajectory(store, learner_id, trajectory_id), clock()
    worth = SCORES[verdict] if score is None else score
    feedback = TurnFeedback(kind=kind, verdict=verdict, score=worth, text=text[:2_000], by=by[:256], at=now)
    before = effective_score(turn, now, rule)
    after = effective_score(with_feedback(turn, feedback), now, rule) or 0.0
    evidence = feedback.evidence
    pending = _again(turn, evidence, abs(after - (0.5 if before is None else before)), now)
    delta = Delta(
        op_id=op_id or str(uuid4()),
        now=now,
        operations=votes_of(turn, [evidence]),
        author=AUTHOR,
        reason=f"{kind}: {verdict}",
        source=trajectory_id,
    )
    amend = Amend(trajectory_id, lambda stored: with_feedback(stored, feedback))
    commit = await store.commit(learner_id, delta, await store.load(learner_id), amend, pending)
    return FeedbackGiven(commit, before, after, pending.pending_id if pending else None)


async def reflect_on(
    learner_id: str, trajectory_id: str, resources: Resources, store: Store
) -> PendingOutcome:
    """Learn from a trajectory now: from the work it left, a dead letter among it, else once more.

    `trajectory_id` may be the id of pending work as well. Raises TrajectoryNotFound, UsageError for one in
    progress, and what the store raises.
    """
    from ace_graph.learning.pending import RetryPolicy
    from ace_graph.learning.worker import drain_until

    pending_id = await queue_reflection(learner_id, trajectory_id, store, resources.clock())
    return await drain_until(learner_id, pending_id, resources, store, RetryPolicy())


async def queue_reflection(learner_id: str, trajectory_id: str, store: Store, now: datetime) -> str:
    """Leave a worker the work of learning from a trajectory, and return its id.

    That is the work which waits, a dead letter among it, else new work. Raises as `reflect_on` does.
    """
    for item in await store.list_pending(learner_id, limit=1_000_000):
        if trajectory_id in (item.turn_id, item.pending_id):
            if item.state == "dead":
                await store.retry(learner_id, item.pending_id, now)
            return item.pending_id
    turn = await get_trajectory(store, learner_id, trajectory_id)
    if turn.status == "in_progress":
        raise UsageError(f"the trajectory {trajectory_id} is in progress: complete it first")
    pending = _work(turn, (), turn.evidence, f"again:{now.isoformat()}", priority=1.0)
    delta = Delta(op_id=str(uuid4()), now=now, operations=(), author=AUTHOR, source=trajectory_id)
    await store.commit(learner_id, delta, await store.load(learner_id), None, pending)
    return pending.pending_id


def _again(turn: TurnRecord, evidence: Evidence, moved: float, now: datetime) -> Pending | None:
    if turn.status == "in_progress" or moved < RELEARN_AT - 1e-9:
        return None
    return _work(turn, (evidence,), turn.evidence, f"feedback:{now.isoformat()}", priority=moved)


def _work(
    turn: TurnRecord,
    evidence: tuple[Evidence, ...],
    standing: tuple[Evidence, ...],
    purpose: str,
    *,
    priority: float,
) -> Pending:
    pending_id = operation_id(turn.turn_id, turn.attempt_id, purpose)
    into = None if turn.learned_into is None else turn.learned_into["playbook"]
    work = PendingWork(looks=(task_of(turn, evidence, standing),), learn_into=into)
    return work.as_pending(pending_id, turn.turn_id, priority=priority)
