"""The curator with a model (ACE_CURATOR_USE_LLM=true): it may refine bullets and find duplicates.

The model can neither invent a lesson nor lose one: a lesson without a usable decision is added by rule, and
when the model fails, all of them are. Its proposals about existing bullets are limited to five bullets that
it was shown, none of the core: of the whole playbook while that is small, else of the nearest. Whether a
proposal holds is decided where the delta is resolved: a merge must pass the guards, a removal needs evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from ace_graph.agent.models import Usage, structured_call
from ace_graph.agent.runtime import Run, log_text, logger
from ace_graph.base.errors import ModelError
from ace_graph.base.prompts import data_block
from ace_graph.base.text import clean_line, truncate
from ace_graph.learning.reflection import BulletVerdict, Reflection
from ace_graph.memory.bullet import Bullet, BulletTag
from ace_graph.memory.delta.operations import Add, Merge, Operation, Remove, Touch, Update
from ace_graph.memory.retrieval.retrieve import retrieve
from ace_graph.memory.search.tokenize import estimate_tokens, terms
from ace_graph.memory.snapshot import Snapshot

MOST_PROPOSALS = 5
"""The most existing bullets that the proposals of one turn may name."""

KEPT_WORDS = 0.6
"""The share of a bullet's words that its new text must keep."""


# The docstrings of these models are descriptions in the JSON schema that the model gets: they speak to the
# model, in the words of prompts/curator.md, which calls bullets items. Notes for readers are comments.


class _ReplyPart(BaseModel):
    model_config = ConfigDict(extra="ignore")


class LessonDecision(_ReplyPart):
    """What a new lesson means for the playbook; give exactly one for every lesson. Lessons count from 1."""

    type: Literal["ADD", "COVERED", "UPDATE"]
    lesson: int = Field(ge=1)
    bullet_id: str | None = None
    content: str | None = None


class TagItem(_ReplyPart):
    """What an item did for this answer."""

    type: Literal["TAG"]
    bullet_id: str
    tag: BulletTag


class MergeItems(_ReplyPart):
    """Items that say the same."""

    type: Literal["MERGE"]
    bullet_ids: Annotated[list[str], Field(min_length=2)]


class RemoveItem(_ReplyPart):
    """An item that has been more harmful than helpful."""

    type: Literal["REMOVE"]
    bullet_id: str


CuratorOperation = Annotated[LessonDecision | TagItem | MergeItems | RemoveItem, Field(discriminator="type")]
_OPERATION: TypeAdapter[CuratorOperation] = TypeAdapter(CuratorOperation)


