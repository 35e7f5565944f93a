"""Lessons for a named playbook (`learn_into`): whether they may go there, and the commit that takes them.

    destination = await find_destination(run)            the playbook, written or proposed to; or why not
    lessons = await lessons_for(destination, ...)        those that are not the learner's own business
    delivery = await deliver(destination, lessons, ...)  one commit, or one proposal; what is left, and why

The turn's own commit holds everything else: the record, votes, and what the learner said of themselves. It
holds the lessons as pending work, too, which a worker does where the process dies in between. What the
playbook or the store refused is left for the own memory, so no lesson is lost. A repeated delivery has the
same op id and changes nothing. A turn adds to a named playbook, or strengthens what that says already; it
rewrites and removes nothing there, except that in a playbook of the learner's own a correction takes the
place of advice that has just failed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from ace_graph.agent.reasoning.recall import caller_in_run
from ace_graph.agent.runtime import Run, logger
from ace_graph.base.errors import AceError, PlaybookForbidden, StoreError
from ace_graph.base.off_loop import run_off_loop
from ace_graph.learning.curator import is_judged, stays_own
from ace_graph.learning.tasks import PendingWork, UndeliveredLessons
from ace_graph.memory.catalogue import PlaybookRef
from ace_graph.memory.commit import Pending, operation_id
from ace_graph.memory.delta.operations import Add, Delta, Judge, Operation
from ace_graph.memory.foreign import foreign_prefix, local_id
from ace_graph.memory.rights import Right
from ace_graph.memory.stores.store import Store
from ace_graph.memory.turn import LearnedInto
from ace_graph.playbooks.content import without_turns
from ace_graph.playbooks.handle import PlaybookHandle, User, open_playbook
from ace_graph.playbooks.proposing import Proposals

AUTHOR = "ace_learning"
PERSONAL = "what may be about the learner, or is held back, stays in the learner's memory"
UNJUDGED = (
    "the playbook takes lessons of judged runs alone; the others, and what may be about the learner, or is "
    "held back, stay in the learner's memory"
)
SAID_ALREADY = "the playbook, or an open proposal, says it already"
_TEAMS_KEPT = 100


@dataclass(frozen=True)
class Destination:
    """The playbook that a run's lessons are meant for, and how they get there.

    Without a `playbook` they stay in the learner's memory, for the reason `why`. `judged`: lessons
    without evidence do.
    """

    name: str
    playbook: PlaybookHandle | None = None
    proposes: bool = False
    judged: bool = False
    why: str | None = None


@dataclass(frozen=True)
class Delivery:
    """What became of the lessons that were to go: a report, and the refs of those for the own memory."""

    report: LearnedInto
    left: frozenset[str] = frozenset()


async def find_destination(run: Run, *, late: bool = False) -> Destination | None:
    """Return where the lessons of a run go; None: into the own memory, as nothing else was asked for.

    `late`: a worker learns, so an error of the store is raised, to be tried again. Else nothing is raised.
    """
    wanted, learner_id = run.context.learn_into, run.learner_id
    if wanted is None or learner_id is None:
        return None
    ref = PlaybookRef.parse(wanted, learner_id)
    if ref.is_memory_of(learner_id):
        return None
    name, resources = f"{ref.owner}/{ref.name}", run.resources
    try:
        store = resources.store
        directory = resources.directory or store
        caller = await caller_in_run(learner_id, [ref], directory, run.context.teams, run.context.agent)
        playbook, proposes = await open_for_lessons(store, wanted, learner_id, caller)
    except AceError as error:
        if late and isinstance(error, StoreError):
            raise
        logger.warning("[ACE Memory][Learn Into] lessons stay in the learner's memory: %s", error)
        return Destination(name, why=str(error))
    judged = playbook.entry is not None and playbook.entry.lessons == "judged"
    return Destination(name, playbook, proposes, judged)


async def open_for_lessons(
    store: Store, name: str, learner_id: str, user: User = None
) -> tuple[PlaybookHandle, bool]:
    """Return the playbook, and whether lessons are only proposed to it.

    Raises PlaybookNotFound, PlaybookForbidden for a learner who may not even propose and for a playbook that
    takes no lessons, and what the store raises.
    """
    playbook = await open_playbook(store, name, learner_id, user)
    rule = "written" if playbook.entry is None else playbook.entry.lessons
    writes = await playbook.may(Right.WRITE)
    if not writes:
        await playbook.require(Right.PROPOSE)
    if rule == "off":
        raise PlaybookForbidden(
            f"the playbook {playbook.ref.name} takes no lessons of runs: "
            "its owner can change that (playbook edit --lessons)"
        )
    return playbook, not writes or rule == "proposed"


async def teams_for_worker(run: Run) -> tuple[str, ...] | None:
    """Return the learner's teams as this run knows them, at most 100: a worker has no token and no directory.

    None: a worker asks the store's table, which says who is in a team by then.
    """
    wanted, learner_id, directory = run.context.learn_into, run.learner_id, run.resources.directory
    if wanted is None or learner_id is None:
        return None
    teams = run.context.teams
    if teams is None and directory is not None:
        ref = PlaybookRef.parse(wanted, learner_id)
        teams = tuple(sorted((await caller_in_run(learner_id, [ref], directory, None, None)).teams))
    return None if teams is None else teams[:_TEAMS_KEPT]


async def undelivered_item(lessons: UndeliveredLessons, turn_id: str, pending_id: str, run: Run) -> Pending:
    """Return the work that takes the lessons to their playbook should this process not come to it."""
    teams, context = await teams_for_worker(run), run.context
    work = PendingWork(
        looks=(), learn_into=context.learn_into, teams=teams, agent=context.agent, undelivered=lessons
    )
    return work.as_pending(pending_id, turn_id)


async def lessons_for(
    destination: Destination | None, operations: Sequence[Operation], refs: Collection[str]
) -> tuple[Add, ...]:
    """Return those of the lessons that go to the playbook. `refs` are the lessons among the operations."""
    if destination is None or destination.playbook is None:
        return ()
    judged = destination.judged
    lessons = [
        each
        for each in operations
        if isinstance(each, Add) and each.ref in refs and (not judged or is_judged(each))
    ]
    length = sum(len(each.content) for each in lessons)
    return await run_off_loop(length, lambda: tuple(each for each in lessons if not stays_own(each)))


def without_lessons(operations: Iterable[Operation], refs: Collection[str]) -> tuple[Operation, ...]:
    """Return the operations without these lessons, and without the credit that votes give them."""
    left = list[Operation]()
    for operation in operations:
        if isinstance(operation, Judge) and not set(refs).isdisjoint(operation.bullet_ids):
            named = tuple(name for name in operation.bullet_ids if name not in refs)
            left.append(operation.model_copy(update={"bullet_ids": named}))
        elif not (isinstance(operation, Add) and operation.ref in refs):
            left.append(operation)
    return tuple(left)


def only_lessons(operations: Iterable[Operation], refs: Collection[str]) -> tuple[Operation, ...]:
    """Return these lessons, and the votes that credit them, which name again whom they named before."""
    chosen = list[Operation]()
    for operation in operations:
        if isinstance(operation, Add) and operation.ref in refs:
            chosen.append(operation)
        elif isinstance(operation, Judge) and not set(refs).isdisjoint(operation.bullet_ids):
            chosen.append(operation.model_copy(update={"refines": True}))
    return tuple(chosen)


async def deliver(
    destination: Destination,
    lessons: Sequence[Add],
    learned: int,
    op_id: str,
    run: Run,
    *,
    late: bool = False,
) -> Delivery:
    """Take the lessons to the playbook, in a commit or a proposal of their own.

    `learned` is how many lessons there were in all, `op_id` that of the commit to the own memory which they
    belong to. `late`: an error of the store is raised, to be tried again; any other failure is reported.
    """
    playbook, refs = destination.playbook, frozenset(each.ref or "" for each in lessons)
    stay = destination.why or (UNJUDGED if destination.judged else PERSONAL)
    if playbook is None or not lessons:
        return Delivery(_report(destination.name, "own memory", kept=learned, why=stay), refs)
    # In a playbook of many writers an op id must be the learner's own: hosts choose the ids of turns
    own_id, now = operation_id("learn_into", run.learner_id or "", op_id), run.resources.clock()
    try:
        send = _propose if destination.proposes else _write
        done = await send(playbook, destination.name, lessons, own_id, now)
    except AceError as error:
        if late and isinstance(error, StoreError):
            raise
        logger.error("[ACE Memory][Learn Into] lessons go to the learner's memory: %s", error)
        return Delivery(_report(destination.name, "own memory", kept=learned, why=str(error)), refs)
    kept = learned - len(lessons) + len(done.left)
    why = done.report["why"] or (stay if kept else None)
    logger.info("[ACE Memory][Learn Into] %d lessons %s", done.report["count"], done.report["how"])
    return replace(done, report={**done.report, "kept": kept, "why": why})


def _report(
    playbook: str,
    how: Literal["written", "proposed", "own memory"],
    count: int = 0,
    *,
    kept: int = 0,
    why: str | None = None,
    bullet_ids: Iterable[str] = (),
    proposal_id: str | None = None,
) -> LearnedInto:
    return {
        "playbook": playbook,
        "how": how,
        "count": count,
        "kept": kept,
        "why": why,
        "bullet_ids": list(dict.fromkeys(bullet_ids)),
        "proposal_id": proposal_id,
    }


async def _write(
    playbook: PlaybookHandle, name: str, lessons: Sequence[Add], op_id: str, now: datetime
) -> Delivery:
    prefix, adds = foreign_prefix(playbook.ref.owner or "", playbook.ref.name), list[Add]()
    for lesson in without_turns(lessons):
        # It enters a playbook without votes, and contests what failed of that playbook only.
        failed = tuple(filter(None, (local_id(prefix, each) for each in lesson.contests)))
        adds.append(lesson.model_copy(update={"helpful": 0, "contests": failed}))
    delta = Delta(
        op_id=op_id,
        now=now,
        operations=tuple(adds),
        author=AUTHOR,
        reason="learned from a turn",
        origin="turn",
    )
    done = await playbook.commit(delta, await playbook.load())
    taken = done.report.refs
    left = [each for each in lessons if each.ref not in taken] if done.status == "applied" else []
    why = done.report.rejected[0].why if left and done.report.rejected else None
    report = _report(
        name,
        "written" if taken else "own memory",
        len(taken),
        kept=len(left),
        why=why,
        bullet_ids=taken.values(),
    )
    return Delivery(report, frozenset(each.ref or "" for each in left))


async def _propose(
    playbook: PlaybookHandle, name: str, lessons: Sequence[Add], op_id: str, now: datetime
) -> Delivery:
    made = await Proposals(playbook).propose_lessons(lessons, op_id, now)
    if made is None:
        return Delivery(_report(name, "proposed", why=SAID_ALREADY))
    return Delivery(_report(name, "proposed", len(made.texts), proposal_id=made.proposal_id))
