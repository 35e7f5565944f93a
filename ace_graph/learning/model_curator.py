"""The Curator with a model (ACE_CURATOR_USE_LLM=true): it may refine bullets, and spot what is there twice.

The model proposes, the rules dispose: it can neither invent a lesson nor lose one. What it leaves out, or
says in a form that can't be read, is curated by the heuristic; when it fails altogether, so is everything.

Does not: judge what it is told (decisions.py does, and the delta's resolution), or touch the core.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import HumanMessage, SystemMessage

from ace_graph.errors import ModelError
from ace_graph.learning.decisions import Curation, Decided, decide
from ace_graph.learning.lesson import Reflection
from ace_graph.memory.bullet import Bullet, clean_line
from ace_graph.memory.delta import Add
from ace_graph.memory.retrieval import retrieve
from ace_graph.memory.snapshot import Snapshot
from ace_graph.models import Usage, structured_call
from ace_graph.prompts import data_block
from ace_graph.run import Run, log_text, logger

__all__ = ["Curated", "curate_with_model"]

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
