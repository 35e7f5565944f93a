"""The Curator with a model (ACE_CURATOR_USE_LLM=true): it may refine bullets, and spot what is there twice.

The model proposes, the rules dispose: it can neither invent a lesson nor lose one. What it leaves out, or
says in a form that can't be read, is curated by the heuristic; when it fails altogether, so is everything.

What a model that curates may say, and what the rules make of it: one operation a lesson, few proposals.

A decision about a lesson is taken as it is, where it can be read, or the lesson is added by rule. Proposals
about bullets that are there are bounded here to those that the model was shown, none of the core, and few.
Whether they hold is decided where the delta is resolved: a merge passes the guards, a removal needs evidence.

Does not: judge what it is told (llm_curator.py does, and the delta's resolution), or touch the core.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from ace_graph.errors import ModelError
from ace_graph.learning.reflection import BulletVerdict, Reflection
from ace_graph.memory.bullet import Bullet, BulletTag
from ace_graph.memory.delta.operations import Add, Merge, Operation, Remove, Touch, Update
from ace_graph.memory.retrieval.retrieve import retrieve
from ace_graph.memory.search.tokenize import terms
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.text import clean_line
from ace_graph.models import Usage, structured_call
from ace_graph.prompts import data_block
from ace_graph.runtime import Run, log_text, logger

__all__ = ["MOST_PROPOSALS", "Curated", "Curation", "Decided", "curate_with_model", "decide"]


MOST_PROPOSALS = 5
"""So many bullets that are there may be named in the proposals of one turn."""

KEPT_WORDS = 0.6
"""An item's new text must hold this share of the words that it had."""


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore")


class OnLesson(_Item):
    """What one lesson means for the playbook. `lesson` counts from 1."""

    type: Literal["ADD", "COVERED", "UPDATE"]
    lesson: int = Field(ge=1)
    bullet_id: str | None = None
    content: str | None = None


class TagOne(_Item):
    """What a bullet did for the answer."""

    type: Literal["TAG"]
    bullet_id: str
    tag: BulletTag


class MergeSome(_Item):
    """Bullets that say the same."""

    type: Literal["MERGE"]
    bullet_ids: Annotated[list[str], Field(min_length=2)]


class RemoveOne(_Item):
    """A bullet that did more harm than good."""

    type: Literal["REMOVE"]
    bullet_id: str


Item = Annotated[OnLesson | TagOne | MergeSome | RemoveOne, Field(discriminator="type")]
_ITEM: TypeAdapter[Item] = TypeAdapter(Item)


class Curation(BaseModel):
    """The curator's reply; items that can't be read are left out, never the good ones with them."""

    model_config = ConfigDict(extra="ignore")

    reasoning: str = ""
    operations: list[Item]

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
                good.append(_ITEM.validate_python(item))
            except ValidationError:
                logger.warning("[ACE Curator] an operation could not be read; its lesson is curated by rule")
        return {**fields, "operations": good}


@dataclass(frozen=True)
class Decided:
    """One operation a lesson, the proposals, what was said of bullets, and what was left out and why."""

    lessons: tuple[Operation, ...]
    proposals: tuple[Operation, ...] = ()
    tags: tuple[BulletVerdict, ...] = ()
    problems: tuple[str, ...] = ()


def decide(adds: Sequence[Add], items: Sequence[Item], shown: Sequence[Bullet]) -> Decided:
    """Return what becomes of the items: for every lesson its first usable decision, else its own Add."""
    known = {bullet.id: bullet for bullet in shown if not bullet.core}
    first = {item.lesson: item for item in reversed(items) if isinstance(item, OnLesson)}
    lessons = tuple(_operation(add, first.get(number), known) for number, add in enumerate(adds, 1))
    proposals, tags, problems = list[Operation](), list[BulletVerdict](), list[str]()
    left = MOST_PROPOSALS
    for item in items:
        if isinstance(item, OnLesson):
            continue
        names = item.bullet_ids if isinstance(item, MergeSome) else [item.bullet_id]
        if not known.keys() >= {*names}:
            problems.append(f"the curator may not {item.type} {' '.join(names)[:128]}")
            continue
        if len(names) > left:
            problems.append(f"the curator proposed changes of more than {MOST_PROPOSALS} bullets")
            break
        left -= len(names)
        match item:
            case TagOne():
                tags.append(BulletVerdict(id=item.bullet_id, tag=item.tag))
            case MergeSome():
                proposals.append(Merge(bullet_ids=tuple(item.bullet_ids)))
            case RemoveOne():
                proposals.append(Remove(bullet_id=item.bullet_id))
    return Decided(lessons, tuple(proposals), tuple(tags), tuple(problems))


