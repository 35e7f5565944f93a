"""A reflection as it is kept with the turn: what went well, what failed, what to do next time.

Where no model gave a usable reply it is said by rules, from the evidence, and marked as such.

Does not: call a model or change the playbook.
"""

from __future__ import annotations

from collections.abc import Iterable

from ace_graph.learning.pending_work import Look
from ace_graph.learning.record import model_name
from ace_graph.learning.reflector import Reflected
from ace_graph.memory.evidence import verdict_of
from ace_graph.memory.trace import TurnReflection
from ace_graph.run import Run

__all__ = ["told"]

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
    line = " ".join(text.split())
    return line if len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 1]}…"
