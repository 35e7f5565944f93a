"""What servers make of a running graph's values: they show them, store them and copy them."""

from __future__ import annotations

import copy
import pickle

import orjson

from ace_graph.agent import Memory
from ace_graph.memory.delta import Add
from tests.graph.conftest import CountingStore


async def memory_of(store: CountingStore) -> Memory:
    return Memory(await store.seed("alice", Add(content="An otter fact")))


async def test_shown_as_json_a_memory_is_a_few_words(store: CountingStore) -> None:
    def encoder_of_servers(value: object) -> object:
        return value._asdict()  # type: ignore[attr-defined]  # pyright: ignore

    shown = orjson.loads(orjson.dumps(await memory_of(store), default=encoder_of_servers))
    assert shown == {"bullets": 1, "version": 1, "problem": None}
    assert "otter" not in repr(await memory_of(store))


async def test_stored_it_is_nothing_so_nodes_load_it_again(store: CountingStore) -> None:
    assert pickle.loads(pickle.dumps({"memory": await memory_of(store)}, protocol=2)) == {"memory": None}


async def test_copied_it_is_itself(store: CountingStore) -> None:
    memory = await memory_of(store)
    assert copy.copy(memory) is memory
    assert copy.deepcopy({"memory": memory})["memory"] is memory
