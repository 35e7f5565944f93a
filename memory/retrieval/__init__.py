"""Which bullets a prompt gets: relevance, ranking, cutoff, budget."""

from __future__ import annotations

from ace_graph.memory.retrieval.retrieve import Retrieval, retrieve
from ace_graph.memory.retrieval.selection import Scored

__all__ = ["Retrieval", "Scored", "retrieve"]
