"""A learner's bullets as LangChain documents, for any chain that takes a retriever.

retriever = PlaybookRetriever(store=open_store(), learner_id="ada", k=4)
documents = await retriever.ainvoke("How do I add fractions?")
"""

from __future__ import annotations

from dataclasses import replace

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation

from ace_graph.embeddings.meaning import Meaning
from ace_graph.errors import UsageError
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.stores.base import Store, checked_learner_id
from ace_graph.memory.views.kinds import kind_of
from ace_graph.portal import portal
from ace_graph.reasoning.find_bullets import BulletFinder

__all__ = ["PlaybookRetriever"]


class PlaybookRetriever(BaseRetriever):
    """Returns at most `k` bullets: those relevant to the question, best first, then the learner's profile.

    Quarantined bullets are never among them. `embeddings` find by meaning, too. A document has the bullet's
    id, its text, and the fields of a bullet that concern a reader as metadata. It reads, and changes nothing.
    Raises InvalidContext, UsageError for a `k` below 1, and what the store raises.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    store: SkipValidation[Store] = Field(exclude=True, repr=False)
    learner_id: str
    k: int = 4
    budget_tokens: int = 20_000
    embeddings: SkipValidation[Embeddings | None] = Field(default=None, exclude=True, repr=False)
    _finder: BulletFinder = PrivateAttr()

    def model_post_init(self, context: object, /) -> None:
        """Check the learner's id."""
        super().model_post_init(context)
        checked_learner_id(self.learner_id)
        meaning = None if self.embeddings is None else Meaning(self.embeddings)
        self._finder = BulletFinder(self.store, meaning, budget_tokens=self.budget_tokens)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return portal().run_sync(self._find(query, k))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await self._find(query, k)

    async def _find(self, query: str, k: int | None) -> list[Document]:
        most = self.k if k is None else k
        if most < 1:
            raise UsageError(f"k is {most}: ask for at least one document")
        found = await replace(self._finder, max_bullets=most).find(self.learner_id, query)
        return [_document(each.bullet) for each in (*found.retrieved, *found.core)][:most]


def _document(bullet: Bullet) -> Document:
    metadata = {
        "section": bullet.section,
        "kind": kind_of(bullet),
        "avoid": bullet.polarity == "anti_pattern",
        "topic": bullet.topic,
        "helpful": bullet.helpful,
        "harmful": bullet.harmful,
        "updated_at": bullet.updated_at.isoformat(),
    }
    return Document(id=bullet.id, page_content=bullet.advice, metadata=metadata)
