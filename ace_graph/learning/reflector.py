"""The Reflector: asks the model what of this turn is worth knowing next time.

Everything it is shown is data in delimited blocks. A reply that fails, is cut, or can't be read is no
lesson, and is reported; "nothing to learn" is a good answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from ace_graph.agent.models import OnUsage, Structured, Usage, call_model, finish_problem, structured_call
from ace_graph.agent.models.reply import NO_OBJECT
from ace_graph.agent.reasoning.attempt import AnswerAgain, ReplayOutcome, Retry, helped
from ace_graph.agent.runtime import Run, log_text, logger
from ace_graph.base.errors import AceError, LearningError, ModelError
from ace_graph.base.off_loop import run_off_loop
from ace_graph.base.prompts import data_block, preview
from ace_graph.learning.reflection import Lesson, Reflection, copies, is_platitude, says_nothing
from ace_graph.learning.tasks import TOGETHER, FinishedTurn
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.snapshot import Snapshot

_TRACE_CHARS = 6_000
_FAILED, _ERRORS, _ERROR_CHARS = "tool: Error", 5, 300
"""How a failed call begins in a trace, and how many of them, how long, are shown beside its end."""

_TURN_CHARS = 600
"""Of the question and of the answer of a turn that is read together with others."""


@dataclass(frozen=True)
class ReflectionResult:
    """What came of a reflection; `insight` is '' for none, `problems` say what was left out and why.

    `replay` is None where nothing was to be tried again; `helped` are the texts of lessons with which the
    answer got better.
    """

    reflection: Reflection
    insight: str
    lessons: tuple[Lesson, ...]
    problems: tuple[str, ...]
    replay: ReplayOutcome | None = None
    helped: tuple[str, ...] = ()


OnRoleUsage = Callable[[str, Usage], None]
"""Called with a role and what its call cost, also where the reply could not be used."""


async def reflect(
    subject: FinishedTurn,
    evidence: Sequence[Evidence],
    snapshot: Snapshot,
    run: Run,
    count: OnRoleUsage,
    answer_again: AnswerAgain | None = None,
    together: Sequence[FinishedTurn] = (),
) -> ReflectionResult:
    """Ask for lessons of a turn, and of those that are read `together` with it.

    There are at most `max_reflection_rounds` rounds; a reply that can't be read takes one. With
    `answer_again` the question is answered once more after each round, with the lessons in the prompt, until
    the answer passes. The last round's lessons are kept; with the setting `replay` only if the answer with
    them is better, so that round has its answer, too.

    Raises ModelError when the model can't be reached in the first round, LearningError when no round gave a
    usable reply.
    """
    messages: list[BaseMessage] = [
        SystemMessage(_prompt(subject, evidence, snapshot, run, together)),
        HumanMessage("Reflect on the turn."),
    ]
    problem = ""
    found: ReflectionResult | None = None
    replay = run.resources.settings.replay
    texts = (subject.question, subject.additional_context, subject.answer, *subject.trace)
    texts += tuple(text for turn in together for text in (turn.question, turn.answer))
    for left in reversed(range(run.context.max_reflection_rounds)):
        reply = await _ask(messages, run, partial(count, "reflector"), needed=found is None)
        if reply.value is None:
            problem = reply.problem or "no reply"
            logger.warning("[ACE Reflector] no usable reply: %s", problem)
            continue
        found = await run_off_loop(sum(map(len, texts)), _checked, reply.value, texts, run)
        wanted = answer_again is not None and found.lessons and (left or replay)
        retry = await _retry(found, answer_again, run) if answer_again and wanted else None
        if replay and wanted:
            found = _replayed(found, evidence, retry)
        if retry is None:
            break
        count("retry", retry.usage)
        logger.info("[ACE Reflector] answered again with %d lessons: %s", len(found.lessons), retry.verdict)
        if retry.verdict == "success" or not left:
            break
        messages += [
            AIMessage(reply.value.model_dump_json(exclude={"dropped"})),
            HumanMessage(
                run.resources.prompts.render(
                    "reflect_again",
                    new_answer=data_block("new_answer", retry.answer),
                    new_evidence=data_block("new_evidence", _evidence(retry.evidence) or "(none)"),
                )
            ),
        ]
    if found is None:
        raise LearningError(f"the reflector gave no usable reply: {problem}")
    for n, lesson in enumerate(found.lessons, 1):
        logger.info("[ACE Reflector] [Lesson %d] %s", n, log_text(run.resources, lesson.content))
    return found


async def _ask(
    messages: Sequence[BaseMessage], run: Run, count: OnUsage, *, needed: bool
) -> Structured[Reflection]:
    """Ask once. Raises ModelError where the reply is needed; else the lessons of the round before stand.

    A model without structured output of its own that answers in prose is asked for plain lines instead, from
    then on at once.
    """
    try:
        model, schemas = await run.resources.ready_model(run.context), run.resources.schemas
        if not schemas.in_prose(model):
            reply = await structured_call(
                model,
                messages,
                Reflection,
                timeout=run.resources.settings.llm_timeout,
                config=run.call_config("reflector"),
                on_usage=count,
                schemas=schemas,
            )
            prose = reply.problem == NO_OBJECT and reply.raw_text.strip() and "{" not in reply.raw_text
            if not prose or schemas.bound(model, Reflection) is not None:
                return reply
            schemas.note_prose(model)
            logger.warning(
                "[ACE Reflector] this model writes no JSON: from now on its lessons are read from plain "
                "lines, without votes on bullets"
            )
        message = await call_model(
            model,
            [*messages, HumanMessage(_LINES)],
            timeout=run.resources.settings.llm_timeout,
            config=run.call_config("reflector"),
            on_usage=count,
        )
        text, problem = message.text, finish_problem(message)
        if problem is not None:
            return Structured(None, problem, text)
        return Structured(Reflection(lessons=lessons_in(text)), None, text)
    except ModelError as error:
        if needed:
            raise
        return Structured(None, str(error), "")


_LINES = (
    "Reply in plain text: one line for each lesson, beginning with '- ', and no other line. "
    "Each lesson is one sentence. Where there is nothing to learn, reply with the word none."
)
_LINE = re.compile(r"^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+(\S.*)$", re.MULTILINE)


def lessons_in(text: str) -> list[Lesson]:
    """Return the lines of a list in plain text as lessons."""
    return [Lesson(content=line.strip()) for line in _LINE.findall(text)]


def _replayed(found: ReflectionResult, evidence: Sequence[Evidence], retry: Retry | None) -> ReflectionResult:
    """The result without the lessons, and the insight, with which the answer got no better."""
    better = helped(evidence, retry.evidence) if retry is not None and retry.shown else None
    if better is None or retry is None:
        return replace(found, replay="not tried")
    if better:
        return replace(found, replay="kept", helped=retry.shown)
    why = [f"replay: the answer with it is not better: {preview(text, 60)}" for text in retry.shown]
    stay = tuple(lesson for lesson in found.lessons if lesson.content not in retry.shown)
    return replace(found, insight="", lessons=stay, problems=(*found.problems, *why), replay="refused")


async def _retry(found: ReflectionResult, answer_again: AnswerAgain, run: Run) -> Retry | None:
    try:
        return await answer_again([lesson.content for lesson in found.lessons])
    except AceError as error:
        logger.error("[ACE Reflector] could not answer again, the lessons are kept: %s", error)
    except Exception:
        logger.exception("[ACE Reflector] could not answer again, the lessons are kept")
    return None


def _prompt(
    subject: FinishedTurn,
    evidence: Sequence[Evidence],
    snapshot: Snapshot,
    run: Run,
    together: Sequence[FinishedTurn],
) -> str:
    question, answer = subject.question, f"{subject.reasoning}\n\n{subject.answer}".strip()
    if given := subject.additional_context.strip():
        question += f"\n\nGiven with the question:\n{given}"
    judged, revision = _evidence(evidence), subject.revision
    if revision is not None:
        answer += f"\n\nAfter a critique:\n{revision.answer}"
        judged += f"\nAfter a critique:\n{_evidence(revision.evidence)}" if revision.evidence else ""
    shown = filter(None, map(snapshot.playbook.get_bullet, subject.injected))
    bullets = "\n".join(f"[{b.id}] (helpful={b.helpful}, harmful={b.harmful}) {b.advice}" for b in shown)
    reflections = [reflection.insight for reflection in snapshot.playbook.reflections]
    truth = subject.ground_truth
    prompt = run.resources.prompts.render(
        "reflector",
        question=data_block("question", question),
        answer=data_block("answer", answer),
        trace=data_block("trace", _end(subject.trace) or "(no tool calls)"),
        bullets=data_block("bullets", bullets or "(none)"),
        ground_truth=data_block("ground_truth", truth if truth is not None else "(none)"),
        evidence=data_block("evidence", judged or "(none)"),
        reflections=data_block("reflections", "\n".join(reflections) or "(none)"),
    )
    if not together:
        return prompt
    lines = (
        json.dumps(
            {"question": preview(turn.question, _TURN_CHARS), "answer": preview(turn.answer, _TURN_CHARS)},
            ensure_ascii=False,
        )
        for turn in together
    )
    block = data_block("turns", "\n".join(lines), limit=3 * TOGETHER * _TURN_CHARS)
    return f"{prompt}\n\n{run.resources.prompts.render('reflect_together', turns=block)}"


def _end(trace: Sequence[str]) -> str:
    """The end of a long trace, after the first errors of what is cut off."""
    whole = "\n".join(trace)
    if len(whole) <= _TRACE_CHARS:
        return whole
    end = whole[-_TRACE_CHARS:]
    errors = [preview(line, _ERROR_CHARS) for line in trace if line.startswith(_FAILED) and line not in end]
    return "\n".join([*errors[:_ERRORS], f"… {end}"])


def _evidence(evidence: Iterable[Evidence]) -> str:
    return "\n".join(json.dumps({"source": e.source, "verdict": e.verdict, "text": e.text}) for e in evidence)


def _checked(reflection: Reflection, texts: Sequence[str], run: Run) -> ReflectionResult:
    """Keep what is distilled; refuse what is empty, or copied from the conversation or our own prompts."""
    kept, problems = list[Lesson](), list(reflection.dropped)
    # What the solver and the reflector are told in every turn: no lesson is in it
    prompts = run.resources.prompts
    own = (prompts.texts[name] for name in ("base", "answer", "memory_changes", "objection", "reflector"))
    conversation = (*texts, *own, run.resources.system_prompt or "")
    for lesson in reflection.lessons:
        if says_nothing(lesson.content):
            problems.append("a lesson without a word")
        elif copies(lesson.content, conversation):
            problems.append(f"copied from the conversation or the prompt: {preview(lesson.content, 60)}")
        elif is_platitude(lesson.content):
            problems.append(f"it names no subject and fits any question: {preview(lesson.content, 60)}")
        else:
            kept.append(lesson)
    insight = reflection.key_insight.strip()
    if copies(insight, conversation) or is_platitude(insight):
        insight = ""
    return ReflectionResult(reflection, insight, tuple(kept), tuple(problems))
