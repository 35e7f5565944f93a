"""The Curator with a model (ACE_CURATOR_USE_LLM=true): it may refine items and spot what is covered.

The model proposes, the rules dispose: it can neither invent a lesson nor lose one. What it leaves out, or
says in a form that can't be read, is curated by the heuristic; when it fails altogether, so is everything.

Does not: remove anything, or touch the learner's own statements; a model's opinion is no reason to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ace_graph.errors import ModelError
from ace_graph.memory.bullet import Bullet, clean_line
from ace_graph.memory.delta import Add, Operation, Touch, Update
from ace_graph.memory.retrieval import retrieve
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.text import terms
from ace_graph.models import Usage, structured_call
from ace_graph.prompts import data_block
from ace_graph.run import Run, log_text, logger

__all__ = ["Curated", "curate_with_model"]

MAX_CALLS = 3
BULLETS_SHOWN = 10
KEPT_WORDS = 0.6
"""An item's new text must hold this share of the words that it had."""

_LOOKUP_TOKENS = 20_000
_LEARNER_CHARS = 64


class Decision(BaseModel):
    """What one lesson means for the playbook. `lesson` counts from 1."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["ADD", "COVERED", "UPDATE"]
    lesson: int = Field(ge=1)
    bullet_id: str | None = None
    content: str | None = None


class Decisions(BaseModel):
    """The curator's reply; items that can't be read are left out, never the good ones with them."""

    model_config = ConfigDict(extra="ignore")

    reasoning: str = ""
    operations: list[Decision]

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
                good.append(Decision.model_validate(item))
            except ValidationError:
                logger.warning("[ACE Curator] an operation could not be read; its lesson is curated by rule")
        return {**fields, "operations": good}


@dataclass(frozen=True)
class Curated:
    """The operations for the lessons, and what they cost."""

    operations: tuple[Operation, ...]
    usage: Usage


async def curate_with_model(adds: Sequence[Add], question: str, snapshot: Snapshot, run: Run) -> Curated:
    """Return the operations for the lessons in `adds`, at most 3 calls.

    The heuristic's own operations are returned for every lesson that the model gives no usable decision
    for. Raises nothing that the model may raise.
    """
    shown = _relevant(adds, question, snapshot, run)
    prompt = _prompt(adds, shown, snapshot, run)
    usage = Usage()

    def count(more: Usage) -> None:
        nonlocal usage
        usage += more

    for _ in range(MAX_CALLS):
        try:
            reply = await structured_call(
                run.resources.model(run.context),
                [SystemMessage(prompt), HumanMessage("Curate the lessons.")],
                Decisions,
                timeout=run.resources.settings.llm_timeout,
                config=run.call_config("curator"),
                on_usage=count,
            )
        except ModelError as error:
            logger.error("[ACE Curator] the model failed, the rules curate: %s", error)
            return Curated(tuple(adds), usage)
        logger.info("[ACE Curator] raw reply: %s", log_text(run.resources, reply.raw_text))
        if reply.value is not None:
            return Curated(tuple(decide(adds, reply.value.operations, shown)), usage)
        logger.warning("[ACE Curator] no usable reply: %s", reply.problem)
    logger.error("[ACE Curator] %d replies could not be read, the rules curate", MAX_CALLS)
    return Curated(tuple(adds), usage)


def decide(adds: Sequence[Add], decisions: Sequence[Decision], shown: Sequence[Bullet]) -> list[Operation]:
    """Return the operations: one for every lesson, by its first usable decision, else its own Add."""
    known = {bullet.id: bullet for bullet in shown if not bullet.core}
    first = {decision.lesson: decision for decision in reversed(decisions)}
    return [_operation(add, first.get(number), known) for number, add in enumerate(adds, 1)]


def _operation(add: Add, decision: Decision | None, known: Mapping[str, Bullet]) -> Operation:
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


def _prompt(adds: Sequence[Add], shown: Sequence[Bullet], snapshot: Snapshot, run: Run) -> str:
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
        lessons=data_block("lessons", lessons),
        bullets=data_block("bullets", bullets or "(none)"),
        verdicts=data_block("recent_verdicts", counts or "(none)"),
    )
