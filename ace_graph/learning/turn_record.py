"""The turn's record, made from the state: bounded, without bytes of attachments.

The steps of a graph turn, as its trajectory keeps them: the decision, the tool calls, their results; and
what a reflector reads of a trajectory that is stored.

A reflection as it is kept with the turn: what went well, what failed, what to do next time.

Where no model gave a usable reply it is said by rules, from the evidence, and marked as such.

Does not: store it; it travels in the turn's commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import cast

from ace_graph.errors import AceError
from ace_graph.evidence import to_evidence
from ace_graph.learning.reflector import Reflected, Subject
from ace_graph.learning.tasks import Look
from ace_graph.memory.evidence import EVIDENCE_SOURCES, Evidence, verdict_of
from ace_graph.memory.text import shorten, truncate, without_surrogates
from ace_graph.memory.trajectory import bounded_steps, sampled
from ace_graph.memory.turn import (
    MAX_STEP_CHARS,
    MAX_TASK_CHARS,
    Step,
    TurnRecord,
    TurnReflection,
    TurnStatus,
    answer_hash,
)
from ace_graph.models import Usage
from ace_graph.prices import cost_of
from ace_graph.prompts import preview
from ace_graph.reasoning.prompt import last_question
from ace_graph.runtime import Run
from ace_graph.state import ACEState, Attempt, EvidenceJSON, Result

__all__ = ["describe_attachments", "make_record", "model_name", "steps_of", "subject_of", "told"]


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


def subject_of(turn: TurnRecord) -> Subject:
    """Return what a stored trajectory shows to the reflector."""
    lines = (
        f"{step.kind}: {step.text}" + (f" (x{step.times})" if step.times > 1 else "") for step in turn.steps
    )
    return Subject(
        turn_id=turn.turn_id,
        question=turn.task,
        answer=turn.answer or turn.error or f"(ended as {turn.status})",
        injected=tuple(dict.fromkeys((*turn.injected, *turn.cited))),
        cited=turn.cited,
        topic=turn.topic,
        trace=tuple(lines),
    )


def _bounded_text(text: str) -> str:
    clean = without_surrogates(text)
    return clean if len(clean) <= MAX_STEP_CHARS else preview(clean, MAX_STEP_CHARS)


LINE_CHARS = 500
LINES = 20
FALLBACK_CONFIDENCE = 0.1


def told(look: Look, reflected: Reflected | None, error: str | None, run: Run) -> TurnReflection:
    """Return what came of a look at a turn; `reflected` is None where the reflector failed."""
    if reflected is None:
        return _by_rules(look, error, run)
    said = reflected.reflection
    kinds = {kind: [x.content for x in reflected.lessons if x.polarity == kind] for kind in _KINDS}
    return TurnReflection(
        turn_id=look.subject.turn_id,
        at=run.resources.clock(),
        by=model_name(run) or "",
        insight=_line(reflected.insight),
        successes=_lines(kinds["strategy"]),
        failures=_lines([*kinds["anti_pattern"], said.error_identification, said.root_cause_analysis]),
        observations=_lines(kinds["observation"]),
        recommendations=_lines([said.correct_approach]),
    )


_KINDS = ("strategy", "anti_pattern", "observation")


def _by_rules(look: Look, error: str | None, run: Run) -> TurnReflection:
    """What the evidence alone says; little, and of little confidence."""
    verdict = verdict_of(look.evidence)
    texts = [item.text for item in look.evidence if item.text and item.source != "ground_truth"]
    found = [lesson.content for lesson in look.found]
    return TurnReflection(
        turn_id=look.subject.turn_id,
        at=run.resources.clock(),
        by="rules",
        successes=_lines(texts if verdict == "success" else []),
        failures=_lines(texts if verdict in ("failure", "partial") else []),
        observations=_lines(found),
        confidence=FALLBACK_CONFIDENCE,
        fallback=True,
        error=_line(error) if error else None,
    )


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for line in map(_line, texts) if line)[:LINES]


def _line(text: str) -> str:
    return shorten(" ".join(text.split()), LINE_CHARS)


_WORTH = {"success": 1.0, "partial": 0.5, "failure": 0.0}


def make_record(
    state: ACEState, attempt: Attempt, run: Run, usage: Usage, reflections: Sequence[TurnReflection] = ()
) -> TurnRecord:
    """Return the record of this turn. Its verdict is that of the first answer, which counts."""
    turn, result = state["turn"], state["result"]
    question = last_question(state["messages"])
    attachments = describe_attachments(question.content) if question else ""
    started, completed = datetime.fromisoformat(turn["started_at"]), run.resources.clock()
    evidence = tuple(to_evidence(item) for item in _evidence(result, attempt))
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
        status=_status(result, attempt),
        verdict=result["first"]["verdict"] if result else "unknown",
        error=attempt["problem"],
        score=_score(evidence),
        model=model,
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=cost_of(model, usage.input_tokens, usage.output_tokens, prices),
        duration_ms=max(0.0, (completed - started).total_seconds() * 1000),
        injected=tuple(attempt["injected"]),
        cited=tuple(attempt["cited"]),
        arm=attempt.get("arm"),
        evidence=evidence,
        steps=steps,
        steps_left_out=left_out,
        reflections=tuple(reflections)[-3:],
        started_at=started,
        completed_at=completed,
    )
    return sampled(record, run.resources.settings.tracing)


def _score(evidence: Sequence[Evidence]) -> float | None:
    """The score that the strongest source gave last, or what its verdict is worth."""
    for source in EVIDENCE_SOURCES:
        for item in reversed(evidence):
            if item.source == source and item.verdict != "unknown":
                return _WORTH[item.verdict] if item.score is None else item.score
    return None


def _evidence(result: Result | None, attempt: Attempt) -> list[EvidenceJSON]:
    """All judgements of the turn's answers, those of the answer that was given last."""
    first = attempt.get("first")
    return [*(first["evidence"] if first else []), *(result["evidence"] if result else [])]


def describe_attachments(content: object) -> str:
    """Return "[image/png, 84 KB]" for every part of a message's content that is no text."""
    if not isinstance(content, list):
        return ""
    told = (
        _described(cast("Mapping[str, object]", part))
        for part in cast("list[object]", content)
        if isinstance(part, Mapping)
    )
    return " ".join(part for part in told if part)


def _described(part: Mapping[str, object]) -> str:
    if part.get("type") == "text":
        return ""
    data = part.get("data") or part.get("base64") or part.get("image_url") or part.get("url") or ""
    if isinstance(data, Mapping):
        data = cast("Mapping[str, object]", data).get("url", "")
    text = data if isinstance(data, str) else ""
    kind = part.get("mime_type") or part.get("mimeType") or _kind_of_url(text) or part.get("type") or "data"
    encoded = text.partition(",")[2] if text.startswith("data:") else text
    size = f", {len(encoded) * 3 // 4 // 1024} KB" if len(encoded) > 1024 else ""
    return f"[{preview(kind, 64)}{size}]"


def _kind_of_url(text: str) -> str:
    return text[5:].partition(";")[0] if text.startswith("data:") else ""


def _status(result: Result | None, attempt: Attempt) -> TurnStatus:
    verdict = result["verdict"] if result else "unknown"
    if verdict in ("failure", "partial"):
        return verdict
    return "partial" if attempt["problem"] else "success"


def model_name(run: Run) -> str | None:
    """Return the name of the run's model; None where there is none to be had."""
    try:
        model = run.resources.model(run.context)
    except AceError:
        return None
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    return name if isinstance(name, str) else type(model).__name__
