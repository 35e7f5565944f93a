"""From the tasks of a turn to the operations of its delta: evidence, reflector, curator, votes.

    learn_now(tasks)         at the end of the turn
    defer(tasks)             the votes and statements now, the reflection later, by a worker
    learn_from(task)         one task: reflect, curate, vote; what both of them come to

A reflector that fails costs its lessons and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ace_graph.agent.models import Usage
from ace_graph.agent.reasoning.attempt import AnswerAgain, ReplayOutcome, may_retry
from ace_graph.agent.runtime import Run, log_text, logger
from ace_graph.agent.state import Judged, Learning, Pair, Rejected
from ace_graph.base.errors import AceError, LearningError, StoreError
from ace_graph.base.off_loop import run_off_loop
from ace_graph.learning.curator import (
    credit_lessons,
    failed_advice,
    for_review,
    judge_bullets,
    lessons_to_operations,
)
from ace_graph.learning.feedback import JudgedTurn
from ace_graph.learning.learn_into import teams_for_worker
from ace_graph.learning.llm_curator import Curated, Decided, curate_with_model
from ace_graph.learning.reflection import BulletVerdict, Lesson
from ace_graph.learning.reflector import OnRoleUsage, ReflectionResult, reflect
from ace_graph.learning.statements.forms import SENSITIVE
from ace_graph.learning.statements.model_facts import (
    ReadMessage,
    WantedFacts,
    learner_facts,
    stated_later,
    with_told,
)
from ace_graph.learning.statements.turn_source import from_trajectory, from_turn
from ace_graph.learning.tasks import (
    FinishedTurn,
    LearningTask,
    PendingWork,
    TurnTasks,
    is_small_talk,
    task_of,
)
from ace_graph.learning.turn_record import stored_reflection
from ace_graph.memory.classify import infer_topic
from ace_graph.memory.commit import Commit, Pending
from ace_graph.memory.delta.effect import Report
from ace_graph.memory.delta.operations import Add, Analyze, Delta, Judge, Operation, Reflect
from ace_graph.memory.foreign import is_foreign
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.search.tokenize import terms
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.memories import Unsaved
from ace_graph.memory.turn import GRAPH_AGENT, LearnedInto, TurnRecord, TurnReflection
from ace_graph.memory.vocabulary import NO_LABELS, Vocabulary, vocabulary_of

MAX_REASON_CHARS = 450
"""Of the reason for a delta: a little less than it may hold, for what a worker puts before it."""


@dataclass(frozen=True)
class LearningResult:
    """What was learned from a turn, or from one of its tasks; results of several tasks add up.

    `usage` is by role. `problems` are lessons that were left out, and why; `error` says that the reflector
    failed. `judged` is the turn that the message gave feedback on, `reason` becomes that of the delta.
    `withheld` are passages of the turn's message that no bullet keeps words of. `replay` says what came of
    trying the lessons. `lessons` are the refs of the lessons among the operations, `curator_replies` what a
    model that curated replied.
    """

    operations: tuple[Operation, ...] = ()
    usage: Mapping[str, Usage] = field(default_factory=dict[str, Usage])
    problems: tuple[str, ...] = ()
    error: str | None = None
    judged: JudgedTurn | None = None
    cleared: tuple[str, ...] = ()
    reflections: tuple[TurnReflection, ...] = ()
    reason: str = ""
    withheld: tuple[str, ...] = ()
    replay: ReplayOutcome | None = None
    lessons: tuple[str, ...] = ()
    curator_replies: tuple[str, ...] = ()
    read: tuple[str, ...] = ()

    def __add__(self, other: LearningResult) -> LearningResult:
        return LearningResult(
            self.operations + other.operations,
            {
                role: self.usage.get(role, Usage()) + other.usage.get(role, Usage())
                for role in (*self.usage, *other.usage)
            },
            self.problems + other.problems,
            self.error or other.error,
            self.judged or other.judged,
            self.cleared + other.cleared,
            self.reflections + other.reflections,
            " ".join(reason for reason in (self.reason, other.reason) if reason)[:MAX_REASON_CHARS],
            self.withheld + other.withheld,
            self.replay or other.replay,
            self.lessons + other.lessons,
            self.curator_replies + other.curator_replies,
            self.read + other.read,
        )

    @property
    def analyzed(self) -> tuple[Operation, ...]:
        """The operation that counts the turns that a reflector has read, if it has read any."""
        turns = dict.fromkeys([*self.read, *(each.turn_id for each in self.reflections if not each.fallback)])
        return (Analyze(turn_ids=tuple(turns)),) if turns else ()

    @property
    def next_ref(self) -> int:
        """The number of the next lesson that an operation adds."""
        return 1 + sum(operation.op == "add" for operation in self.operations)


async def learn_now(
    tasks: TurnTasks,
    snapshot: Snapshot,
    run: Run,
    attempt: str,
    answer_again: AnswerAgain | None = None,
    *,
    elsewhere: bool = False,
) -> LearningResult:
    """Return what the turn teaches. Raises nothing that a model may raise.

    `attempt` is the id of the turn's attempt, from which ids of reflections follow. `answer_again` answers
    the question once more, for a reflector with rounds left. `elsewhere`: see `LearningPass`.
    """
    how = LearningPass(run, attempt, elsewhere=elsewhere)
    result = LearningResult(cleared=tasks.cleared)
    if tasks.previous is not None:
        judged, previous = tasks.previous
        result += LearningResult(judged=_checked_feedback(judged, previous))
        result += await learn_from(previous, snapshot, how)
    current = tasks.current
    first_ref = result.next_ref + sum(operation.op == "add" for operation in tasks.operations)
    retry = answer_again if may_retry(current.evidence, run) else None
    learned = await learn_from(current, snapshot, how, first_ref=first_ref, answer_again=retry)
    stated = await _sourced(tasks.operations, current.subject, run, learned.withheld)
    return LearningResult(stated, read=tasks.dropped) + result + learned


async def defer(
    tasks: TurnTasks, turn_id: str, pending_id: str, run: Run
) -> tuple[LearningResult, Pending | None]:
    """Return what the turn's commit changes at once, and the work left to a worker; None: nothing is left.

    `pending_id` is the op id of the commit that completes the work.
    """
    later = tuple(task for task in tasks.all if task.reflects or task.found)
    if not later:
        return await immediate_votes(tasks, run), None
    teams = await teams_for_worker(run)
    work = PendingWork(
        looks=later,
        max_reflection_rounds=run.context.max_reflection_rounds,
        model=run.context.model,
        temperature=run.context.temperature,
        learn_into=run.context.learn_into,
        teams=teams,
        agent=run.context.agent if run.context.learn_into else None,
    )
    return await immediate_votes(tasks, run), work.as_pending(pending_id, turn_id)


async def immediate_votes(tasks: TurnTasks, run: Run) -> LearningResult:
    """Return what needs no reflection: uses, statements, and votes on the bullets that were cited."""
    votes = (vote for task in tasks.all for vote in _votes(task, None))
    judged = _checked_feedback(*tasks.previous) if tasks.previous else None
    stated = await _sourced(tasks.operations, tasks.current.subject, run)
    # Turns that are handed over wait no more, however long the worker takes
    read = (*tasks.dropped, *tasks.current.together)
    return LearningResult((*stated, *votes), judged=judged, cleared=tasks.cleared, read=read)


def _checked_feedback(judged: JudgedTurn, task: LearningTask) -> JudgedTurn:
    """The feedback as it counts: `unknown` for an objection to an answer that a check found right."""
    if judged.evidence in task.evidence:
        return judged
    return replace(judged, feedback=replace(judged.feedback, verdict="unknown"))


@dataclass(frozen=True)
class LearningPass:
    """How tasks are learned from, one after the other.

    `attempt` names this try, the same when it is repeated. `late`: the turns were voted on before, so their
    votes are only made more exact, and what can be retried later is raised: ModelError, ConfigurationError.
    `elsewhere`: the lessons are for a named playbook, so no model compares them with the own memory.
    """

    run: Run
    attempt: str
    late: bool = False
    elsewhere: bool = False


async def learn_from(
    task: LearningTask,
    snapshot: Snapshot,
    how: LearningPass,
    *,
    first_ref: int = 1,
    answer_again: AnswerAgain | None = None,
) -> LearningResult:
    """Reflect on one turn if wanted, and turn its lessons and verdicts into operations."""
    run, late, elsewhere = how.run, how.late, how.elsewhere
    usage = dict[str, Usage]()

    def count(role: str, more: Usage) -> None:
        usage[role] = usage.get(role, Usage()) + more

    reflected, error, together = None, None, await _read_together(task, run)
    if task.reflects:
        reflected, error = await _try_to_reflect(
            task, snapshot, run, count, answer_again, together, late=late
        )
    votes = _votes(task, reflected, late=late)
    adds, sensitive = list[Add](), run.resources.settings.sensitive_facts
    if lessons := (*task.found, *(reflected.lessons if reflected else ())):
        labels = NO_LABELS if elsewhere else vocabulary_of(snapshot.playbook.entries.values())
        taught = _by_turn(lessons, task.subject, together)
        adds = _adds(taught[task.subject.turn_id], task, reflected, votes, first_ref, labels)
        for turn in together:
            told = lessons_to_operations(
                taught[turn.turn_id],
                topic=turn.topic or infer_topic(turn.question),
                source=turn.turn_id,
                start=first_ref + len(adds),
                vocabulary=labels,
            )
            adds += from_trajectory(told, turn, sensitive)
    curated = Curated(Decided(tuple(adds)), Usage())
    reflection = reflected.reflection if reflected else None
    asks_model = run.resources.settings.curator_use_llm and not task.unattributed and not elsewhere
    if adds and asks_model:
        curated = await curate_with_model(adds, task.subject.question, reflection, snapshot, run)
        count("curator", curated.usage)
        votes = _votes(task, reflected, curated.decided.tags, late=late)
    facts, decided = await _facts(task, reflected, snapshot, run, together), curated.decided
    # The verdict is on this turn, and says nothing of what earlier ones taught
    earlier = {turn.turn_id for turn in together}
    own = [each for each in decided.lessons if not (isinstance(each, Add) and each.turn_id in earlier)]
    votes = credit_lessons(votes, own)
    # The sensitive passages that the reflector found and that are not kept
    kept = " ".join(add.content for add in facts.operations)
    withheld = tuple(
        fact.quote
        for fact in (reflection.learner_facts if reflection else ())
        if fact.kind in SENSITIVE and fact.quote not in kept
    )
    found = reflected.problems if reflected else ()
    reflections = (stored_reflection(task, reflected, error, run, how.attempt),) if task.reflects else ()
    insight = reflected.insight if reflected is not None and not task.unattributed else ""
    # Blame comes first: a bullet that a lesson supersedes takes no vote any more. Credit may name lessons of
    # this delta, which have to be there before it.
    operations = (
        *(vote for vote in votes if vote.verdict != "success"),
        *decided.lessons,
        *(vote for vote in votes if vote.verdict == "success"),
        *decided.proposals,
        *([Reflect(insight=insight, topic=task.subject.topic)] if insight else ()),
        *facts.operations,
    )
    return LearningResult(
        await _sourced(operations, task.subject, run, withheld),
        usage,
        (*found, *decided.problems, *facts.problems),
        error,
        reflections=reflections,
        reason=curated.reasoning,
        withheld=withheld,
        replay=reflected.replay if reflected else None,
        lessons=tuple(add.ref for add in adds if add.ref is not None),
        curator_replies=curated.raw,
        read=tuple(turn.turn_id for turn in together) if reflected is not None else (),
    )


async def _read_together(task: LearningTask, run: Run) -> tuple[FinishedTurn, ...]:
    """Return the turns that are read with this one as they are stored, the oldest first; greetings aside."""
    if not task.together:
        return ()
    try:
        records = await run.resources.store.turns(run.learner_id or "", 2 * len(task.together))
    except StoreError:
        logger.exception("[ACE Reflector] the waiting turns can't be read, so they keep waiting")
        return ()
    wanted = {
        record.turn_id: replace(task_of(record, ()).subject, day=record.started_at.date())
        for record in reversed(records)
        if record.turn_id in task.together and record.agent == GRAPH_AGENT and not record.unattributed
    }
    return tuple(turn for turn in wanted.values() if not is_small_talk(turn.question))


def _by_turn(
    lessons: Sequence[Lesson], subject: FinishedTurn, together: Sequence[FinishedTurn]
) -> dict[str, list[Lesson]]:
    """Return the lessons by the turn whose question they share most words with; of equals the latest."""
    turns = (subject, *reversed(together))
    found: dict[str, list[Lesson]] = {turn.turn_id: [] for turn in turns}
    asked = [(turn.turn_id, frozenset(terms(turn.question))) for turn in turns] if together else []
    for lesson in lessons:
        own = frozenset(terms(lesson.content)) if asked else frozenset[str]()
        best = max(asked, key=lambda turn: len(own & turn[1]), default=(subject.turn_id, own))
        found[best[0]].append(lesson)
    return found


async def _sourced(
    operations: Sequence[Operation], turn: FinishedTurn, run: Run, withheld: Sequence[str] = ()
) -> tuple[Operation, ...]:
    sensitive = run.resources.settings.sensitive_facts
    return await run_off_loop(len(turn.question), from_turn, operations, turn, sensitive, withheld)


async def _try_to_reflect(
    task: LearningTask,
    snapshot: Snapshot,
    run: Run,
    count: OnRoleUsage,
    answer_again: AnswerAgain | None,
    together: Sequence[FinishedTurn],
    *,
    late: bool,
) -> tuple[ReflectionResult | None, str | None]:
    try:
        subject, known = task.subject, task.known
        return await reflect(subject, known, snapshot, run, count, answer_again, together), None
    except AceError as failure:
        if late and not isinstance(failure, LearningError):
            raise
        logger.error("[ACE Reflector] %s", failure)
        return None, str(failure)
    except Exception as failure:
        if late:
            raise
        logger.exception("[ACE Reflector] failed")
        return None, f"the reflector failed: {type(failure).__name__}"


async def _facts(
    task: LearningTask,
    reflected: ReflectionResult | None,
    snapshot: Snapshot,
    run: Run,
    together: Sequence[FinishedTurn],
) -> WantedFacts:
    """What the learner said of themselves in the message that the turn answered, and in those before it."""
    wanted = WantedFacts()
    if reflected is None or not task.own_message:
        return wanted
    left, sensitive = list(reflected.reflection.learner_facts), run.resources.settings.sensitive_facts
    for turn in (*together, task.subject):
        facts = [fact for fact in left if turn is task.subject or fact.quote in turn.question]
        left = [fact for fact in left if fact not in facts]
        if not facts:
            continue
        found = await run_off_loop(
            len(turn.question),
            learner_facts,
            turn.question,
            facts,
            snapshot.playbook,
            turn.turn_id,
            sensitive,
            stated_later(turn.turn_id, snapshot),
            ReadMessage(turn.said, turn.day),
        )
        operations = found.operations
        if turn is not task.subject:
            operations = tuple(from_trajectory(operations, turn, sensitive))
        wanted = WantedFacts(
            wanted.operations + operations, wanted.asked + found.asked, wanted.problems + found.problems
        )
    return wanted


def _votes(
    task: LearningTask,
    reflected: ReflectionResult | None,
    curator_tags: Sequence[BulletVerdict] = (),
    *,
    late: bool = False,
) -> list[Judge]:
    """The votes on bullets. Where reflector and curator tag the same bullet, the reflector's tag counts."""
    votes = judge_bullets(
        task.subject.turn_id,
        task.evidence,
        injected=task.subject.injected,
        cited=task.subject.cited if task.blames else (),
        tags=(*curator_tags, *(reflected.reflection.bullet_tags if reflected else ())),
    )
    return [vote.model_copy(update={"refines": True}) for vote in votes] if late else votes


