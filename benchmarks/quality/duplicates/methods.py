"""How each method judges a pair: this memory's comparison, and what it is compared with."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import sqrt
from typing import Literal

from langchain_core.embeddings import Embeddings
from rapidfuzz import fuzz

from ace_graph.memory.bullet import Bullet, content_hash
from ace_graph.memory.commit import plan
from ace_graph.memory.delta.operations import Add, Delta
from ace_graph.memory.policy import Policy
from ace_graph.memory.similarity.claim import parse_claim
from ace_graph.memory.similarity.compare import compare
from ace_graph.memory.similarity.guards import check_claims
from ace_graph.memory.snapshot import Snapshot
from benchmarks.quality.duplicates.pairs import Pair

__all__ = ["METHODS", "Method", "Outcome", "semantic_methods"]

Outcome = Literal["same", "rival", "different"]
Method = Callable[[Sequence[Pair]], list[Outcome]]

_POLICY = Policy()
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_JACCARD = 0.85
_TOKEN_SORT = 90
_COSINE = 0.85


def ours(pairs: Sequence[Pair]) -> list[Outcome]:
    """The comparison that decides merges, contests and what may stand beside what in a prompt."""
    return [compare(_bullet(p.a, 1), _bullet(p.b, 2), _POLICY.similarity).outcome for p in pairs]


def ours_in_a_turn(pairs: Sequence[Pair]) -> list[Outcome]:
    """Two lessons added one after the other: found by the index, of one inferred memory type, compared."""
    return ["same" if _merge_in_a_playbook(pair) else "different" for pair in pairs]


def word_jaccard(pairs: Sequence[Pair]) -> list[Outcome]:
    """Words in common, of all words."""
    return [_merged_if(_jaccard(pair.a, pair.b) > _JACCARD) for pair in pairs]


def token_sort(pairs: Sequence[Pair]) -> list[Outcome]:
    """Letters in common once the words are sorted."""
    return [_merged_if(fuzz.token_sort_ratio(_plain(p.a), _plain(p.b)) > _TOKEN_SORT) for p in pairs]


def content_hashes(pairs: Sequence[Pair]) -> list[Outcome]:
    """Document 003: one hash for texts that differ in case and spacing only."""
    return [_merged_if(content_hash(pair.a) == content_hash(pair.b)) for pair in pairs]


METHODS: dict[str, Method] = {
    "ours": ours,
    "ours, in a turn": ours_in_a_turn,
    f"word Jaccard > {_JACCARD}": word_jaccard,
    f"token sort ratio > {_TOKEN_SORT / 100}": token_sort,
    "content hash (document 003)": content_hashes,
}


def semantic_methods(embeddings: Embeddings) -> dict[str, Method]:
    """Return the methods that need a model: cosine alone, and where our guards have nothing against it."""

    def cosine(pairs: Sequence[Pair]) -> list[Outcome]:
        return [_merged_if(found > _COSINE) for found in _cosines(embeddings, pairs)]

    def guarded(pairs: Sequence[Pair]) -> list[Outcome]:
        found = zip(_cosines(embeddings, pairs), pairs, strict=True)
        return [
            _merged_if(
                alike > _COSINE
                and check_claims(parse_claim(pair.a), parse_claim(pair.b)).guard in (None, "words")
            )
            for alike, pair in found
        ]

    return {f"cosine > {_COSINE}": cosine, f"cosine > {_COSINE} and no guard but 'words'": guarded}


def _bullet(text: str, number: int) -> Bullet:
    return Bullet(id=f"str-{number:05d}", section="strategies", content=text)


def _merge_in_a_playbook(pair: Pair) -> bool:
    snapshot = Snapshot()
    for number, text in enumerate((pair.a, pair.b)):
        delta = Delta(op_id=str(number), now=_NOW, operations=(Add(section="strategies", content=text),))
        snapshot = plan(snapshot, delta, _POLICY, None, lambda: "token").snapshot
    return len(snapshot.playbook.bullets()) == 1


def _jaccard(a: str, b: str) -> float:
    first, second = set(_plain(a).split()), set(_plain(b).split())
    return len(first & second) / len(first | second) if first | second else 1.0


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _merged_if(holds: bool) -> Outcome:
    return "same" if holds else "different"


def _cosines(embeddings: Embeddings, pairs: Sequence[Pair]) -> list[float]:
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.a, pair.b)))
    vectors = dict(zip(texts, embeddings.embed_documents(texts), strict=True))
    return [_cosine(vectors[pair.a], vectors[pair.b]) for pair in pairs]


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    lengths = sqrt(sum(x * x for x in a)) * sqrt(sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0
