"""A learner's bullets as LangChain documents, for any chain that takes a retriever.

retriever = PlaybookRetriever(store=open_store(), learner_id="ada", k=4)
documents = await retriever.ainvoke("How do I add fractions?")
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from anyio.to_thread import run_sync
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation

from ace_graph.agent.embeddings.meaning import Meaning, Similarities
from ace_graph.base.clock import utc_now
from ace_graph.base.errors import UsageError
from ace_graph.base.off_loop import LONG_TEXT, run_off_loop
from ace_graph.base.portal import portal
from ace_graph.memory.bullet import Bullet, MemoryType
from ace_graph.memory.classify import infer_topic
from ace_graph.memory.policy import Policy
from ace_graph.memory.retrieval.explain import NoSharedWord, Reason, as_json, explain, in_words, is_shown
from ace_graph.memory.retrieval.query import languages_of
from ace_graph.memory.retrieval.retrieve import Retrieval, retrieve
from ace_graph.memory.search.tokenize import estimate_tokens
from ace_graph.memory.search.word_list import read_lists, unread_lists
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import checked_learner_id
from ace_graph.memory.stores.store import Store
from ace_graph.memory.views import kind_of
from ace_graph.playbooks.handle import PlaybookHandle

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

        return await run_off_loop(len(question), search)


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
            raise UsageError(f"k is {most}: use 1 or more")
        found = await replace(self._finder, max_bullets=most).find(self.learner_id, query)
        documents = list[Document]()
        for each in (*found.retrieved, *found.core)[:most]:
            metadata = {**_value(each.bullet), "updated_at": each.bullet.updated_at.isoformat()}
            del metadata["content"]
            documents.append(Document(id=each.bullet.id, page_content=each.bullet.advice, metadata=metadata))
        return documents


NAMESPACE = ("playbook",)
_READS_ONLY = (
    "this store shows a playbook and can't be written: let the graph learn, or use ace_graph.remember, "
    "which screens, merges and counts"
)


class PlaybookStoreView(BaseStore):
    """One learner's active bullets under the namespace `("playbook",)`; the key is a bullet's id.

    A search with a query returns what a turn would be shown for it, best first; one without returns the
    bullets in their order. `filter` compares fields of the value. Writing raises UsageError: a store has no
    votes, no screen and no history, and a playbook lives by them.
    """

    supports_ttl = False

    def __init__(self, store: Store, learner_id: str, embeddings: Embeddings | None = None) -> None:
        """Raises InvalidContext for an id that can't be one."""
        self._store, self._learner = store, checked_learner_id(learner_id)
        meaning = None if embeddings is None else Meaning(embeddings)
        self._finder = BulletFinder(store, meaning, budget_tokens=100_000)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer the operations. Raises UsageError for one that writes, before any is answered."""
        return portal().run_sync(self.abatch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer the operations from one snapshot; see `batch`."""
        asked = list(ops)
        if any(isinstance(op, PutOp) for op in asked):
            raise UsageError(_READS_ONLY)
        held = await self._store.load(self._learner)
        return [await self._answer(op, held) for op in asked]

    async def _answer(self, op: Op, held: Snapshot) -> Result:
        match op:
            case GetOp():
                bullet = held.playbook.get_bullet(op.key) if op.namespace == NAMESPACE else None
                if bullet is None or bullet.status != "active":
                    return None
                times = {"created_at": bullet.created_at, "updated_at": bullet.updated_at}
                return Item(value=_value(bullet), key=bullet.id, namespace=NAMESPACE, **times)
            case SearchOp():
                return await self._search(op, held)
            case ListNamespacesOp():
                spaces: list[tuple[str, ...]] = [NAMESPACE]
                return spaces if not op.match_conditions and not op.offset and op.limit else []
            case PutOp():
                raise UsageError(_READS_ONLY)

    async def _search(self, op: SearchOp, held: Snapshot) -> list[SearchItem]:
        if op.namespace_prefix != NAMESPACE[: len(op.namespace_prefix)]:
            return []
        if op.query:
            finder = replace(self._finder, max_bullets=op.offset + op.limit)
            found = await finder.find_in(self._learner, held, op.query)
            rows: list[tuple[Bullet, float | None]] = [
                (each.bullet, each.score) for each in (*found.retrieved, *found.core)
            ]
        else:
            rows = [(bullet, None) for bullet in held.playbook.bullets() if bullet.status == "active"]
        items = [
            SearchItem(NAMESPACE, bullet.id, _value(bullet), bullet.created_at, bullet.updated_at, score)
            for bullet, score in rows
        ]
        wanted = (op.filter or {}).items()
        kept = [each for each in items if all(each.value.get(name) == value for name, value in wanted)]
        return kept[op.offset : op.offset + op.limit]


def _value(bullet: Bullet) -> dict[str, object]:
    return {
        "content": bullet.content,
        "section": bullet.section,
        "kind": kind_of(bullet),
        "avoid": bullet.polarity == "anti_pattern",
        "topic": bullet.topic,
        "helpful": bullet.helpful,
        "harmful": bullet.harmful,
    }


_MANY = 100
"""With more bullets the reasons are found in a thread, as what is in a long text."""


class ExplainedBullet(NamedTuple):
    """A bullet, whether a prompt would hold it, and why: as plain JSON, and in words."""

    id: str
    content: str
    shown: bool
    why: dict[str, object]
    reason: str


class ExplainedSearch(NamedTuple):
    """The playbook as it was searched, and the reason for each bullet by its id; those shown come first.

    `words_only` says why meaning had no part, where it could have had one.
    """

    snapshot: Snapshot
    reasons: Mapping[str, Reason]
    words_only: str | None = None

    @property
    def version(self) -> int | None:
        """The version that was searched; None where nothing is stored."""
        return None if self.snapshot.absent else self.snapshot.version.n

    def bullets(self, *, without_words: bool = True) -> list[ExplainedBullet]:
        """Return the bullets, by default also those that share no word with the question."""
        entries = self.snapshot.playbook.entries
        return [
            ExplainedBullet(key, entries[key].content, is_shown(why), as_json(why), in_words(why))
            for key, why in self.reasons.items()
            if without_words or not isinstance(why, NoSharedWord)
        ]


async def explain_search(
    target: PlaybookHandle,
    reader: str,
    question: str,
    *,
    now: datetime,
    meaning: Meaning | None = None,
    bullet_id: str | None = None,
    memory_types: Collection[MemoryType] | None = None,
) -> ExplainedSearch:
    """Search the playbook at a target as a turn of `reader` would, and return why it finds what it finds.

    With `bullet_id` only that bullet is in the result, and nothing is if there is no such bullet. Raises what
    the store raises.
    """
    snapshot, query = await target.load(), search_query(question)
    await read_word_lists(query)
    near = Similarities()
    if meaning is not None:
        near = await meaning.similarities(query, reader, snapshot.playbook)
    search = partial(
        explain,
        query,
        snapshot.playbook,
        snapshot.access,
        target.store.policy,
        now=now,
        bullet_id=bullet_id,
        topic=infer_topic(question),
        memory_types=memory_types or None,
        semantic=near.by_id,
    )
    size = LONG_TEXT + 1 if len(snapshot.playbook) > _MANY else len(question)
    return ExplainedSearch(snapshot, await run_off_loop(size, search), near.problem)