def _adds(
    lessons: Sequence[Lesson],
    task: LearningTask,
    reflected: ReflectionResult | None,
    votes: Sequence[Judge],
    first_ref: int,
    labels: Vocabulary,
) -> list[Add]:
    # A lesson about the form alone contests what was cited, although that gets no vote.
    failed = votes if task.blames else _votes(task.model_copy(update={"blames": True}), reflected)
    adds = lessons_to_operations(
        lessons,
        topic=task.subject.topic or infer_topic(task.subject.question),
        source=task.subject.turn_id,
        evidence=task.evidence,
        start=first_ref,
        contests=failed_advice(failed, task.known),
        vocabulary=labels,
    )
    said = f"{task.subject.question}\n{task.subject.additional_context}"
    adds = [
        add if add.memory_type == "procedural" else with_told(add, lesson, said, task.subject.day)
        for add, lesson in zip(adds, lessons, strict=True)
    ]
    if task.unattributed:
        return for_review(adds)
    helped = reflected.helped if reflected else ()
    return [add.model_copy(update={"helpful": 1}) if add.content in helped else add for add in adds]


# What a turn's learning came to: the `learning` of the output, its log lines, and the counts of
# `ace_delta`.
#
# Written after the commit, from the report of the effect that was committed, so it says what really
# changed.


