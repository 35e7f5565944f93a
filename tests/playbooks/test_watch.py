"""Live updates in Python: every version of a playbook, once and in order, as long as it may be read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from ace_graph import playbooks
from ace_graph.base import PlaybookNotFound
from ace_graph.memory.stores.sql import SQLiteStore

Act = Callable[[SQLiteStore], Awaitable[object]]


class Script:
    """Stands in for waiting: does the next acts each time, and ends the watching after the last."""

    def __init__(self, store: SQLiteStore, *rounds: tuple[Act, ...]) -> None:
        self.store = store
        self.rounds = list(rounds)
        self.waits = list[float]()

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)
        if not self.rounds:
            raise EOFError
        for act in self.rounds.pop(0):
            await act(self.store)


def add(text: str, name: str = "maths") -> Act:
    return lambda store: playbooks.update_playbook(store, [text], name, owner="ada")


def revoke(store: SQLiteStore) -> Awaitable[object]:
    return playbooks.revoke(store, "maths", "user:bob", owner="ada")


async def delete(store: SQLiteStore) -> None:
    named = await playbooks.get_playbook(store, "maths", "ada")
    await playbooks.delete(store, named.entry.playbook_id)


async def seen(
    script: Script, name: str = "maths", owner: str = "ada", after: int | None = None
) -> list[int]:
    """The numbers of the versions until the script ends."""
    found = list[int]()
    try:
        async for version in playbooks.watch(script.store, name, owner=owner, after=after, sleep=script):
            found.append(version.n)
    except EOFError:
        return found
    raise AssertionError("the watching ended by itself")


@pytest.fixture
async def store() -> SQLiteStore:
    store = SQLiteStore()
    await playbooks.create(store, "maths", ["Draw a bar for a fraction"], owner="ada")
    return store


async def test_each_version_comes_once_and_in_order(store: SQLiteStore) -> None:
    script = Script(store, (), (add("Count in tens"), add("Name the unit")), (), (add("Check the sign"),))
    assert await seen(script) == [2, 3, 4]
    assert script.waits == [2.0] * 5


@pytest.mark.parametrize(("after", "numbers"), [(0, [1, 2]), (1, [2]), (2, []), (9, [1, 2])])
async def test_it_begins_after_the_version_that_is_named(
    store: SQLiteStore, after: int, numbers: list[int]
) -> None:
    await add("Count in tens")(store)
    assert await seen(Script(store), after=after) == numbers


async def test_the_own_memory_is_watched_before_it_is_there_and_after_it_was_forgotten(
    store: SQLiteStore,
) -> None:
    def forget(store: SQLiteStore) -> Awaitable[object]:
        return store.forget("ada")

    own = "default"
    script = Script(
        store,
        (add("Count in tens", own),),
        (add("Name the unit", own),),
        (forget,),
        (add("Check the sign", own),),
    )
    assert await seen(script, own) == [1, 2, 1]


@pytest.mark.parametrize("ends", [revoke, delete])
async def test_a_reader_is_told_until_the_playbook_can_not_be_read_any_more(
    store: SQLiteStore, ends: Act
) -> None:
    await playbooks.grant(store, "maths", "user:bob", "viewer", owner="ada")
    script = Script(store, (add("Count in tens"),), (ends,))
    versions = playbooks.watch(store, "ada/maths", owner="bob", sleep=script)
    assert (await anext(versions)).n == 2
    with pytest.raises(PlaybookNotFound):
        await anext(versions)


async def test_a_stranger_sees_nothing(store: SQLiteStore) -> None:
    with pytest.raises(PlaybookNotFound):
        await anext(playbooks.watch(store, "ada/maths", owner="eve", after=0))
