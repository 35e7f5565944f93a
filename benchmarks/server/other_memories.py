"""langmem and mem0 as memories of the bare graph: what they store and retrieve without asking a model.

Both embed with the same vectors, made here from hashed words, which costs less than any real embedding. What
they do with a model's help, finding and merging facts, is not measured.

mem0's telemetry is switched off.
"""

# Neither library is installed where types are checked, and mem0 is not typed.
# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from zlib import crc32

from benchmarks.server.recall import Recall

__all__ = ["KINDS", "VECTOR_SIZE", "Rival", "embed_all", "recall_of"]

Rival = Literal["langmem", "mem0"]

KINDS: tuple[Rival, ...] = ("langmem", "mem0")
FOUND = 10
VECTOR_SIZE = 256


def recall_of(kind: str, folder: Path) -> Recall:
    """Return the memory named, empty. Raises ImportError where it is not installed."""
    return _Langmem() if kind == "langmem" else _Mem0(folder)


def embed(text: str) -> list[float]:
    """Return a vector of length 1: every word counts in one of 256 places."""
    vector = [0.0] * VECTOR_SIZE
    for word in text.lower().split():
        vector[crc32(word.encode()) % VECTOR_SIZE] += 1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def embed_all(texts: Sequence[str]) -> list[list[float]]:
    """Return the vector of each text."""
    return [embed(text) for text in texts]


class _Langmem:
    """langmem's two tools over LangGraph's store in memory, which is gone with the process."""

    def __init__(self) -> None:
        from langgraph.store.memory import InMemoryStore
        from langmem import create_manage_memory_tool, create_search_memory_tool

        store = InMemoryStore(index={"dims": VECTOR_SIZE, "embed": embed_all})
        namespace = ("memories", "{learner}")
        self._keep = create_manage_memory_tool(namespace, store=store)
        self._find = create_search_memory_tool(namespace, store=store)

    async def find(self, learner: str, question: str) -> list[str]:
        told = await self._find.ainvoke({"query": question, "limit": FOUND}, _of(learner))
        return [str(item["value"]["content"]) for item in json.loads(told)]

    async def keep(self, learner: str, text: str) -> None:
        await self._keep.ainvoke({"content": text, "action": "create"}, _of(learner))


def _of(learner: str) -> dict[str, dict[str, str]]:
    return {"configurable": {"learner": learner}}


class _Mem0:
    """mem0 over its default vector store, Qdrant in a folder, and its history in a SQLite file."""

    def __init__(self, folder: Path) -> None:
        os.environ["MEM0_TELEMETRY"] = "false"  # it is read when mem0 is imported
        os.environ.setdefault("MEM0_DIR", str(folder / "mem0"))
        from mem0 import AsyncMemory

        qdrant = {
            "collection_name": "bench",
            "path": str(folder / "qdrant"),
            "embedding_model_dims": VECTOR_SIZE,
        }
        self._memory = AsyncMemory.from_config(
            {
                "llm": {"provider": "openai", "config": {"api_key": "never used"}},
                "embedder": {"provider": "openai", "config": {"api_key": "never used"}},
                "vector_store": {"provider": "qdrant", "config": {**qdrant, "on_disk": True}},
                "history_db_path": str(folder / "mem0-history.db"),
            }
        )
        self._memory.embedding_model = _embedder()

    async def find(self, learner: str, question: str) -> list[str]:
        found = await self._memory.search(question, filters={"user_id": learner}, top_k=FOUND)
        return [str(item["memory"]) for item in found["results"]]

    async def keep(self, learner: str, text: str) -> None:
        await self._memory.add(text, user_id=learner, infer=False)


def _embedder() -> object:
    from mem0.embeddings.base import EmbeddingBase

    class Hashed(EmbeddingBase):
        def embed(self, text: str, memory_action: str | None = None) -> list[float]:
            return embed(text)

    return Hashed()
