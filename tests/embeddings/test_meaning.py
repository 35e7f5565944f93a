"""Similarities in bounded time: what is asked of a service, and what a turn gets when it fails."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings

from ace_graph.agent.embeddings import Meaning, StaticVectors
from ace_graph.memory import Bullet, Playbook
from tests.embeddings.services import Hanging, Raising, WordVectors
from tests.plugins.loop_clock import LoopClock
from tests.plugins.sizes import PATIENT

TEXTS = ("Crimson beside white", "Otters hold hands", "A loaf a day", "Nothing of these")


def _playbook(*texts: str) -> Playbook:
    return Playbook.of(
        Bullet(id=f"b-{n}", section="s", content=text) for n, text in enumerate(texts or TEXTS)
    )


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


async def _best(meaning: Meaning, query: str, playbook: Playbook, base: Playbook | None = None) -> str | None:
    found = (await meaning.similarities(query, "alice", playbook, base)).by_id
    return max(found, key=found.__getitem__) if found else None


async def test_a_text_is_embedded_once_whatever_else_changes() -> None:
    service = WordVectors()
    meaning, playbook = Meaning(service), _playbook()
    assert await _best(meaning, "Which red?", playbook) == "b-0"
    changed, _ = playbook.tag_bullet("b-1", "helpful").add_bullet("s", "Flour and water")
    assert await _best(meaning, "bread", changed) is not None
    assert await _best(meaning, "animal", changed.remove_bullet("b-2")) == "b-1"
    assert service.texts == [*TEXTS, "Flour and water"]


async def test_a_read_only_playbook_is_searched_too() -> None:
    meaning = Meaning(WordVectors())
    base = Playbook.of([Bullet(id="base-1", section="s", content="Flour and salt make bread")])
    assert await _best(meaning, "a loaf", _playbook(*TEXTS[:2]), base) == "base-1"
    assert await _best(meaning, "a loaf", Playbook(), base) == "base-1"


@pytest.mark.parametrize("query", ["", "😀😀", "12 + 3", "?!"])
async def test_a_question_without_letters_asks_nothing(query: str) -> None:
    service = WordVectors()
    assert await Meaning(service).similarities(query, "alice", _playbook()) == (None, None)
    assert service.calls == 0


async def test_a_service_that_raises_is_told_once_and_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    service, clock = Raising(), Clock()
    meaning, playbook = Meaning(service, monotonic=clock), _playbook()
    told = (None, "the embeddings failed (RuntimeError); words alone count")
    for _ in range(3):
        assert await meaning.similarities("Which red?", "alice", playbook) == told
    assert service.calls == 2
    clock.now += 61
    assert await meaning.similarities("Which red?", "alice", playbook) == told
    assert service.calls == 3
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "secret" not in caplog.text


async def test_a_service_that_hangs_costs_its_time_once(loop_clock: LoopClock) -> None:
    service = Hanging(documents=False, hangs=lambda: loop_clock.advance(PATIENT))
    meaning, playbook = Meaning(service, patience=PATIENT), _playbook()
    for _ in range(3):
        found = await meaning.similarities("Which red?", "alice", playbook)
        assert found == (None, "the embeddings did not answer in time; words alone count")
    assert service.calls == 2


async def test_vectors_that_come_late_are_not_waited_for_twice() -> None:
    service = Hanging()
    meaning, playbook = Meaning(service, patience=0.01), _playbook()
    for _ in range(3):
        found = await meaning.similarities("Which red?", "alice", playbook)
        assert found.problem == "0 of 4 vectors of texts are there; words alone count until all are"
    assert service.calls == 1


class _SlowTables(StaticVectors):
    """Static vectors whose files take as long to read as a test likes."""

    def __init__(self) -> None:
        super().__init__(Path("nowhere"), "1")
        self.read, self.asked, self.words = threading.Event(), threading.Event(), WordVectors()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked.set()
        self.read.wait(PATIENT)
        return self.words.embed_documents(texts)


async def test_static_vectors_are_waited_for_by_every_turn() -> None:
    tables, playbook = _SlowTables(), _playbook()
    meaning = Meaning(tables, patience=0.0)
    turns = [asyncio.create_task(_best(meaning, "Which red?", playbook)) for _ in range(2)]
    assert await asyncio.to_thread(tables.asked.wait, PATIENT)
    tables.read.set()
    assert await asyncio.gather(*turns) == ["b-0", "b-0"]


class _Shrinking(WordVectors):
    """After its first call it is another model, with shorter vectors."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        made = super().embed_documents(texts)
        self.size = 5
        return made


async def test_vectors_of_another_size_are_made_again(caplog: pytest.LogCaptureFixture) -> None:
    service, clock = _Shrinking(), Clock()
    meaning, playbook = Meaning(service, monotonic=clock), _playbook()
    found = await meaning.similarities("Which red?", "alice", playbook)
    assert found.by_id is None
    assert found.problem is not None
    assert "a vector of 5 numbers where there were 4" in found.problem
    clock.now += 61
    assert await _best(meaning, "Which red?", playbook) == "b-0"
    assert service.texts == [*TEXTS, *TEXTS]


class _Odd(WordVectors):
    """It returns what is no vector for each text."""

    def __init__(self, returned: list[list[float]]) -> None:
        super().__init__()
        self._returned = returned

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._returned


_ODD: list[list[list[float]]] = [
    [],
    [[1.0]],
    [[]] * 4,
    [[1.0], [1.0], [1.0], [1.0, 2.0]],
    [[float("nan")] * 4] * 4,
]


@pytest.mark.parametrize("returned", _ODD)
async def test_odd_replies_leave_words_alone(returned: list[list[float]]) -> None:
    service: Embeddings = _Odd(returned)
    found = await Meaning(service).similarities("Which red?", "alice", _playbook())
    assert found.by_id is None
    assert found.problem is not None
