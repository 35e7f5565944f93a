"""Which bullets a prompt gets: relevance, ranking, cutoff, budget; and why it gets them, and others not."""

from __future__ import annotations

from ace_graph.memory.retrieval.explain import Reason, as_json, explain, in_words, is_shown
from ace_graph.memory.retrieval.retrieve import Retrieval, Scored, retrieve

__all__ = ["Reason", "Retrieval", "Scored", "as_json", "explain", "in_words", "is_shown", "retrieve"]
