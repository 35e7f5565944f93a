"""Evidence: one typed judgement of a turn, and the verdict that follows from several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from ace_graph.base.frozen import Frozen
from ace_graph.memory.bullet import BulletTag, Text

EvidenceSource = Literal["ground_truth", "tool", "evaluator", "learner", "model"]
Verdict = Literal["success", "failure", "partial", "unknown"]

EVIDENCE_SOURCES: tuple[EvidenceSource, ...] = ("ground_truth", "tool", "evaluator", "learner")
"""The sources that move counters, the strongest first. A model's opinion moves none."""

SCORES: Mapping[Verdict, float] = MappingProxyType({"success": 1.0, "partial": 0.5, "failure": 0.0})
"""The score of a verdict that comes without one."""

_TAGS: dict[Verdict, BulletTag | None] = {
    "success": "helpful",
    "failure": "harmful",
    "partial": "neutral",
    "unknown": None,
}


class Evidence(Frozen):
    """The judgement of one source on one turn. `score` is in [0, 1]; `by` names who or what gave it."""

    source: EvidenceSource
    verdict: Verdict
    score: Annotated[float, Field(ge=0, le=1)] | None = None
    text: Annotated[Text, Field(max_length=2_000)] = ""
    by: Annotated[Text, Field(max_length=256)] = ""


def tag_of(verdict: Verdict) -> BulletTag | None:
    """Return the counter that a verdict raises, None for unknown."""
    return _TAGS[verdict]


def strongest(evidence: Iterable[Evidence]) -> Evidence | None:
    """Return the judgement that decides: the last one of the strongest source; None without any.

    A model's opinion is ignored.
    """
    latest = {item.source: item for item in evidence if item.verdict != "unknown"}
    return next((latest[source] for source in EVIDENCE_SOURCES if source in latest), None)


def verdict_of(evidence: Iterable[Evidence]) -> Verdict:
    """Return the verdict of the judgement that decides; unknown without evidence."""
    found = strongest(evidence)
    return "unknown" if found is None else found.verdict
