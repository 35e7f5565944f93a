"""What each way of retrieval puts in a prompt: this memory's, plain BM25, the whole playbook, embeddings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from langchain_core.embeddings import Embeddings

from ace_graph.agent.embeddings.matrix import Matrix, quantised
from ace_graph.agent.embeddings.meaning import NEAREST, few_of
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.classify import infer_topic
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.retrieval.retrieve import Scored, line_tokens, retrieve
from ace_graph.memory.search.index import idf
from ace_graph.memory.search.tokenize import estimate_tokens, terms
from ace_graph.memory.snapshot import Access
from benchmarks.quality.retrieval.cases import START, Case, Question

__all__ = ["WAYS", "Shown", "Way", "semantic_ways"]

BUDGET = 2_000
TOP = 10
_LATER = START + timedelta(days=1)


class Shown(NamedTuple):
    """The ids in the prompt, best first, and the tokens that they take."""

    ids: tuple[str, ...]
    tokens: int


Way = Callable[[Case, Question], Shown]


def ours(case: Case, question: Question, semantic: Mapping[str, float] | None = None) -> Shown:
    """This memory as the graph drives it."""
    found = retrieve(
        question.text,
        case.playbook,
        Access(),
        Policy(),
        now=_LATER,
        budget_tokens=BUDGET,
        topic=infer_topic(question.text),
        semantic=semantic,
    )
    return Shown(tuple(s.bullet.id for s in (*found.core, *found.retrieved)), found.tokens)


def plain_bm25(case: Case, question: Question) -> Shown:
    """The ten best by BM25, on the same terms, without a gate."""
    index = case.playbook.index
    weights = {term: idf(index.frequency(term), len(index)) for term in set(terms(question.text))}
    scores = index.scores(list(case.playbook.entries), weights)
    best = sorted((b for b in case.playbook.bullets() if scores[b.id] > 0), key=lambda b: -scores[b.id])
    return _shown(best[:TOP])


def word_overlap(case: Case, question: Question) -> Shown:
    """Document 003: the ten that share most words with the question, as they are written."""
    asked = set(question.text.casefold().split())
    shared = {b.id: len(asked & set(b.content.casefold().split())) for b in case.playbook.bullets()}
    best = sorted((b for b in case.playbook.bullets() if shared[b.id]), key=lambda b: -shared[b.id])
    return _shown(best[:TOP])


def whole_playbook(case: Case, question: Question) -> Shown:
    """All there is, in its order."""
    return _shown(case.playbook.bullets())


WAYS: dict[str, Way] = {
    "ours": ours,
    "plain BM25, 10 best": plain_bm25,
    "word overlap, 10 best": word_overlap,
    "whole playbook": whole_playbook,
}


def semantic_ways(embeddings: Embeddings) -> dict[str, Way]:
    """Return the ways that need a model: this memory with it, and the ten nearest by meaning alone."""
    matrices: dict[str, tuple[Playbook, Matrix]] = {}

    def nearest(case: Case, question: Question, limit: int) -> Mapping[str, float]:
        held = matrices.get(case.name)
        if held is None or held[0] is not case.playbook:
            bullets = case.playbook.bullets()
            rows = quantised(embeddings.embed_documents([b.content for b in bullets]))
            by_id = {b.id: row for b, row in zip(bullets, rows, strict=True)}
            held = case.playbook, Matrix.of(by_id, few_of(embeddings))
            matrices[case.name] = held
        return held[1].nearest(embeddings.embed_query(question.text), limit)

    def ours_with_it(case: Case, question: Question) -> Shown:
        return ours(case, question, nearest(case, question, NEAREST))

    def alone(case: Case, question: Question) -> Shown:
        found = nearest(case, question, TOP)
        best = sorted(found, key=lambda key: -found[key])
        return _shown([case.playbook.entries[key] for key in best])

    return {"ours with embeddings": ours_with_it, "embeddings, 10 nearest": alone}


def _shown(bullets: Sequence[Bullet]) -> Shown:
    return Shown(
        tuple(b.id for b in bullets),
        sum(line_tokens(Scored(b, 0.0, 0.0, 0.0), estimate_tokens) for b in bullets),
    )
