"""Which bullets a prompt gets: relevance, ranking, cutoff, budget; and why it gets them, and others not."""

from __future__ import annotations

from ace_graph.memory.retrieval.explain import (
    BelowCutoff,
    EarlierValue,
    GateShut,
    NoRoom,
    NoSharedWord,
    NotEligible,
    Reason,
    Retrieved,
    RivalKept,
    Superseded,
    as_json,
    explain,
    in_words,
    is_shown,
)
from ace_graph.memory.retrieval.query import parse_question
from ace_graph.memory.retrieval.relevance import relevant
from ace_graph.memory.retrieval.retrieve import FRAME_TOKENS, Retrieval, Scored, retrieve

__all__ = [
    "FRAME_TOKENS",
    "BelowCutoff",
    "EarlierValue",
    "GateShut",
    "NoRoom",
    "NoSharedWord",
    "NotEligible",
    "Reason",
    "Retrieval",
    "Retrieved",
    "RivalKept",
    "Scored",
    "Superseded",
    "as_json",
    "explain",
    "in_words",
    "is_shown",
    "parse_question",
    "relevant",
    "retrieve",
]
