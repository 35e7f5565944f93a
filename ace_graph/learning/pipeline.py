"""What a turn leaves to a worker: the votes and statements now, the looking back later.

Looking back at a turn: its verdicts and the reflector's lessons become the operations of one delta.

`learn` does it at the end of the turn; `look_back` is one look, which a worker does later. A reflector
that fails costs its lessons and nothing else.

Does not: store it; both travel in the turn's one commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ace_graph.errors import AceError, LearningError
from ace_graph.learning.curator import (
    credit_lessons,
    failed_advice,
    judge_bullets,
    lessons_to_operations,
)
from ace_graph.learning.feedback import Earlier
from ace_graph.learning.llm_curator import Curated, Decided, curate_with_model
from ace_graph.learning.reflection import BulletVerdict
from ace_graph.learning.reflector import Reflected, Spend, reflect
from ace_graph.learning.tasks import Look, Looks, PendingWork
from ace_graph.learning.turn_record import told
from ace_graph.memory.delta.operations import Add, Judge, Operation, Reflect
from ace_graph.memory.pending import Pending
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.turn import TurnReflection
from ace_graph.models import Usage
from ace_graph.reasoning.attempt import AnswerAgain, may_retry
from ace_graph.runtime import Run, logger

__all__ = ["set_aside"]


MAX_REASON_CHARS = 450
"""Of the reason for a delta: a little less than it may hold, for what a worker puts before it."""

__all__ = ["Learned", "learn", "look_back", "votes_at_once"]


@dataclass(frozen=True)
class Learned:
    """What was learned, what it cost by role, what was left out and why, what failed, and the reason."""

    operations: tuple[Operation, ...] = ()
    usage: Mapping[str, Usage] = field(default_factory=dict[str, Usage])
    problems: tuple[str, ...] = ()
    error: str | None = None
    judged: Earlier | None = None
    cleared: tuple[str, ...] = ()
    reflections: tuple[TurnReflection, ...] = ()
    reason: str = ""

    def __add__(self, other: Learned) -> Learned:
        return Learned(
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
        )

    @property
    def next_ref(self) -> int:
        """The number of the next lesson that an operation adds."""
        return 1 + sum(operation.op == "add" for operation in self.operations)


async def learn(looks: Looks, snapshot: Snapshot, run: Run, again: AnswerAgain | None = None) -> Learned:
    """Collect the operations of this turn. Raises nothing that a model may raise.

    `again` answers the question once more, for a reflector with rounds left.
    """
    learned = Learned(looks.operations, cleared=looks.cleared)
    if looks.earlier is not None:
        judged, look = looks.earlier
        learned += await look_back(look, snapshot, run) + Learned(judged=_counted(judged, look))
    retry = again if may_retry(looks.this.evidence, run) else None
    return learned + await look_back(looks.this, snapshot, run, first_ref=learned.next_ref, again=retry)


def votes_at_once(looks: Looks) -> Learned:
    """Return what is certain before anybody reflects: uses, statements, and votes for what was cited."""
    votes = (vote for look in looks.all for vote in _votes(look, None))
    judged = _counted(*looks.earlier) if looks.earlier else None
    return Learned((*looks.operations, *votes), judged=judged, cleared=looks.cleared)


def _counted(judged: Earlier, look: Look) -> Earlier:
    """The feedback as it counts: `unknown` for an objection to an answer that a check found right."""
    if judged.evidence in look.evidence:
        return judged
    return replace(judged, feedback=replace(judged.feedback, verdict="unknown"))


async def look_back(
    look: Look,
    snapshot: Snapshot,
    run: Run,
    *,
    first_ref: int = 1,
    again: AnswerAgain | None = None,
    late: bool = False,
) -> Learned:
    """Reflect on one turn if wanted, and turn its lessons and verdicts into operations.

    `late`: the turn was voted on before, so its votes are only made more exact, and what can be tried
    again later is raised: ModelError, ConfigurationError.
    """
    reflected, error = None, None
    costs = dict[str, Usage]()

    def spend(role: str, more: Usage) -> None:
        costs[role] = costs.get(role, Usage()) + more

    if look.reflects:
        reflected, error = await _try_to_reflect(look, snapshot, run, spend, again, late=late)
    votes = _votes(look, reflected, late=late)
    adds = _lessons(look, reflected, votes, first_ref)
    curated = Curated(Decided(tuple(adds)), Usage())
    if adds and run.resources.settings.curator_use_llm:
        reflection = reflected.reflection if reflected else None
        curated = await curate_with_model(adds, look.subject.question, reflection, snapshot, run)
        spend("curator", curated.usage)
        votes = _votes(look, reflected, curated.decided.tags, late=late)
    decided = curated.decided
    votes = credit_lessons(votes, decided.lessons)
    insight = reflected.insight if reflected else ""
    kept = [Reflect(insight=insight, topic=look.subject.topic)] if insight else []
    return Learned(
        # Blame comes first: a bullet that a lesson supersedes takes no vote any more.
        (
            *(vote for vote in votes if not _credits(vote)),
            *decided.lessons,
            *(vote for vote in votes if _credits(vote)),
            *decided.proposals,
            *kept,
        ),
        costs,
        (*(reflected.problems if reflected else ()), *decided.problems),
        error,
        reflections=(told(look, reflected, error, run),) if look.reflects else (),
        reason=curated.reasoning,
    )


def _votes(
    look: Look, reflected: Reflected | None, more: Sequence[BulletVerdict] = (), *, late: bool = False
) -> list[Judge]:
    """The votes; what the reflector says of a bullet counts before what the curator says (`more`)."""
    votes = judge_bullets(
        look.subject.turn_id,
        look.evidence,
        injected=look.subject.injected,
        cited=look.subject.cited,
        tags=(*more, *(reflected.reflection.bullet_tags if reflected else ())),
    )
    return [vote.model_copy(update={"refines": True}) for vote in votes] if late else votes


def _lessons(look: Look, reflected: Reflected | None, votes: Sequence[Judge], first_ref: int) -> list[Add]:
    return lessons_to_operations(
        [*look.found, *(reflected.lessons if reflected else ())],
        question=look.subject.question,
        topic=look.subject.topic,
        source=look.subject.turn_id,
        evidence=look.evidence,
        start=first_ref,
        contests=failed_advice(votes, look.known),
    )


def _credits(vote: Judge) -> bool:
    """Whether the vote may name lessons of the same delta, which have to be there before it."""
    return vote.verdict == "success"


async def _try_to_reflect(
    look: Look, snapshot: Snapshot, run: Run, spend: Spend, again: AnswerAgain | None, *, late: bool
) -> tuple[Reflected | None, str | None]:
    try:
        return await reflect(look.subject, look.known, snapshot, run, spend, again), None
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


def set_aside(looks: Looks, turn_id: str, pending_id: str, run: Run) -> tuple[Learned, Pending | None]:
    """Return what the turn's commit changes at once, and the work it leaves; None: nothing to look back at.

    `pending_id` is the op id of the commit that will complete the work.
    """
    later = tuple(look for look in looks.all if look.reflects or look.found)
    if not later:
        return votes_at_once(looks), None
    work = PendingWork(
        looks=later,
        max_reflection_rounds=run.context.max_reflection_rounds,
        model=run.context.model,
        temperature=run.context.temperature,
    )
    return votes_at_once(looks), Pending(pending_id=pending_id, turn_id=turn_id, body=work.text())
