"""Semantic similarity of a question to the bullets, where the host injected embeddings.

Vectors are kept per graph by content hash, bounded, so each text is embedded once.
"""

from __future__ import annotations

import logging
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Protocol

from langchain_core.embeddings import Embeddings

from ace_graph.memory.playbook import Playbook

__all__ = ["Vectors", "semantic_scores"]

logger = logging.getLogger("ace_graph")

MAX_VECTORS = 20_000


class Vectors:
    """Content hash -> vector, the least recently used dropped first."""

    def __init__(self, limit: int = MAX_VECTORS) -> None:
        self._limit = limit
        self._held: OrderedDict[str, Sequence[float]] = OrderedDict()

    def get(self, key: str) -> Sequence[float] | None:
        if key in self._held:
            self._held.move_to_end(key)
        return self._held.get(key)

    def put(self, key: str, vector: Sequence[float]) -> None:
        self._held[key] = vector
        while len(self._held) > self._limit:
            self._held.popitem(last=False)


class _Embedding(Protocol):
    @property
    def embeddings(self) -> Embeddings | None: ...
    @property
    def vectors(self) -> Vectors: ...


async def semantic_scores(
    query: str, playbook: Playbook, read_only: Playbook | None, parts: _Embedding
) -> Mapping[str, float] | None:
    """Return the cosine similarity (0-1) of `query` to each bullet by id; None without embeddings.

    An embedding service that fails costs the semantic part of this turn's retrieval, not the turn.
    """
    if parts.embeddings is None:
        return None
    bullets = [*playbook.bullets(), *(read_only.bullets() if read_only else ())]
    hashes = {bullet.id: bullet.content_hash for bullet in bullets}
    missing = {h: b.content for b in bullets if parts.vectors.get(h := hashes[b.id]) is None}
    try:
        made = await parts.embeddings.aembed_documents(list(missing.values())) if missing else []
        asked = await parts.embeddings.aembed_query(query)
    except Exception as error:
        logger.warning("[ACE Memory] embeddings failed, retrieving by words alone: %s", type(error).__name__)
        return None
    fresh: dict[str, Sequence[float]] = dict(zip(missing, made, strict=True))
    for key, made_now in fresh.items():
        parts.vectors.put(key, made_now)
    known = {bullet_id: fresh.get(key) or parts.vectors.get(key) for bullet_id, key in hashes.items()}
    return {bullet_id: _cosine(asked, vector) for bullet_id, vector in known.items() if vector is not None}


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    norm = math.sqrt(sum(x * x for x in a) * sum(x * x for x in b))
    return max(0.0, sum(x * y for x, y in zip(a, b, strict=True)) / norm) if norm else 0.0
