"""Which bullets a question gets, by words and by meaning, for programs that ask without a turn."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime

from anyio.to_thread import run_sync

from ace_graph.embeddings.meaning import Meaning
from ace_graph.memory.bullet import MemoryType
from ace_graph.memory.clock import utc_now
from ace_graph.memory.policy import Policy
from ace_graph.memory.retrieval.query import languages_of
from ace_graph.memory.retrieval.retrieve import Retrieval, retrieve
from ace_graph.memory.search.token_count import estimate_tokens
from ace_graph.memory.search.word_list import read_lists, unread_lists
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.off_loop import read_text

__all__ = ["BulletFinder", "read_word_lists", "search_query"]

MAX_QUERY_CHARS = 4_000
"""Of a longer question the beginning and the end are the search query."""


@dataclass(frozen=True)
class BulletFinder:
    """Finds what one learner's memory holds for a question; it reads, and changes nothing.

    At most `budget_tokens` by `count_tokens`, and `max_bullets` beside the core. `meaning` finds by vectors,
    too. Where `learner_id` is None nothing is found.
    """

    store: Store
    meaning: Meaning | None = None
    budget_tokens: int = 2_000
    max_bullets: int | None = None
    memory_types: Collection[MemoryType] | None = None
    count_tokens: Callable[[str], int] = field(default=estimate_tokens)
    clock: Callable[[], datetime] = field(default=utc_now)

    async def find(self, learner_id: str | None, question: str) -> Retrieval:
        """Return the core and what is relevant to the question. Raises what the store raises."""
        if learner_id is None:
            return Retrieval()
        return await self.find_in(learner_id, await self.store.load(learner_id), question)

    async def find_in(self, learner_id: str, memory: Snapshot, question: str) -> Retrieval:
        """Return what this snapshot of the learner's memory holds for the question."""
        query = search_query(question)
        await read_word_lists(query)
        near = None
        if self.meaning is not None:
            near = (await self.meaning.similarities(query, learner_id, memory.playbook)).by_id
        policy: Policy = self.store.policy

        def search() -> Retrieval:
            return retrieve(
                query,
                memory.playbook,
                memory.access,
                policy,
                now=self.clock(),
                budget_tokens=self.budget_tokens,
                max_bullets=self.max_bullets,
                memory_types=self.memory_types,
                count_tokens=self.count_tokens,
                semantic=near,
            )

        return await read_text(len(question), search)


def search_query(question: str) -> str:
    """Return what bullets are searched by: the question, of a long one the beginning and the end."""
    if len(question) <= MAX_QUERY_CHARS:
        return question
    half = MAX_QUERY_CHARS // 2
    return f"{question[:half]} {question[-half:]}"


async def read_word_lists(query: str) -> None:
    """Read the word lists of the query's languages that are not in memory yet, in a thread."""
    if unread := unread_lists(languages_of(query)):
        await run_sync(read_lists, unread)
