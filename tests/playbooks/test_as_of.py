"""A playbook as it was known at a moment, own and named."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from ace_graph import playbooks
from ace_graph.base.errors import HistoryTooShort
from ace_graph.memory import Policy
from ace_graph.memory.delta import Add, Delta, Operation, Remove, Update
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteStore

MONDAY = datetime(2026, 5, 4, 12, tzinfo=UTC)


def _before() -> playbooks.Change:
    return playbooks.Change(now=MONDAY - timedelta(days=1))


async def _change(place: playbooks.PlaybookHandle, day: int, *operations: Operation) -> None:
    delta = Delta(op_id=f"day-{day}", now=MONDAY + timedelta(days=day), operations=operations)
    await place.commit(delta, await place.load())


async def _changed(place: playbooks.PlaybookHandle) -> None:
    """On Monday two bullets came, on Tuesday one was reworded, on Wednesday the other went."""
    await _change(place, 0, Add(content="Ada lives in Berlin"), Add(content="Ada has a cat"))
    await _change(place, 1, Update(bullet_id="gen-00001", content="Ada lives in Rome"))
    await _change(place, 2, Remove(bullet_id="gen-00002"))


@pytest.mark.parametrize("name", ["default", "house"])
async def test_what_was_known_on_a_day_is_what_was_stored_then(store: Store, name: str) -> None:
    made = 0
    if name != "default":
        await playbooks.create(store, name, [], owner="ada", change=_before())
        made = 1
    place = await playbooks.open_playbook(store, name, "ada")
    await _changed(place)

    async def known(when: date | datetime) -> tuple[int, list[str]]:
        held = await place.load_as_of(when)
        return held.version.n - made, [bullet.content for bullet in held.playbook.bullets()]

    assert await known(date(2026, 5, 4)) == (1, ["Ada lives in Berlin", "Ada has a cat"])
    assert await known(MONDAY + timedelta(hours=23)) == (1, ["Ada lives in Berlin", "Ada has a cat"])
    assert await known(MONDAY + timedelta(hours=24)) == (2, ["Ada lives in Rome", "Ada has a cat"])
    assert await known(date(2099, 1, 1)) == (3, ["Ada lives in Rome"])
    assert (await known(MONDAY - timedelta(seconds=1)))[1] == []


async def test_what_is_no_longer_stored_is_said(store: Store) -> None:
    async with SQLiteStore(policy=Policy(history_kept=2)) as short:
        place = await playbooks.open_playbook(short, "default", "ada")
        await _changed(place)
        for day in range(3, 40):
            await _change(place, day, Add(content=f"Room {day} has number {day}"))
        with pytest.raises(HistoryTooShort):
            await place.load_as_of(date(2026, 5, 4))
        assert len((await place.load_as_of(date(2099, 1, 1))).playbook) > 0
