"""Specifies `vectors` and `put_vectors`: rows of one model by content hash, while the learner is there."""

from __future__ import annotations

import asyncio

from ace_graph.memory.stores.base import VectorChange
from ace_graph.memory.stores.store import KeyedStore
from ace_graph.testing.conformance.case import StoreUnderTest, opened
from ace_graph.testing.conformance.writing import adding, new_learner, write

_ROWS = {"hash-1": bytes(range(256)), "hash-2": b"\x00\x7f\x81"}


async def _epoch(store: KeyedStore, learner: str) -> str:
    epoch = (await write(store, learner, adding("Draw a bar"))).snapshot.version.epoch
    assert epoch is not None
    return epoch


async def rows_come_back_to_every_process(subject: StoreUnderTest) -> None:
    """Rows are read as they were stored, also by another process; rows are added, replaced and deleted."""
    learner = new_learner()
    async with opened(subject) as one, opened(subject) as two:
        epoch = await _epoch(one, learner)
        assert await one.vectors(learner, "m") == {}
        assert await one.put_vectors(learner, epoch, VectorChange("m", _ROWS)) is True
        assert await two.vectors(learner, "m") == _ROWS
        change = VectorChange("m", {"hash-2": b"new", "hash-3": b"third"}, ("hash-1", "never there"))
        assert await two.put_vectors(learner, epoch, change) is True
        assert await one.vectors(learner, "m") == {"hash-2": b"new", "hash-3": b"third"}


async def another_model_takes_the_place(subject: StoreUnderTest) -> None:
    """Rows of one model are never those of another, and go when another model's are stored."""
    learner, other = new_learner(), new_learner()
    async with opened(subject) as store:
        epoch, others = await _epoch(store, learner), await _epoch(store, other)
        await store.put_vectors(learner, epoch, VectorChange("m", _ROWS))
        await store.put_vectors(other, others, VectorChange("m", _ROWS))
        assert await store.vectors(learner, "n") == {}
        for model in ("n", "a"):
            await store.put_vectors(learner, epoch, VectorChange(model, {"hash-1": b"1"}))
            assert await store.vectors(learner, model) == {"hash-1": b"1"}
        assert await store.vectors(learner, "m") == await store.vectors(learner, "n") == {}
        assert await store.vectors(other, "m") == _ROWS


async def two_processes_at_once_lose_nothing(subject: StoreUnderTest) -> None:
    """Rows that two processes store at once are all there."""
    learner = new_learner()
    async with opened(subject) as one, opened(subject) as two:
        epoch = await _epoch(one, learner)
        changes = [VectorChange("m", {"both": b"b", f"hash-{n}": b"1"}) for n in range(6)]
        stores = (one, two) * 3
        puts = (
            store.put_vectors(learner, epoch, change) for store, change in zip(stores, changes, strict=True)
        )
        assert all(await asyncio.gather(*puts))
        assert set(await one.vectors(learner, "m")) == {"both", *(f"hash-{n}" for n in range(6))}


async def forgetting_deletes_them(subject: StoreUnderTest) -> None:
    """Forgetting a learner deletes the rows, and no late write brings any back, in a next life neither."""
    learner = new_learner()
    async with opened(subject) as store:
        epoch = await _epoch(store, learner)
        await store.put_vectors(learner, epoch, VectorChange("m", _ROWS))
        await store.forget(learner)
        assert await store.vectors(learner, "m") == {}
        assert await store.put_vectors(learner, epoch, VectorChange("m", _ROWS)) is False
        assert await store.put_vectors(learner, None, VectorChange("m", _ROWS)) is False
        await _epoch(store, learner)
        assert await store.put_vectors(learner, epoch, VectorChange("m", _ROWS)) is False
        assert await store.vectors(learner, "m") == {}


async def playbooks_and_copies_have_none_of_them(subject: StoreUnderTest) -> None:
    """A playbook whose id is a learner's has other rows; what is copied elsewhere holds no rows."""
    learner = new_learner()
    async with opened(subject) as store:
        epoch = await _epoch(store, learner)
        before = await store.whole(learner)
        await store.put_vectors(learner, epoch, VectorChange("m", _ROWS))
        assert await store.whole(learner) == before
        assert await store.playbooks.vectors(learner, "m") == {}


async def a_commit_leaves_them(subject: StoreUnderTest) -> None:
    """Commits neither change nor delete rows."""
    learner = new_learner()
    async with opened(subject) as store:
        epoch = await _epoch(store, learner)
        await store.put_vectors(learner, epoch, VectorChange("m", _ROWS))
        await write(store, learner, adding("Name the unit"))
        assert await store.vectors(learner, "m") == _ROWS
