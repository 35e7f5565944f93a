"""langmem and mem0 as ways of retrieval, each in its own documented way, with given vectors and no model.

Nothing is merged, left out or rewritten when a text is stored: both leave that to a model, which is not asked
here. What is not said here is their default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from importlib.util import find_spec
from tempfile import mkdtemp
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListChatModel

from ace_graph.memory.retrieval.retrieve import Scored, line_tokens
from ace_graph.memory.search.tokenize import estimate_tokens
from benchmarks.quality.retrieval.cases import Case, Question
from benchmarks.quality.retrieval.methods import TOP, Shown, Way

__all__ = ["PACKAGES", "langmem_way", "mem0_way", "missing_packages"]

PACKAGES = ("langmem", "mem0", "fastembed", "wordllama")
"""The modules that are needed; `requirements.txt` has the packages."""


def missing_packages() -> list[str]:
    """Return which of the modules are not installed."""
    return [name for name in PACKAGES if find_spec(name) is None]


def langmem_way(embeddings: Embeddings, *, top: int = TOP) -> Way:
    """langmem's search tool over LangGraph's InMemoryStore with an index of vectors; its own limit is 10."""
    make_tool: Callable[..., Any] = import_module(
        "langmem"
    ).create_search_memory_tool  # Any: not installed here
    make_store: Callable[..., Any] = import_module("langgraph.store.memory").InMemoryStore  # Any: as above
    tools: dict[str, Any] = {}

    def filled(case: Case) -> Any:  # Any: a tool of a package that is not installed here
        index = {"dims": len(embeddings.embed_query("a")), "embed": embeddings, "fields": ["content"]}
        store, place = make_store(index=index), ("memories", case.name)
        for bullet in case.playbook.bullets():
            store.put(place, bullet.id, {"content": bullet.content})
        return make_tool(place, store=store, response_format="content_and_artifact")

    def way(case: Case, question: Question) -> Shown:
        if case.name not in tools:
            tools[case.name] = filled(case)
        asked = {"query": question.text, "limit": top}
        call = {"type": "tool_call", "id": "1", "name": "search_memory", "args": asked}
        return _shown(case, [str(item.key) for item in tools[case.name].invoke(call).artifact])

    return way


def mem0_way(embeddings: Embeddings, *, stop_words: Collection[str] | None, top: int = TOP) -> Way:
    """mem0's `add(infer=False)` and `search` over Qdrant in memory; its threshold, and 10 in place of its 20.

    With `stop_words` its keyword search (fastembed's BM25) counts too. That would download a list of stop
    words when first used; it is given these instead.
    """
    os.environ["MEM0_TELEMETRY"] = "False"  # read when the module is imported
    os.environ.setdefault("MEM0_DIR", mkdtemp())
    make_client: Callable[..., Any] = import_module("qdrant_client").QdrantClient  # Any: not installed here
    memory_class: Any = import_module("mem0").Memory  # Any: as above
    encoder = None if stop_words is None else _keyword_encoder(stop_words)
    memories: dict[str, Any] = {}

    def filled(case: Case) -> Any:  # Any: a memory of a package that is not installed here
        size = len(embeddings.embed_query("a"))
        store = {"client": make_client(":memory:"), "collection_name": "m", "embedding_model_dims": size}
        memory = memory_class.from_config(
            {
                # mem0 builds its model at once; this one answers nothing and is never asked.
                "llm": {"provider": "langchain", "config": {"model": FakeListChatModel(responses=[])}},
                "embedder": {
                    "provider": "langchain",
                    "config": {"model": embeddings, "embedding_dims": size},
                },
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": ":memory:",
            }
        )
        memory.vector_store._bm25_encoder = encoder or False  # False: "could not be loaded"
        for bullet in case.playbook.bullets():
            memory.add(bullet.content, user_id=case.name, infer=False, metadata={"bullet": bullet.id})
        return memory

    def way(case: Case, question: Question) -> Shown:
        if case.name not in memories:
            memories[case.name] = filled(case)
        found = memories[case.name].search(question.text, filters={"user_id": case.name}, top_k=top)
        return _shown(case, [str(item["metadata"]["bullet"]) for item in found["results"]])

    return way


def _keyword_encoder(stop_words: Collection[str]) -> object:
    """The encoder that mem0 uses for keywords, with an empty folder in place of its download."""
    encoder: object = import_module("fastembed").SparseTextEmbedding(
        "Qdrant/bm25", specific_model_path=mkdtemp(), stopwords=set(stop_words)
    )
    return encoder


def _shown(case: Case, ids: Sequence[str]) -> Shown:
    """Count all packages alike, by the lines that this project would show: a tool's JSON takes more."""
    bullets = [case.playbook.entries[key] for key in ids]
    return Shown(
        tuple(ids), sum(line_tokens(Scored(bullet, 0.0, 0.0, 0.0), estimate_tokens) for bullet in bullets)
    )
