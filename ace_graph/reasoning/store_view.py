"""A learner's bullets as a LangGraph store that can be read, for programs that search a store.

view = PlaybookStoreView(open_store(), "ada")
items = await view.asearch(("playbook",), query="How do I add fractions?")
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from langchain_core.embeddings import Embeddings
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

from ace_graph.embeddings.meaning import Meaning
from ace_graph.errors import UsageError
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store, checked_learner_id
from ace_graph.memory.views.kinds import kind_of
from ace_graph.portal import portal
from ace_graph.reasoning.find_bullets import BulletFinder

__all__ = ["PlaybookStoreView"]

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
                return None if bullet is None or bullet.status != "active" else _item(bullet)
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
        items = [_search_item(bullet, score) for bullet, score in rows]
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


def _item(bullet: Bullet) -> Item:
    return Item(
        value=_value(bullet),
        key=bullet.id,
        namespace=NAMESPACE,
        created_at=bullet.created_at,
        updated_at=bullet.updated_at,
    )


def _search_item(bullet: Bullet, score: float | None) -> SearchItem:
    return SearchItem(NAMESPACE, bullet.id, _value(bullet), bullet.created_at, bullet.updated_at, score)
