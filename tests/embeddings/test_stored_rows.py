"""Vectors of a service in the store: made once for all processes, never mixed, and never in a turn's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.messages import HumanMessage

from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent import ACEInput
from ace_graph.agent.embeddings import Meaning, Similarities, StaticVectors, StoredRows, model_of, stored_rows
from ace_graph.base import StoreUnavailable
from ace_graph.memory import Bullet, Playbook, Snapshot
from ace_graph.memory.delta import Remove
from ace_graph.memory.stores import KeyedStore, VectorChange
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel
from ace_graph.testing.conformance import adding, rewriting
from tests.embeddings.services import WordVectors

TEXTS = ("Crimson beside white", "Otters hold hands", "A loaf a day")


class Service(WordVectors):
    """A service that says which model it uses."""

    def __init__(self, model: str = "words-1", size: int = 4) -> None:
        super().__init__(size)
        self.model = model


class NotANumber(Service):
    """Its vectors of texts hold what is no number."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float("nan"), *vector[1:]] for vector in super().embed_documents(texts)]


class Process:
    """What a process has: a store on the file of all, a service, and nothing in memory."""

    def __init__(self, store: KeyedStore, service: Service) -> None:
        stored = stored_rows(service, store)
        assert stored is not None
        self.store, self.stored, self.service = store, stored, service
        self.meaning = Meaning(service, stored=stored)

    async def ask(self, query: str, snapshot: Snapshot | None = None) -> Similarities:
        """Ask as a turn does; what it stores is stored afterwards."""
        known = snapshot or await self.store.load("ada")
        found = await self.meaning.similarities(query, "ada", known.playbook, epoch=known.version.epoch)
        await self.stored.flush()
        return found

    async def rows(self) -> Mapping[str, bytes]:
        """Return what is stored of this process's model."""
        model = model_of(self.service)
        assert model is not None
        return await self.store.vectors("ada", model)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[SQLiteStore]:
    async with SQLiteStore(tmp_path / "ace.db") as opened:
        await opened.commit("ada", adding(*TEXTS), Snapshot())
        yield opened


def _best(found: Similarities) -> float:
    assert found.by_id is not None, found.problem
    return max(found.by_id.values())


async def test_another_process_asks_for_the_question_only(store: SQLiteStore, tmp_path: Path) -> None:
    first = Process(store, Service())
    found = await first.ask("Which red?")
    assert sorted(first.service.texts) == sorted(TEXTS)
    async with SQLiteStore(tmp_path / "ace.db") as other:
        second = Process(other, Service())
        assert await second.ask("Which red?") == found
        assert second.service.texts == []
        known = await other.load("ada")
        await other.commit("ada", adding("Flour and water"), known)
        assert _best(await second.ask("bread")) > 0.5
        assert second.service.texts == ["Flour and water"]
        assert len(await first.rows()) == 4


async def test_without_a_question_nothing_is_read_or_stored(store: SQLiteStore) -> None:
    process = Process(store, Service())
    assert await process.ask("12 + 3?") == (None, None)
    assert await process.rows() == {}
    assert process.service.calls == 0


async def test_the_row_of_a_removed_bullet_is_deleted(store: SQLiteStore) -> None:
    process, known = Process(store, Service()), await store.load("ada")
    await process.ask("Which red?")
    first, *rest = known.playbook.entries
    known = (await store.commit("ada", rewriting(Remove(bullet_id=first)), known)).snapshot
    await process.ask("Which red?")
    assert set(await process.rows()) == set(known.playbook.hashes)
    another = Process(store, Service())  # a process that did not see the removal
    known = (await store.commit("ada", rewriting(Remove(bullet_id=rest[0])), known)).snapshot
    await another.ask("Which red?")
    assert set(await process.rows()) == set(known.playbook.hashes)
    assert another.service.texts == []
    await store.commit("ada", rewriting(Remove(bullet_id=rest[1])), known)
    await another.ask("Which red?")
    assert await process.rows() == {}


async def test_another_model_makes_all_vectors_again(store: SQLiteStore) -> None:
    old, new = Process(store, Service()), Process(store, Service("words-2"))
    await old.ask("Which red?")
    assert _best(await new.ask("Which red?")) > 0.5
    assert sorted(new.service.texts) == sorted(TEXTS)
    assert (len(await old.rows()), len(await new.rows())) == (0, 3)


async def test_vectors_of_another_size_are_never_mixed(store: SQLiteStore) -> None:
    await Process(store, Service(size=4)).ask("Which red?")
    process = Process(store, Service(size=5))
    assert _best(await process.ask("Which red?")) > 0.5
    assert sorted(process.service.texts) == sorted(TEXTS)
    assert {len(row) for row in (await process.rows()).values()} == {5}


async def test_vectors_that_are_no_numbers_are_not_stored(store: SQLiteStore) -> None:
    process = Process(store, NotANumber())
    assert (
        await process.ask("Which red?")
    ).problem == "the embeddings failed (ValueError); words alone count"
    assert await process.rows() == {}


