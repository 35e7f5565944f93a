"""Evidence: one typed judgement of a turn, and the verdict that follows from several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ace_graph.memory.bullet import BulletTag, Text

__all__ = ["EVIDENCE_SOURCES", "Evidence", "EvidenceSource", "Verdict", "tag_of", "verdict_of"]

EvidenceSource = Literal["ground_truth", "tool", "evaluator", "learner", "model"]
Verdict = Literal["success", "failure", "partial", "unknown"]

EVIDENCE_SOURCES: tuple[EvidenceSource, ...] = ("ground_truth", "tool", "evaluator", "learner")
"""The sources that move counters, the strongest first. A model's opinion moves none."""

_TAGS: dict[Verdict, BulletTag | None] = {
    "success": "helpful",
    "failure": "harmful",
    "partial": "neutral",
    "unknown": None,
}


class Evidence(BaseModel):
    """The judgement of one source on one turn. `score` is in [0, 1]; `by` names who or what gave it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: EvidenceSource
    verdict: Verdict
    score: Annotated[float, Field(ge=0, le=1)] | None = None
    text: Annotated[Text, Field(max_length=2_000)] = ""
    by: Annotated[Text, Field(max_length=256)] = ""


def tag_of(verdict: Verdict) -> BulletTag | None:
    """Return the counter that a verdict raises, None for unknown."""
    return _TAGS[verdict]


def verdict_of(evidence: Iterable[Evidence]) -> Verdict:
    """Return the verdict of the strongest source that has one; unknown without evidence.

    A model's opinion is ignored. Within one source the last judgement counts.
    """
    latest: dict[EvidenceSource, Verdict] = {
        item.source: item.verdict for item in evidence if item.verdict != "unknown"
    }
    for source in EVIDENCE_SOURCES:
        if source in latest:
            return latest[source]
    return "unknown"
