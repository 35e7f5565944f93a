"""The learning node: from the evidence on a turn to the one commit that stores it.

    evidence -> tasks -> reflector -> curator -> delta -> commit

Lessons that the run wants in a named playbook (`learn_into`) go there after it, in a commit of their own. The
first one leaves them to a worker, too, or to the learner's next such turn, should the process die in between.
In background mode the reflector and the curator are left to a worker; votes and statements are stored now.
A failure in here never breaks the answer: it is logged and reported in `learning.error`, and what could not
be saved is in `learning.unsaved`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ace_graph.agent.models.call import add_usage, total_usage
from ace_graph.agent.reasoning.attempt import AnswerAgain, answer_again
from ace_graph.agent.reasoning.recall import ensure_memory
from ace_graph.agent.runtime import Run, logger
from ace_graph.agent.state import ACEState, Learning, LearningUpdate
from ace_graph.base.errors import LearnerForgotten, StoreError
from ace_graph.base.off_loop import run_off_loop
from ace_graph.learning.learn_into import (
    deliver,
    find_destination,
    lessons_for,
    only_lessons,
    undelivered_item,
    without_lessons,
)
from ace_graph.learning.pipeline import LearningResult, committed, defer, failed, learn_now, skipped
from ace_graph.learning.tasks import UndeliveredLessons, tasks_of
from ace_graph.learning.turn_record import make_record
from ace_graph.learning.worker import consolidate_at_once, deliver_left
from ace_graph.memory.commit import Amend, Pending, PendingItem, operation_id
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.trajectory import with_feedback
from ace_graph.memory.turn import TurnRecord
from ace_graph.nodes.planner import with_plan


async def ace_learning(state: ACEState, run: Run) -> LearningUpdate:
    """Learn from the turn and store it. Raises nothing that the model or the store may raise."""
    state = await with_plan(state, run)
    attempt = state["attempt"]
    retry = None if attempt is None else partial(answer_again, state, attempt, run)
    update = await learn_from_turn(state, run, retry)
    if run.learner_id is not None:
        spent = total_usage(update["usage"]).tokens
        run.resources.daily_tokens.spent(run.learner_id, state["turn"]["turn_id"], spent)
    return update


async def learn_from_turn(state: ACEState, run: Run, answer_again: AnswerAgain | None) -> LearningUpdate:
    """Learn from a finished turn, of the graph or of another agent, and store it in one commit.

    `answer_again` tries lessons on the turn's question. Raises nothing that the model or the store may raise.
    """
    turn_id, mode, attempt = state["turn"]["turn_id"], state["plan"]["mode"], state["attempt"]
    memory = await ensure_memory(state, run) if run.learning != "off" else None
    if memory is None or memory.snapshot is None or attempt is None:
        reason = memory.problem if memory else "learning is off"
        return {"mode": mode, "learning": skipped(turn_id, reason), "usage": state["usage"]}
    learner_id, base = run.learner_id or "", memory.snapshot
    # A resumed run has the same op ids and changes nothing twice; a fork has a new attempt and learns.
    op_ids = partial(operation_id, turn_id, attempt["attempt_id"])
    text_length = len(state["turn"]["question"]) + len(attempt["answer"])

    tasks = await run_off_loop(text_length, tasks_of, state, attempt, memory, run)
    destination = None
    if run.learning == "inline" and run.context.learn_into is not None:
        await deliver_left(learner_id, run.resources)
    if run.learning == "background":
        result, pending = await defer(tasks, turn_id, op_ids("learn"), run)
    else:
        if tasks.may_teach:
            destination = await find_destination(run)
        elsewhere = destination is not None and destination.playbook is not None
        result = await learn_now(tasks, base, run, attempt["attempt_id"], answer_again, elsewhere=elsewhere)
        pending = None
    usage = state["usage"]
    for role, cost in result.usage.items():
        usage = add_usage(usage, role, cost)
    lessons = await lessons_for(destination, result.operations, result.lessons)
    refs = {each.ref or "" for each in lessons}
    own = without_lessons(result.operations, refs)
    delta = Delta(
        op_id=op_ids("turn"),
        now=run.resources.clock(),
        operations=(*own, *result.analyzed),
        author="ace_learning",
        reason=result.reason,
        source=turn_id,
        origin="turn",
    )
    spent = total_usage(usage)
    record = await run_off_loop(
        text_length, make_record, state, attempt, run, spent, result.reflections, result.replay
    )
    newest, undelivered = run.resources.cache.newest(learner_id, base), None
    if lessons:
        chosen = only_lessons(result.operations, refs)
        work = UndeliveredLessons(operations=chosen, learned=len(result.lessons), op_id=delta.op_id)
        undelivered = await undelivered_item(work, turn_id, op_ids("lessons"), run)
    try:
        waits = pending or undelivered
        more = () if waits is None else (waits,)  # what wraps a store may take none
        commit = await run.resources.store.commit(learner_id, delta, newest, record, *more)
    except StoreError as error:
        logger.exception("[ACE Memory] the turn could not be saved; learning.unsaved holds it")
        # What is saved later holds the lessons, too: nothing goes to another playbook then
        whole = delta.model_copy(update={"operations": (*result.operations, *result.analyzed)})
        learning = failed(turn_id, learner_id, base, whole, record, error, pending)
        return {"mode": mode, "learning": learning, "usage": usage}
    run.resources.cache.put(learner_id, commit.snapshot)
    judged = result.judged if commit.status == "applied" else None
    feedback = judged.feedback.as_record(run.resources.clock()) if judged is not None else None
    if judged is not None and feedback is not None:
        # Its votes are stored already
        problem = "the feedback counts, but is not in the record of the turn it is about"
        turn = judged.turn.turn_id
        lost = await _amend(turn, lambda told: with_feedback(told, feedback), learner_id, run, problem)
        if lost is not None:
            result = replace(result, error=result.error or f"{type(lost).__name__}: {lost}")
    if commit.scheduled is not None and not run.resources.settings.consolidates_later(run.learning):
        await consolidate_at_once(learner_id, commit.scheduled, run.resources)
    learning = committed(turn_id, newest, commit, result, run, pending)
    if destination is not None and result.lessons:
        delivery = await deliver(destination, lessons, len(result.lessons), delta.op_id, run)
        learning["learned_into"] = delivery.report
        if undelivered is None:
            noted = {"learned_into": delivery.report}
            problem = "the turn's record does not say where its lessons went"
            await _amend(turn_id, lambda told: told.model_copy(update=noted), learner_id, run, problem)
        else:
            rest = only_lessons(result.operations, delivery.left)
            late = delta.model_copy(update={"op_id": undelivered.pending_id, "operations": rest})
            learning = await _complete(learning, late, undelivered, commit.snapshot, run)
    return {"mode": mode, "learning": learning, "usage": usage}


async def _complete(learning: Learning, delta: Delta, item: Pending, base: Snapshot, run: Run) -> Learning:
    """Commit what a named playbook did not take, and that nothing is left to be delivered.

    Return what both commits to the memory changed.
    """
    learner_id, noted = run.learner_id or "", {"learned_into": learning["learned_into"]}
    done = PendingItem(**item.model_dump(), learner_id=learner_id, created_at=delta.now, free_at=delta.now)
    amend = Amend(delta.source, lambda turn: turn.model_copy(update=noted), missing_ok=True)
    try:
        commit = await run.resources.store.commit(learner_id, delta, base, amend, done)
    except (StoreError, LearnerForgotten) as error:
        logger.exception("[ACE Memory] what became of the lessons could not be saved; a worker will do it")
        return {**learning, "error": f"{type(error).__name__}: {error}", "pending": item.pending_id}
    run.resources.cache.put(learner_id, commit.snapshot)
    more = committed(learning["turn_id"], base, commit, LearningResult(), run)
    return {
        **learning,
        "version": more["version"],
        "added": [*learning["added"], *more["added"]],
        "updated": list(dict.fromkeys([*learning["updated"], *more["updated"]])),
        "tagged": list(dict.fromkeys([*learning["tagged"], *more["tagged"]])),
        "superseded": [*learning["superseded"], *more["superseded"]],
        "removed": [*learning["removed"], *more["removed"]],
        "quarantined": [*learning["quarantined"], *more["quarantined"]],
        "rejected": [*learning["rejected"], *more["rejected"]],
    }


async def _amend(
    turn_id: str, change: Callable[[TurnRecord], TurnRecord], learner_id: str, run: Run, problem: str
) -> StoreError | None:
    """Change a turn's record, where the store has them; return the error that was logged as `problem`."""
    store = run.resources.store
    try:
        await store.amend(learner_id, Amend(turn_id, change, missing_ok=True))
    except StoreError as error:
        logger.exception("[ACE Memory] %s", problem)
        return error
    return None
