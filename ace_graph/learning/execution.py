"""Running any function as a trajectory: what it returns or raises is recorded and learned from.

    async def fetch(trajectory):
        advice = trajectory.context                 # what the memory advises for this task, as a prompt block
        await trajectory.alog("action", "GET /invoices")
        return invoices, "success"                  # a result and how it went; or the result alone

    invoices, trajectory_id = await execute_with_learning(
        fetch, "Fetch the invoices", store=store, learner_id="bot", playbook_name="ada/api_client")

Advice comes from the named playbook, too, and lessons go there as far as the learner may write or propose.
The task is not retried, and a failure to record or to learn never costs its result.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, cast

from langchain_core.language_models import BaseChatModel
from pydantic import JsonValue

from ace_graph.agent.reasoning.recall import format_context
from ace_graph.agent.runtime import logger
from ace_graph.base.clock import utc_now
from ace_graph.base.errors import AceError, ChangeRefused
from ace_graph.base.portal import portal
from ace_graph.base.retention import Tracing
from ace_graph.base.settings import Settings
from ace_graph.learning.trajectories import Completion, complete_trajectory, log_step, start_trajectory
from ace_graph.learning.worker import learn_pending
from ace_graph.memory.catalogue import DEFAULT, PlaybookRef
from ace_graph.memory.foreign import as_foreign, foreign_prefix
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.retrieval.retrieve import retrieve
from ace_graph.memory.stores.store import Store
from ace_graph.memory.turn import PlaybookRead, StepKind, TurnStatus
from ace_graph.playbooks.handle import open_playbook

_STATUSES = frozenset({"success", "failure", "partial"})
_BUDGET_TOKENS = 2_000
Task = Callable[..., Any]
"""Any: the host's own function, which returns what it likes."""


@dataclass(frozen=True)
class TaskEvent:
    """A task that begins, or has ended: what a hook of a workflow is told (document 004).

    `status` is None before the task. `pending_id` names the learning that is left to a worker, or to
    `learn_pending`; None where nothing waits.
    """

    phase: Literal["begins", "ended"]
    trajectory_id: str
    learner_id: str
    task: str
    agent: str
    task_type: str | None = None
    parent_id: str | None = None
    status: TurnStatus | None = None
    pending_id: str | None = None


TaskHook = Callable[[TaskEvent], Awaitable[None] | None]


@dataclass(frozen=True)
class TaskResult:
    """What a task may return to say how it went: its result, its status, and what else is known of it."""

    result: Any  # the host's own
    status: TurnStatus
    completion: Completion = field(default_factory=Completion)


@dataclass(frozen=True)
class RunningTrajectory:
    """The argument of a task that takes one: its id, the advice for it (`context`), and `log`."""

    store: Store
    learner_id: str
    trajectory_id: str
    context: str = ""
    bullet_ids: tuple[str, ...] = ()
    clock: Callable[[], datetime] = utc_now

    async def alog(self, kind: StepKind, text: str, metadata: Mapping[str, JsonValue] | None = None) -> None:
        """Log a step; see log_step."""
        await log_step(
            self.store, self.learner_id, self.trajectory_id, kind, text, metadata, clock=self.clock
        )

    def log(self, kind: StepKind, text: str, metadata: Mapping[str, JsonValue] | None = None) -> None:
        """Log a step from a task that is no coroutine; it runs in a thread of its own."""
        portal().run_sync(self.alog(kind, text, metadata))


