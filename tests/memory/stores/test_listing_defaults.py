"""What a list holds where nothing is said of its bounds: the first hundred, whatever the ids begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing.conformance import adding, record, touching, write

IDS = (" ", "!x", "0", "A", "Z", "a", "é")


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_list_begins_with_the_first_and_has_a_hundred_at_most(kind: str, tmp_path: Path) -> None:
    async with SQLiteStore() if kind == "memory" else SQLiteStore(tmp_path / "ace.db") as store:
        for name in IDS:
            await write(store, name, adding("Draw a bar"))
        assert tuple(each.learner_id for each in await store.learners()) == IDS
        assert [each.learner_id for each in await store.learners(after="A", limit=2)] == ["Z", "a"]
        await store.add_members("0 team", IDS)
        await store.add_members("team", [f"m{number:03d}" for number in range(101)])
        assert await store.teams() == ("0 team", "team")
        assert await store.members("0 team") == IDS
        assert len(await store.members("team")) == 100
        for number in range(101):
            await write(store, "A", touching(), record(number, turn_id=f"t{number}"))
        turns = await store.turns("A")
        assert [turn.turn_id for turn in turns] == [f"t{number}" for number in range(100, 0, -1)]