def skipped(turn_id: str, reason: str | None) -> Learning:
    """Return the outcome of a turn that stored nothing."""
    outcome = _empty(turn_id)
    outcome["skipped"] = reason
    return outcome


def committed(
    turn_id: str,
    base: Snapshot,
    commit: Commit,
    result: LearningResult,
    run: Run,
    pending: Pending | None = None,
    learned_into: LearnedInto | None = None,
) -> Learning:
    """Return what the commit changed, and log it. `base` is the memory before it, `pending` the work it left.

    `learned_into` says what became of lessons for a named playbook, which are in a commit of their own.
    """
    report = commit.report
    if commit.status == "applied":
        _log(report, base.playbook, commit.snapshot, run)
    outcome = _empty(turn_id)
    outcome["version"] = commit.version.n
    outcome["added"] = list(report.added)
    outcome["updated"] = list(
        dict.fromkeys([*report.updated, *report.reinforced, *report.restored, *report.released])
    )
    outcome["tagged"] = list(report.tagged)
    for pairs, found in ((outcome["merged"], report.merged), (outcome["superseded"], report.superseded)):
        pairs += [Pair(kept=pair.kept, gone=pair.gone) for pair in found]
    gone = [*result.cleared, *report.removed, *(pruned.id for pruned in report.pruned)]
    outcome["removed"] = list(dict.fromkeys(gone))
    outcome["quarantined"] = list(report.quarantined)
    outcome["rejected"] = [Rejected(op=r.op, id=r.id, why=r.why) for r in report.rejected]
    outcome["rejected"] += [Rejected(op="lesson", id="", why=why) for why in result.problems]
    outcome["error"] = result.error
    outcome["replay"] = result.replay
    outcome["curator_replies"] = list(result.curator_replies)
    outcome["pending"] = pending.pending_id if pending else None
    outcome["learned_into"] = learned_into
    if (judged := result.judged) is not None:
        outcome["feedback"] = Judged(turn_id=judged.turn.turn_id, verdict=judged.feedback.verdict)
    return outcome


