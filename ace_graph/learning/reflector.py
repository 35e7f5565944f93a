"""The Reflector: asks the model what of this turn is worth knowing next time.

Everything it is shown is data in delimited blocks. A reply that fails, is cut, or can't be read is no
lesson, and is reported; "nothing to learn" is a good answer.

Does not: change the memory. The curator turns lessons into operations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langchain_core.messages import HumanMessage, SystemMessage

from ace_graph.errors import LearningError
from ace_graph.learning.lesson import Lesson, Reflection, copies
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.snapshot import Snapshot
from ace_graph.models import Usage, structured_call
from ace_graph.prompts import data_block, preview
from ace_graph.run import Run, log_text, logger

__all__ = ["Reflected", "Subject", "reflect", "worth_reflecting"]

_TRACE_CHARS = 6_000
_SMALL_TALK = re.compile(
    r"\W*(?:(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening|night)|bye|goodbye|see you|thanks?"
    r"|thank you"
    r"|thx|cheers|ok(?:ay)?|great|cool|nice|perfect|got it|yes|no|sure|please"
    r"|so much|very much|a lot|then|there|again|for (?:your|the) help)\W*)+",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Subject:
    """The turn that is looked back at: this one, or an earlier one that the learner has now judged."""

    turn_id: str
    question: str
    answer: str
    injected: Sequence[str]
    cited: Sequence[str]
    topic: str | None
    reasoning: str = ""
    trace: Sequence[str] = ()
    ground_truth: str | None = None


@dataclass(frozen=True)
class Reflected:
    """What came of a reflection; `insight` is '' for none, `problems` say what was left out and why."""

    reflection: Reflection
    insight: str
    lessons: tuple[Lesson, ...]
    problems: tuple[str, ...]
    usage: Usage


def worth_reflecting(run: Run, question: str, evidence: Iterable[Evidence]) -> bool:
    """Whether this turn is reflected on, by the context's `reflect_when`."""
    judged = any(item.verdict != "unknown" for item in evidence)
    match run.context.reflect_when:
        case "always":
            return True
        case "never":
            return False
        case "evidence":
            return judged
        case "auto":
            return judged or not _SMALL_TALK.fullmatch(question.strip() or "ok")


async def reflect(subject: Subject, evidence: Sequence[Evidence], snapshot: Snapshot, run: Run) -> Reflected:
    """Ask for lessons, at most `max_reflection_rounds` times until a reply can be read.

    Raises ModelError when the model can't be reached, LearningError when no round gave a usable reply.
    """
    prompt = _prompt(subject, evidence, snapshot, run)
    usage, problem = Usage(), ""

    def count(more: Usage) -> None:
        nonlocal usage
        usage += more

    for _ in range(run.context.max_reflection_rounds):
        reply = await structured_call(
            await run.resources.ready_model(run.context),
            [SystemMessage(prompt), HumanMessage("Reflect on the turn.")],
            Reflection,
            timeout=run.resources.settings.llm_timeout,
            config=run.call_config("reflector"),
            on_usage=count,
            schemas=run.resources.schemas,
        )
        if reply.value is not None:
            return _checked(reply.value, subject, usage, run)
        problem = reply.problem or "no reply"
        logger.warning("[ACE Reflector] no usable reply: %s", problem)
    raise LearningError(f"the reflector gave no usable reply: {problem}")


def _prompt(subject: Subject, evidence: Sequence[Evidence], snapshot: Snapshot, run: Run) -> str:
    shown = [snapshot.playbook.get_bullet(bullet_id) for bullet_id in subject.injected]
    reflections = [reflection.insight for reflection in snapshot.playbook.reflections]
    truth = subject.ground_truth
    return run.resources.prompts.render(
        "reflector",
        question=data_block("question", subject.question),
        answer=data_block("answer", f"{subject.reasoning}\n\n{subject.answer}".strip()),
        trace=data_block("trace", _end("\n".join(subject.trace) or "(no tool calls)")),
        bullets=data_block("bullets", _bullets(b for b in shown if b) or "(none)"),
        ground_truth=data_block("ground_truth", truth if truth is not None else "(none)"),
        evidence=data_block("evidence", _evidence(evidence) or "(none)"),
        reflections=data_block("reflections", "\n".join(reflections) or "(none)"),
    )


def _end(trace: str) -> str:
    return trace if len(trace) <= _TRACE_CHARS else f"… {trace[-_TRACE_CHARS:]}"


def _bullets(bullets: Iterable[Bullet]) -> str:
    return "\n".join(f"[{b.id}] (helpful={b.helpful}, harmful={b.harmful}) {b.content}" for b in bullets)


def _evidence(evidence: Iterable[Evidence]) -> str:
    return "\n".join(json.dumps({"source": e.source, "verdict": e.verdict, "text": e.text}) for e in evidence)


def _checked(reflection: Reflection, subject: Subject, usage: Usage, run: Run) -> Reflected:
    """Keep what is distilled, refuse what is copied from the conversation."""
    kept, problems = list[Lesson](), list(reflection.dropped)
    conversation = (subject.question, subject.answer, *subject.trace)
    for lesson in reflection.lessons:
        if copies(lesson.content, conversation):
            problems.append(f"copied from the conversation: {preview(lesson.content, 60)}")
        else:
            kept.append(lesson)
    for n, lesson in enumerate(kept, 1):
        logger.info("[ACE Reflector] [Lesson %d] %s", n, log_text(run.resources, lesson.content))
    insight = reflection.key_insight.strip()
    if copies(insight, conversation):
        insight = ""
    return Reflected(reflection, insight, tuple(kept), tuple(problems), usage)
