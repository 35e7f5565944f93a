"""What is stored of a turn beside its delta: the turn record with its steps, and the reflection on it.

Texts are bounded, and of an attachment only its kind and size are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import cast

from ace_graph.agent.evidence import from_json
from ace_graph.agent.models import Usage, name_of_model
from ace_graph.agent.reasoning.attempt import ReplayOutcome
from ace_graph.agent.reasoning.prompt import last_question
from ace_graph.agent.runtime import Run
from ace_graph.agent.state import ACEState, Attempt
from ace_graph.base.errors import AceError
from ace_graph.base.prices import cost_of
from ace_graph.base.prompts import preview
from ace_graph.base.text import shorten, truncate, without_surrogates
from ace_graph.learning.reflection import Lesson
from ace_graph.learning.reflector import ReflectionResult
from ace_graph.learning.tasks import LearningTask
from ace_graph.memory.commit import operation_id
from ace_graph.memory.evidence import SCORES, strongest, verdict_of
from ace_graph.memory.trajectory import bounded_steps, sampled
from ace_graph.memory.turn import (
    MAX_STEP_CHARS,
    MAX_TASK_CHARS,
    PlaybookRead,
    ReflectedLesson,
    Step,
    TurnRecord,
    TurnReflection,
    TurnStatus,
    answer_hash,
)


def steps_of(state: ACEState, attempt: Attempt) -> Iterator[Step]:
    """Yield the steps in order; a long text is cut at 1,000 characters."""
    plan = state["plan"]
    yield Step(
        kind="decision",
        text=f"answer in mode {plan['mode']}",
        metadata={"topic": plan["topic"], "injected": len(attempt["injected"])},
    )
    for line in attempt["trace"]:
        speaker, _, text = line.partition(": ")
        yield Step(kind="action" if speaker == "ai" else "observation", text=_bounded_text(text))
    if attempt["problem"]:
        yield Step(kind="observation", text=_bounded_text(attempt["problem"]))
    yield Step(kind="action", text="answer", metadata={"cited": len(attempt["cited"])})


def _bounded_text(text: str) -> str:
    clean = without_surrogates(text)
    return clean if len(clean) <= MAX_STEP_CHARS else preview(clean, MAX_STEP_CHARS)


LINE_CHARS = 500
LINES = 20
LABEL_CHARS = 100
FALLBACK_CONFIDENCE = 0.1


def stored_reflection(
    task: LearningTask, result: ReflectionResult | None, error: str | None, run: Run, attempt: str
) -> TurnReflection:
    """Return the reflection as it is stored: what went well, what failed, what to do next time.

    A strategy that a failed run taught did not go well in it: it is a recommendation. The id follows from the
    turn and from `attempt`, the try in which it was made. Where the reflector failed (`result` is None) the
    reflection follows from the evidence, and is marked as a fallback.
    """
    if result is None:
        verdict = verdict_of(task.evidence)
        texts = [item.text for item in task.evidence if item.text and item.source != "ground_truth"]
        return TurnReflection(
            turn_id=task.subject.turn_id,
            reflection_id=_reflection_id(task, attempt),
            at=run.resources.clock(),
            by="rules",
            successes=_lines(texts if verdict == "success" else []),
            failures=_lines(texts if verdict in ("failure", "partial") else []),
            observations=_lines([lesson.content for lesson in task.found]),
            lessons=tuple(map(_noted, task.found)),
            confidence=FALLBACK_CONFIDENCE,
            fallback=True,
            error=_line(error) if error else None,
        )
    reflection = result.reflection
    lessons = {kind: [x.content for x in result.lessons if x.polarity == kind] for kind in _POLARITIES}
    failed = verdict_of(task.evidence) in ("failure", "partial")
    return TurnReflection(
        turn_id=task.subject.turn_id,
        reflection_id=_reflection_id(task, attempt),
        at=run.resources.clock(),
        by=model_name(run) or "",
        insight=_line(result.insight),
        successes=() if failed else _lines(lessons["strategy"]),
        failures=_lines(
            [*lessons["anti_pattern"], reflection.error_identification, reflection.root_cause_analysis]
        ),
        observations=_lines(lessons["observation"]),
        recommendations=_lines([reflection.correct_approach, *(lessons["strategy"] if failed else ())]),
        lessons=tuple(map(_noted, (*task.found, *result.lessons))),
    )


def _reflection_id(task: LearningTask, attempt: str) -> str:
    return operation_id(task.subject.turn_id, attempt, "reflection")


def _noted(lesson: Lesson) -> ReflectedLesson:
    return ReflectedLesson(
        content=_line(lesson.content),
        polarity=lesson.polarity,
        section=shorten(lesson.section, LABEL_CHARS),
        memory_type=lesson.memory_type,
        topic=None if lesson.topic is None else shorten(lesson.topic, LABEL_CHARS),
    )


_POLARITIES = ("strategy", "anti_pattern", "observation")


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for line in map(_line, texts) if line)[:LINES]


def _line(text: str) -> str:
    return shorten(" ".join(text.split()), LINE_CHARS)


def make_record(
    state: ACEState,
    attempt: Attempt,
    run: Run,
    usage: Usage,
    reflections: Sequence[TurnReflection] = (),
    replay: ReplayOutcome | None = None,
) -> TurnRecord:
    """Return the record of this turn. Its verdict is the one on the first answer, which counts."""
    turn, result = state["turn"], state["result"]
    question = last_question(state["messages"])
    attachments = describe_attachments(question.content) if question else ""
    started, completed = datetime.fromisoformat(turn["started_at"]), run.resources.clock()
    # The evidence on the answer; of a revised one that on both answers, the newest last
    first = attempt.get("first")
    evidence = (
        *from_json(first["evidence"] if first else ()),
        *from_json(result["evidence"] if result else ()),
    )
    verdict = result["verdict"] if result else "unknown"
    status: TurnStatus = "partial" if attempt["problem"] else "success"
    if verdict in ("failure", "partial"):
        status = verdict
    judged = strongest(evidence)
    score = judged.score if judged is not None else None
    if judged is not None and score is None:
        score = SCORES[judged.verdict]
    steps, left_out = bounded_steps(steps_of(state, attempt))
    model, prices = model_name(run), run.resources.settings.prices
    record = TurnRecord(
        turn_id=turn["turn_id"],
        attempt_id=attempt["attempt_id"],
        conversation_id=run.context.conversation_id,
        parent_id=run.context.parent_id,
        task_type=run.context.task_type,
        task=truncate(f"{turn['question']} {attachments}".strip(), MAX_TASK_CHARS, show_length=True),
        answer=truncate(attempt["answer"], MAX_TASK_CHARS, show_length=True),
        answer_hash=answer_hash(attempt["answer"]),
        mode=state["plan"]["mode"],
        topic=state["plan"]["topic"],
        status=status,
        verdict=result["first"]["verdict"] if result else "unknown",
        error=attempt["problem"],
        score=score,
        model=model,
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=cost_of(model, usage.input_tokens, usage.output_tokens, prices),
        duration_ms=max(0.0, (completed - started).total_seconds() * 1000),
        injected=tuple(attempt["injected"]),
        cited=tuple(attempt["cited"]),
        arm=attempt.get("arm"),
        replay=None if replay == "not tried" else replay,
        playbooks=tuple(PlaybookRead(*each) for each in attempt.get("playbooks", ())),
        evidence=evidence,
        steps=steps,
        steps_left_out=left_out,
        reflections=tuple(reflections)[-3:],
        started_at=started,
        completed_at=completed,
    )
    return sampled(record, run.resources.settings.tracing)


def describe_attachments(content: object) -> str:
    """Return "[image/png, 84 KB]" for every part of a message's content that is not text."""
    if not isinstance(content, list):
        return ""
    described = (
        _described(cast("Mapping[str, object]", part))
        for part in cast("list[object]", content)
        if isinstance(part, Mapping)
    )
    return " ".join(part for part in described if part)


def _described(part: Mapping[str, object]) -> str:
    if part.get("type") == "text":
        return ""
    data = part.get("data") or part.get("base64") or part.get("image_url") or part.get("url") or ""
    if isinstance(data, Mapping):
        data = cast("Mapping[str, object]", data).get("url", "")
    text = data if isinstance(data, str) else ""
    inline = text.startswith("data:")
    of_url = text[5:].partition(";")[0] if inline else ""
    kind = part.get("mime_type") or part.get("mimeType") or of_url or part.get("type") or "data"
    encoded = text.partition(",")[2] if inline else text
    size = f", {len(encoded) * 3 // 4 // 1024} KB" if len(encoded) > 1024 else ""
    return f"[{preview(kind, 64)}{size}]"


def model_name(run: Run) -> str | None:
    """Return the name of the run's model; None where no model can be made."""
    try:
        return name_of_model(run.resources.model(run.context))
    except AceError:
        return None