async def execute_with_learning(
    task_fn: Task,
    task: str,
    *,
    store: Store,
    learner_id: str,
    agent: str = "host",
    task_type: str | None = None,
    parent_id: str | None = None,
    auto_reflect: bool = True,
    auto_curate: bool = True,
    playbook_name: str = DEFAULT,
    learning: Literal["inline", "background"] = "background",
    model: BaseChatModel | str | None = None,
    settings: Settings | None = None,
    on_task: TaskHook | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> tuple[Any, str]:
    """Run `task_fn`, sync or async, as a trajectory; return its result and the trajectory's id.

    It is called with a RunningTrajectory when it takes an argument; a sync one runs in a thread. It may
    return (result, "success" | "failure" | "partial") or a TaskResult, which counts as evidence; a result
    alone is a success without evidence. An exception, cancelling included, is recorded as a failure and
    raised. `learning`: "background" leaves it to a worker, "inline" learns before this returns (with `model`,
    or that of the settings). Without `auto_reflect` nothing is learned; without `auto_curate` all playbooks
    stay as they are.

    `playbook_name` is a named playbook, as name or owner/name, that is read beside the own memory, and that
    the lessons go to: written where the learner may write, proposed where they may propose, else kept in the
    own memory. `learned_into` of the trajectory says which. One that the learner can't read gives no advice,
    and the log says so.

    `on_task` is called before the task and after it, when its outcome is stored; a hook that fails is logged
    and changes nothing.

    Learning that fails is logged and never costs the result. `settings`, else the environment, say whether
    the steps are kept. Raises what the task raises; InvalidPlaybook for a name that can't be one; a
    StoreError when the trajectory can't be started.
    """
    own = PlaybookRef.parse(playbook_name, learner_id).is_memory_of(learner_id)
    tracing = (settings or Settings.load()).tracing
    state = await store.load(learner_id)
    advice: Playbook | None = None
    read: tuple[PlaybookRead, ...] = ()
    if not own:
        try:
            named = await (await open_playbook(store, playbook_name, learner_id)).read()
        except ChangeRefused as error:
            logger.warning("[ACE Trajectory] no advice from a named playbook: %s", error)
        else:
            entry = named.entry
            prefix = foreign_prefix(entry.owner or "", entry.name)
            advice = Playbook.of(as_foreign(prefix, named.playbook.bullets()))
            read = (PlaybookRead(entry.playbook_id, str(entry.version.label)),)
    found = retrieve(
        task,
        state.playbook,
        state.access,
        store.policy,
        now=clock(),
        budget_tokens=_BUDGET_TOKENS,
        base=advice,
    )
    ids = tuple(scored.bullet.id for scored in (*found.core, *found.retrieved))
    name = await start_trajectory(
        store,
        learner_id,
        task,
        agent=agent,
        task_type=task_type,
        parent_id=parent_id,
        injected=ids,
        playbooks=read,
        clock=clock,
    )
    running = RunningTrajectory(store, learner_id, name, format_context(found), ids, clock)
    begins = TaskEvent("begins", name, learner_id, task, agent, task_type, parent_id)
    await _tell(on_task, begins)
    into = None if own else playbook_name
    plain = Completion(learns=auto_reflect, curates=auto_curate, learn_into=into)
    try:
        returned = await _call_task(task_fn, running)
    except BaseException as error:
        why = f"{type(error).__name__}: {error}".strip()
        failed = replace(plain, error=why, score=0.0, source="tool")

        async def end() -> None:
            pending_id = await _complete(running, "failure", failed, tracing)
            await _tell(on_task, replace(begins, phase="ended", status="failure", pending_id=pending_id))

        await asyncio.shield(end())
        raise
    report = _report(returned)
    given = report.completion
    learns = plain.learns and given.learns
    completion = replace(given, learns=learns, curates=auto_curate, learn_into=into)
    pending_id = await _complete(running, report.status, completion, tracing)
    if pending_id is not None and learning == "inline":
        pending_id = await _learn_now(running, pending_id, model, settings)
    ended = replace(begins, phase="ended", status=report.status, pending_id=pending_id)
    await _tell(on_task, ended)
    return report.result, running.trajectory_id


async def _tell(on_task: TaskHook | None, event: TaskEvent) -> None:
    """Call the hook; what it raises is logged, because the task is not its business."""
    try:
        told = None if on_task is None else on_task(event)
        if told is not None:
            await told
    except Exception:
        logger.exception("[ACE Trajectory] the hook failed when %s %s", event.trajectory_id, event.phase)


async def _call_task(task_fn: Task, running: RunningTrajectory) -> object:
    takes = [p for p in inspect.signature(task_fn).parameters.values() if p.default is p.empty]
    given = (running,) if any(p.kind is not p.VAR_KEYWORD for p in takes) else ()
    if inspect.iscoroutinefunction(task_fn):
        return await task_fn(*given)

    def in_thread() -> object:
        try:
            return task_fn(*given)
        except StopIteration as error:
            # A future can't hold StopIteration: whoever awaits the thread would wait for ever.
            raise RuntimeError("the task raised StopIteration") from error

    returned = await asyncio.to_thread(in_thread)
    return await returned if inspect.isawaitable(returned) else returned


def _report(returned: object) -> TaskResult:
    if isinstance(returned, TaskResult):
        return returned
    pair = cast("tuple[object, ...]", returned) if isinstance(returned, tuple) else ()
    if len(pair) == 2 and isinstance(pair[1], str) and pair[1] in _STATUSES:
        return TaskResult(pair[0], cast("TurnStatus", pair[1]))
    return TaskResult(returned, "success", Completion(source=None))


async def _complete(
    running: RunningTrajectory, status: TurnStatus, completion: Completion, tracing: Tracing
) -> str | None:
    """Store the outcome; a failure is logged, because the task itself is done."""
    try:
        return await complete_trajectory(
            running.store,
            running.learner_id,
            running.trajectory_id,
            status,
            completion,
            tracing=tracing,
            clock=running.clock,
        )
    except AceError:
        logger.exception("[ACE Trajectory] the outcome of %s could not be stored", running.trajectory_id)
        return None


async def _learn_now(
    running: RunningTrajectory, pending_id: str, model: BaseChatModel | str | None, settings: Settings | None
) -> str | None:
    """Learn from the trajectory; return the id of what is left to a worker."""
    try:
        outcome = await learn_pending(
            running.learner_id,
            pending_id,
            model=model,
            store=running.store,
            settings=settings,
            clock=running.clock,
        )
    except AceError:
        logger.exception("[ACE Trajectory] %s is left to a worker", running.trajectory_id)
        return pending_id
    if outcome.status == "done":
        return None
    logger.warning("[ACE Trajectory] %s is left to a worker: %s", pending_id, outcome.error)
    return pending_id
