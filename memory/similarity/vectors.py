"""Which texts say the same in other words, by their vectors: 0.85 alike, and no guard finds a difference.

The one place that says so: the patterns of many runs, what is curated from reflections and what is added to a
playbook are grouped by it (document 004, 6.3). Vectors alone decide nothing: those of texts that differ in a
number, a unit, a negation, an opposite, a direction or an order are near, too.
"""

from __future__ import annotations

import logging
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.similarity.claim import parse_claim
from ace_graph.memory.similarity.guards import check_claims

logger = logging.getLogger("ace_graph")
MAX_EMBEDDED = 1_000
"""Of more different texts only the words are compared: each vector is compared with those before it."""
NEAR = 0.85
"""The cosine similarity from which two texts may say the same (document 004, similarity_threshold)."""
_TOLERATED = frozenset({None, "words"})
"""What two texts with near vectors may differ in: their words."""
Vectors = Mapping[str, Sequence[float]]
"""Embeddings by text."""


class Embedder(Protocol):
    """What makes vectors of texts, such as the Embeddings of LangChain."""

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        ...


def unit_vectors(vectors: Vectors) -> Vectors:
    """Return the vectors with a length of 1; one of zeros stays as it is."""
    lengths = {text: math.hypot(*vector) or 1.0 for text, vector in vectors.items()}
    return {text: tuple(x / lengths[text] for x in vector) for text, vector in vectors.items()}


def are_near(a: Bullet, b: Bullet, units: Vectors) -> bool:
    """Whether two bullets of one polarity say the same by their vectors, of length 1, and by the guards."""
    if a.polarity != b.polarity or a.content not in units or b.content not in units:
        return False
    if sum(map(operator.mul, units[a.content], units[b.content])) < NEAR:
        return False
    return check_claims(parse_claim(a.content), parse_claim(b.content)).guard in _TOLERATED


async def vectors_of(texts: Iterable[str], embeddings: Embedder | None) -> Vectors:
    """Return the embeddings of the texts; none for more than 1,000 texts, and where the service fails."""
    wanted = list(dict.fromkeys(texts))
    if embeddings is None or not 0 < len(wanted) <= MAX_EMBEDDED:
        return {}
    try:
        return dict(zip(wanted, await embeddings.aembed_documents(wanted), strict=True))
    except Exception as error:  # whatever a service raises
        logger.warning("[ACE Memory] embeddings failed, only words are compared: %s", type(error).__name__)
        return {}