async def test_late_vectors_of_a_forgotten_learner_are_dropped(store: SQLiteStore) -> None:
    process, known = Process(store, Service()), await store.load("ada")
    await store.forget("ada")
    assert _best(await process.ask("Which red?", known)) > 0.5
    await store.commit("ada", adding("Crimson"), Snapshot())
    assert await process.rows() == {}


class Failing(SQLiteStore):
    """A store whose part for vectors is down, with something in its message that nobody else may read."""

    down = True

    async def vectors(self, learner_id: str, model: str) -> Mapping[str, bytes]:
        if self.down:
            raise StoreUnavailable("no disk below sk-very-secret")
        return await super().vectors(learner_id, model)

    async def put_vectors(self, learner_id: str, epoch: str | None, change: VectorChange) -> bool:
        if self.down:
            raise OSError("no disk below sk-very-secret")
        return await super().put_vectors(learner_id, epoch, change)


async def test_a_store_that_fails_costs_one_line(caplog: pytest.LogCaptureFixture) -> None:
    store = Failing()
    known = (await store.commit("ada", adding(*TEXTS), Snapshot())).snapshot
    process = Process(store, Service())
    assert _best(await process.ask("Which red?")) > 0.5
    changed = (await store.commit("ada", adding("Flour and water"), known)).snapshot
    assert _best(await process.ask("bread")) > 0.5
    assert caplog.messages == [
        "[ACE Memory] stored vectors could not be read (StoreUnavailable); nothing is lost"
    ]
    store.down = False
    await store.commit("ada", adding("Otters swim"), changed)
    await process.ask("bread")
    assert len(await process.rows()) == 5
    assert len(process.service.texts) == 5


class Hanging(SQLiteStore):
    """A store that never answers where vectors are read."""

    async def vectors(self, learner_id: str, model: str) -> Mapping[str, bytes]:
        await asyncio.Event().wait()
        return {}


async def test_a_store_that_hangs_costs_a_turn_its_patience() -> None:
    store = Hanging()
    known = (await store.commit("ada", adding(*TEXTS), Snapshot())).snapshot
    meaning = Meaning(Service(), patience=0.01, stored=StoredRows(store, "m"))
    for _ in range(2):
        found = await meaning.similarities("Which red?", "ada", known.playbook, epoch=known.version.epoch)
        assert found == (None, "0 of 3 vectors of texts are there; words alone count until all are")


class Limited(Service):
    """It answers so many requests for vectors of texts, then it raises."""

    def __init__(self, requests: int) -> None:
        super().__init__()
        self.requests = requests

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if not self.requests:
            raise RuntimeError("429")
        self.requests -= 1
        return super().embed_documents(texts)


async def test_what_was_made_before_a_failure_is_stored(store: SQLiteStore) -> None:
    known = await store.load("ada")
    many = Playbook.of(Bullet(id=f"b-{n}", section="s", content=f"Otter {n}") for n in range(300))
    known = replace(known, playbook=many)
    failing, next_one = Process(store, Limited(1)), Process(store, Limited(9))
    assert (await failing.ask("animal", known)).by_id is None
    made = len(failing.service.texts)
    assert 0 < made < 300
    assert (await next_one.ask("animal", known)).by_id is not None
    assert len(next_one.service.texts) == 300 - made


async def test_two_processes_at_once_store_all(store: SQLiteStore, tmp_path: Path) -> None:
    async with SQLiteStore(tmp_path / "ace.db") as other:
        one, two = Process(store, Service()), Process(other, Service())
        known = await store.load("ada")
        await asyncio.gather(one.ask("Which red?"), two.ask("Which red?"))
        await other.commit("ada", adding("Flour and water"), known)
        await two.ask("bread")
        await one.ask("bread", known)  # it has not seen the new bullet, and deletes no row of it
        assert len(await one.rows()) == 4


async def test_graphs_on_one_file_share_vectors(tmp_path: Path) -> None:
    services = (Service(), Service())
    async with SQLiteStore(tmp_path / "ace.db") as seen:
        await seen.commit("ada", adding(TEXTS[0]), Snapshot())
        for service in services:
            async with SQLiteStore(tmp_path / "ace.db") as store:
                model = ScriptedModel(["<final>Crimson.</final>"])
                graph = build_ace_graph(model=model, store=store, embeddings=service)
                context = ACEContext(learner_id="ada", reflect_when="never")
                question: ACEInput = {"messages": [HumanMessage("Which red is it?")]}
                out = await graph.ainvoke(question, context=context)
                assert "words_only" not in out["result"]
    assert [service.texts for service in services] == [[TEXTS[0]], []]


@pytest.mark.parametrize(
    ("embeddings", "expected"),
    [
        (Service("words-1"), "Service words-1"),
        (Service(""), None),
        (Service("x" * 300), None),
        (WordVectors(), None),
        (DeterministicFakeEmbedding(size=4), None),
        (StaticVectors(Path("nowhere"), "1"), None),
    ],
)
def test_only_what_names_its_model_is_stored(embeddings: Embeddings, expected: str | None) -> None:
    assert model_of(embeddings) == expected
    assert isinstance(stored_rows(embeddings, SQLiteStore()), StoredRows) is (expected is not None)