def _operation(add: Add, decision: OnLesson | None, known: Mapping[str, Bullet]) -> Operation:
    bullet = known.get(decision.bullet_id or "") if decision else None
    if decision is None or decision.type == "ADD" or bullet is None:
        return add
    if decision.type == "COVERED":
        return Touch(bullet_ids=(bullet.id,))
    if not decision.content or not _keeps(bullet.content, decision.content):
        return add
    return Update(bullet_id=bullet.id, content=decision.content)


def _keeps(old: str, new: str) -> bool:
    """Whether a new text says what the old one did, too; else it would remove that on an opinion."""
    said = set(terms(old))
    return len(said & set(terms(new))) >= KEPT_WORDS * len(said)


MAX_CALLS = 3
BULLETS_SHOWN = 10
REASON_CHARS = 300
"""What of its reasoning becomes the reason of the delta."""

_LOOKUP_TOKENS = 20_000
_LEARNER_CHARS = 64
_QUESTION_CHARS, _ANALYSIS_CHARS = 4_000, 1_000


@dataclass(frozen=True)
class Curated:
    """What was decided, why, and what it cost."""

    decided: Decided
    usage: Usage
    reasoning: str = ""


async def curate_with_model(
    adds: Sequence[Add], question: str, reflection: Reflection | None, snapshot: Snapshot, run: Run
) -> Curated:
    """Return the operations for the lessons in `adds` and what is proposed beside them, in at most 3 calls.

    The heuristic's own operations are returned for every lesson that the model gives no usable decision
    for. Raises nothing that the model may raise.
    """
    shown = _relevant(adds, question, snapshot, run)
    prompt = _prompt(adds, question, reflection, shown, snapshot, run)
    usage = Usage()

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
            return Curated(Decided(tuple(adds)), usage)
        logger.info("[ACE Curator] raw reply: %s", log_text(run.resources, reply.raw_text))
        if reply.value is not None:
            decided = decide(adds, reply.value.operations, shown)
            return Curated(decided, usage, clean_line(reply.value.reasoning)[:REASON_CHARS])
        logger.warning("[ACE Curator] no usable reply: %s", reply.problem)
    logger.error("[ACE Curator] %d replies could not be read, the rules curate", MAX_CALLS)
    return Curated(Decided(tuple(adds)), usage)


def _relevant(adds: Sequence[Add], question: str, snapshot: Snapshot, run: Run) -> list[Bullet]:
    """The bullets nearest to the lessons and the question, at most 10."""
    found: dict[str, Bullet] = {}
    for text in (*(add.content for add in adds), question):
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
    verdicts = Counter(turn.verdict for turn in snapshot.access.recent_turns)
    counts = ", ".join(f"{verdict}: {count}" for verdict, count in sorted(verdicts.items()))
    return run.resources.prompts.render(
        "curator",
        question=data_block("question", question[:_QUESTION_CHARS]),
        analysis=data_block("analysis", _analysis(reflection) or "(none)"),
        lessons=data_block("lessons", lessons),
        bullets=data_block("bullets", bullets or "(none)"),
        verdicts=data_block("recent_verdicts", counts or "(none)"),
    )


def _analysis(reflection: Reflection | None) -> str:
    """What the reflector found, a line for each part that it filled."""
    if reflection is None:
        return ""
    parts = {
        "error": reflection.error_identification,
        "cause": reflection.root_cause_analysis,
        "correct approach": reflection.correct_approach,
        "insight": reflection.key_insight,
    }
    return "\n".join(f"{name}: {clean_line(text)[:_ANALYSIS_CHARS]}" for name, text in parts.items() if text)