class Curation(BaseModel):
    """One decision for every lesson, a few proposed changes of items, and one sentence on why."""

    # A malformed operation is dropped and leaves the others valid.
    model_config = ConfigDict(extra="ignore")

    reasoning: str = ""
    operations: list[CuratorOperation]

    @model_validator(mode="before")
    @classmethod
    def _keep_what_can_be_read(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        fields = cast("Mapping[str, object]", data)
        items = fields.get("operations")
        if not isinstance(items, list):
            return fields
        good = list[object]()
        for item in cast("list[object]", items):
            try:
                good.append(_OPERATION.validate_python(item))
            except ValidationError:
                logger.warning("[ACE Curator] an operation could not be read; its lesson is curated by rule")
        return {**fields, "operations": good}


@dataclass(frozen=True)
class Decided:
    """One operation a lesson, proposals and tags for existing bullets, and what was refused and why."""

    lessons: tuple[Operation, ...]
    proposals: tuple[Operation, ...] = ()
    tags: tuple[BulletVerdict, ...] = ()
    problems: tuple[str, ...] = ()


def decide(adds: Sequence[Add], items: Sequence[CuratorOperation], shown: Sequence[Bullet]) -> Decided:
    """Return the operations: for every lesson its first usable decision, else its own Add."""
    known = {bullet.id: bullet for bullet in shown if not bullet.core}
    first = {item.lesson: item for item in reversed(items) if isinstance(item, LessonDecision)}
    lessons = tuple(_for_lesson(add, first.get(number), known) for number, add in enumerate(adds, 1))
    proposals, tags, problems = list[Operation](), list[BulletVerdict](), list[str]()
    left = MOST_PROPOSALS
    for item in items:
        if isinstance(item, LessonDecision):
            continue
        names = item.bullet_ids if isinstance(item, MergeItems) else [item.bullet_id]
        if not known.keys() >= {*names}:
            problems.append(f"the curator may not {item.type} {' '.join(names)[:128]}")
            continue
        if len(names) > left:
            problems.append(f"the curator proposed changes of more than {MOST_PROPOSALS} bullets")
            break
        left -= len(names)
        match item:
            case TagItem():
                tags.append(BulletVerdict(id=item.bullet_id, tag=item.tag))
            case MergeItems():
                proposals.append(Merge(bullet_ids=tuple(item.bullet_ids)))
            case RemoveItem():
                proposals.append(Remove(bullet_id=item.bullet_id))
    return Decided(lessons, tuple(proposals), tuple(tags), tuple(problems))


def _for_lesson(add: Add, decision: LessonDecision | None, known: Mapping[str, Bullet]) -> Operation:
    bullet = known.get(decision.bullet_id or "") if decision else None
    if decision is None or decision.type == "ADD" or bullet is None:
        return add
    if decision.type == "COVERED":
        return Touch(bullet_ids=(bullet.id,))
    # The new text keeps what the old one said, which a model's opinion alone may not remove.
    old_terms, new = set(terms(bullet.content)), decision.content or ""
    if not new or len(old_terms & set(terms(new))) < KEPT_WORDS * len(old_terms):
        return add
    return Update(bullet_id=bullet.id, content=new, examples=add.examples)


MAX_CALLS = 3
BULLETS_SHOWN = 10
"""How many bullets it sees of a playbook that is not small."""
SMALL_BULLETS, SMALL_TOKENS = 50, 4_000
"""A playbook of at most so many active bullets, and so many tokens, is shown whole."""
MAX_RAW_CHARS = 20_000
REASON_CHARS = 300
"""The length to which the model's reasoning is cut as the reason of the delta."""

_LOOKUP_TOKENS = 20_000
_LEARNER_CHARS = 64
_QUESTION_CHARS, _ANALYSIS_CHARS, _INSIGHT_CHARS = 4_000, 1_000, 500


@dataclass(frozen=True)
class Curated:
    """The decisions, the model's reasoning, and what its calls cost.

    `error` says that the model failed, so that the rules have decided. `raw` are its replies as they came,
    cut at 20,000 characters; as a line of the log has them where the run doesn't ask for raw replies.
    """

    decided: Decided
    usage: Usage
    reasoning: str = ""
    error: str | None = None
    raw: tuple[str, ...] = ()


async def curate_with_model(
    adds: Sequence[Add], question: str, reflection: Reflection | None, snapshot: Snapshot, run: Run
) -> Curated:
    """Return the operations for the lessons in `adds`, and proposals beside them, in at most 3 calls.

    A lesson without a usable decision keeps its own Add. Raises nothing that the model may raise.
    """
    shown = _small_playbook(snapshot) or _nearest((*(add.content for add in adds), question), snapshot, run)
    prompt = _prompt(adds, question, reflection, shown, snapshot, run)
    usage, raw = Usage(), list[str]()

    def count(more: Usage) -> None:
        nonlocal usage
        usage += more

    for _ in range(MAX_CALLS):
        try:
            reply = await structured_call(
                run.resources.model(run.context),
                [SystemMessage(prompt), HumanMessage("Curate the lessons.")],
                Curation,
                timeout=run.resources.settings.llm_timeout,
                config=run.call_config("curator"),
                on_usage=count,
            )
        except ModelError as error:
            logger.error("[ACE Curator] the model failed, the rules curate: %s", error)
            why = f"the model failed, the rules curated: {error}"
            return Curated(Decided(tuple(adds)), usage, error=why, raw=tuple(raw))
        logged = log_text(run.resources, reply.raw_text)
        logger.info("[ACE Curator] raw reply: %s", logged)
        whole = truncate(reply.raw_text, MAX_RAW_CHARS, show_length=True)
        raw.append(whole if run.context.raw_reply else logged)
        if reply.value is not None:
            decided = decide(adds, reply.value.operations, shown)
            return Curated(decided, usage, clean_line(reply.value.reasoning)[:REASON_CHARS], raw=tuple(raw))
        logger.warning("[ACE Curator] no usable reply: %s", reply.problem)
    logger.error("[ACE Curator] %d replies could not be read, the rules curate", MAX_CALLS)
    unread = f"{MAX_CALLS} replies of the model could not be read, the rules curated"
    return Curated(Decided(tuple(adds)), usage, error=unread, raw=tuple(raw))


def _small_playbook(snapshot: Snapshot) -> list[Bullet]:
    """All active bullets, none where they are too many to be shown whole."""
    if len(snapshot.playbook) > SMALL_BULLETS:
        return []
    active = [bullet for bullet in snapshot.playbook.bullets() if bullet.status == "active"]
    return active if sum(estimate_tokens(b.advice) for b in active) <= SMALL_TOKENS else []


def _nearest(texts: Sequence[str], snapshot: Snapshot, run: Run) -> list[Bullet]:
    """The bullets nearest to the texts, those of the first text first."""
    found: dict[str, Bullet] = {}
    for text in texts:
        retrieval = retrieve(
            text,
            snapshot.playbook,
            snapshot.access,
            run.resources.store.policy,
            now=run.resources.clock(),
            budget_tokens=_LOOKUP_TOKENS,
            max_bullets=BULLETS_SHOWN,
        )
        for scored in retrieval.retrieved:
            found.setdefault(scored.bullet.id, scored.bullet)
    return list(found.values())[:BULLETS_SHOWN]


def _prompt(
    adds: Sequence[Add],
    question: str,
    reflection: Reflection | None,
    shown: Sequence[Bullet],
    snapshot: Snapshot,
    run: Run,
) -> str:
    lessons = "\n".join(f"{number}. {add.content}" for number, add in enumerate(adds, 1))
    learner = clean_line(run.learner_id or "")[:_LEARNER_CHARS]
    bullets = "\n".join(
        f"[{b.id}] (type={b.memory_type}, learner={learner}, topic={b.topic}, helpful={b.helpful}, "
        f"harmful={b.harmful}) {b.advice}"
        for b in shown
    )
    return run.resources.prompts.render(
        "curator",
        question=data_block("question", question[:_QUESTION_CHARS]),
        analysis=data_block("analysis", _analysis(reflection) or "(none)"),
        lessons=data_block("lessons", lessons),
        bullets=data_block("bullets", bullets or "(none)"),
        progress=data_block("progress", _progress(snapshot)),
    )


def _progress(snapshot: Snapshot) -> str:
    """How far the learner's memory has come: its size and votes, how recent turns went, the last insights."""
    stats = snapshot.playbook.stats()
    verdicts = Counter(turn.verdict for turn in snapshot.access.recent_turns)
    counts = ", ".join(f"{verdict}: {count}" for verdict, count in sorted(verdicts.items()))
    lines = [
        f"version: {snapshot.version.n}; items: {stats.bullets}; sections: {len(stats.sections)}; "
        f"judged items: {stats.used} (helpful: {stats.helpful}, harmful: {stats.harmful})",
        f"recent turns: {counts or 'none'}",
    ]
    insights = (clean_line(each.insight)[:_INSIGHT_CHARS] for each in snapshot.playbook.reflections)
    lines += [f"insight of an earlier turn: {insight}" for insight in insights]
    return "\n".join(lines)


def _analysis(reflection: Reflection | None) -> str:
    """The reflector's analysis, a line for each part that it filled."""
    if reflection is None:
        return ""
    parts = {
        "error": reflection.error_identification,
        "cause": reflection.root_cause_analysis,
        "correct approach": reflection.correct_approach,
        "insight": reflection.key_insight,
    }
    return "\n".join(f"{name}: {clean_line(text)[:_ANALYSIS_CHARS]}" for name, text in parts.items() if text)
