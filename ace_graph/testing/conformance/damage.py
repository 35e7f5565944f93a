"""Specifies damaged content: an error, and nothing is changed. Needs a `DamageableSubject`."""

from __future__ import annotations

from ace_graph.base.errors import CorruptPayload, NewerFormat, StoreError
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import KeyedStore
from ace_graph.testing.conformance.case import DamageableSubject, StoreUnderTest
from ace_graph.testing.conformance.writing import adding, contents, new_learner, record, write

_BROKEN = (
    "",
    "null",
    "[]",
    "not json",
    '{"bullets": [{"id": "gen-00001"}]}',
    '{"format": 1, "unknown": 1}',
    '{"bullets": 7}',
)
_NEWER = '{"format": 99, "bullets": [], "something_new": {}}'


def _reachable(subject: StoreUnderTest) -> DamageableSubject:
    if isinstance(subject, DamageableSubject):
        return subject
    raise TypeError("the verb damage needs read_content and write_content: write them, or leave the verb out")


async def _error_of_load(store: KeyedStore, learner: str) -> type[BaseException] | None:
    try:
        await store.load(learner)
    except StoreError as error:
        return type(error)
    return None


async def _error_of_commit(store: KeyedStore, learner: str) -> type[BaseException] | None:
    try:
        await store.commit(learner, adding("Estimate first"), Snapshot(), record())
    except StoreError as error:
        return type(error)
    return None


async def broken_content_is_an_error(subject: StoreUnderTest) -> None:
    """Content that can't be read is CorruptPayload, never an empty playbook, and stays as it is (C97)."""
    reachable = _reachable(subject)
    async with subject.open() as store:
        for text in _BROKEN:
            learner = new_learner()
            await write(store, learner, adding("Draw a bar"))
            await reachable.write_content(learner, text)
            assert await _error_of_load(store, learner) is CorruptPayload
            assert await _error_of_commit(store, learner) is CorruptPayload
            assert await reachable.read_content(learner) == text


async def content_of_a_newer_version_is_an_error(subject: StoreUnderTest) -> None:
    """Content in a newer format is NewerFormat, and a turn of this version does not overwrite it."""
    reachable, learner = _reachable(subject), new_learner()
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"))
        await reachable.write_content(learner, _NEWER)
        assert await _error_of_load(store, learner) is NewerFormat
        assert await _error_of_commit(store, learner) is NewerFormat
        assert await reachable.read_content(learner) == _NEWER


async def content_without_a_playbook_is_empty(subject: StoreUnderTest) -> None:
    """A learner known before there was a playbook loads as empty, and can learn (C152)."""
    reachable, learner = _reachable(subject), new_learner()
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"))
        await reachable.write_content(learner, "{}")
        assert contents(await store.load(learner)) == []
        await write(store, learner, adding("Name the unit"))
        assert contents(await store.load(learner)) == ["Name the unit"]


async def others_go_on(subject: StoreUnderTest) -> None:
    """One learner's broken content is no other learner's problem, and can be forgotten."""
    reachable, broken, whole = _reachable(subject), new_learner(), new_learner()
    async with subject.open() as store:
        for learner in (broken, whole):
            await write(store, learner, adding("Draw a bar"))
        await reachable.write_content(broken, "not json")
        await write(store, whole, adding("Name the unit"))
        assert contents(await store.load(whole)) == ["Draw a bar", "Name the unit"]
        assert await store.forget(broken) is True
        assert (await store.load(broken)).absent