def failed(
    turn_id: str,
    learner_id: str,
    base: Snapshot,
    delta: Delta,
    record: TurnRecord | None,
    error: StoreError,
    pending: Pending | None = None,
) -> Learning:
    """Return the outcome of a turn that could not be saved, with all that is needed to save it later."""
    outcome = _empty(turn_id)
    outcome["error"] = f"{type(error).__name__}: {error}"
    epoch = base.version.epoch
    unsaved = Unsaved(learner_id=learner_id, epoch=epoch, delta=delta, record=record, pending=pending)
    outcome["unsaved"] = unsaved.model_dump_json()
    return outcome


def _empty(turn_id: str) -> Learning:
    return {
        "turn_id": turn_id,
        "version": None,
        "added": [],
        "updated": [],
        "tagged": [],
        "merged": [],
        "superseded": [],
        "removed": [],
        "quarantined": [],
        "rejected": [],
        "pending": None,
        "skipped": None,
        "feedback": None,
        "replay": None,
        "learned_into": None,
        "curator_replies": [],
        "error": None,
        "unsaved": None,
    }


def _log(report: Report, before: Playbook, snapshot: Snapshot, run: Run) -> None:
    def content(bullet_id: str) -> str:
        bullet = snapshot.playbook.get_bullet(bullet_id)
        return log_text(run.resources, bullet.content) if bullet else ""

    for bullet_id in report.added:
        logger.info("[ACE Memory][Delta Add] id=%s content=%s", bullet_id, content(bullet_id))
    for bullet_id in report.reinforced:
        logger.info("[Curator][Heuristic Reinforce] id=%s content=%s", bullet_id, content(bullet_id))
        logger.info("[ACE Memory][Dedup Merge] kept=%s merged=%s", bullet_id, "(the lesson that came again)")
    for pair in report.merged:
        logger.info("[ACE Memory][Dedup Merge] kept=%s merged=%s", pair.kept, pair.gone)
    for pair in report.superseded:
        logger.info("[ACE Memory][Delta Update] id=%s supersedes=%s", pair.kept, pair.gone)
    for bullet_id in dict.fromkeys([*report.updated, *report.tagged, *report.quarantined, *report.released]):
        logger.info("[ACE Memory][Delta Update] id=%s content=%s", bullet_id, content(bullet_id))
    for bullet_id in report.removed:
        logger.info("[ACE Memory][Delta Remove] id=%s", bullet_id)
    for pruned in report.pruned:
        line, bullet = f"Pruned id={pruned.id} score={pruned.score:.3f}", before.get_bullet(pruned.id)
        if bullet is not None:  # else another process added it since the memory was read
            tags = [log_text(run.resources, tag) for tag in bullet.tags]
            text = log_text(run.resources, bullet.content)
            line += f" helpful={bullet.helpful} harmful={bullet.harmful} tags={tags} content={text}"
        logger.info("[ACE Memory][Prune] %s", line)
    if report.pruned:
        logger.info("[ACE Memory][Prune] Pruned count=%d", len(report.pruned))
    for refusal in report.rejected:
        logger.info("[ACE Memory][Delta Rejected] op=%s why=%s", refusal.op, refusal.why)
    # Log how the playbook grew or shrank, and how many of its bullets changed
    came = len(report.added) + len(report.restored)
    went = len(report.removed) + len(report.pruned) + len(report.merged) + len(report.superseded)
    changed = {*report.reinforced, *report.updated, *report.tagged, *report.quarantined, *report.released}
    if came or went or changed:
        logger.info(
            "[ACE Memory][Playbook] version %d: bullets %d -> %d (%d came, %d went, %d changed)",
            snapshot.version.n,
            len(snapshot.playbook) - came + went,
            len(snapshot.playbook),
            came,
            went,
            len(changed - {*report.added, *report.restored}),
        )


def ace_delta(learning: Learning) -> dict[str, int]:
    """Return the counts. A bullet that came and went in the same commit is in none of them."""
    added = set(learning["added"])
    gone = {*learning["removed"], *(pair["gone"] for pair in (*learning["merged"], *learning["superseded"]))}
    changed = {*learning["updated"], *learning["tagged"], *learning["quarantined"]}
    changed |= {pair["kept"] for pair in learning["merged"]}
    own = {name for name in changed if not is_foreign(name)}
    return {
        "num_new_bullets": len(added - gone),
        "num_updates": len(own - added - gone),
        "num_removals": len(gone - added),
    }
