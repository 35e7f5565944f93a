"""Meaning without a service: the extra alone, through the graph; loopback_only refuses any network."""

from __future__ import annotations

import asyncio

import pytest

from ace_graph import ACEContext
from ace_graph.base import Settings
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask

ALICE = ACEContext(learner_id="alice", reflect_when="never", learning="off")
WORDS, MEANING = Settings(embeddings="off"), Settings(embeddings="auto")
FACTS = (
    "Her puppy is called Biscuit",
    "The car failed its inspection in May",
    "She paints watercolours of the harbour",
    "Her physician told her to eat less salt",
    "The rent rises by forty euros in autumn",
    "Her brother repairs bicycles in Leeds",
    "The heating was replaced before the winter",
    "She speaks Portuguese with her grandmother",
)
ASKED = (
    ("What name does the dog have?", 1),
    ("Does the automobile still pass?", 2),
    ("What did the doctor say about her diet?", 4),
    ("Who fixes bikes?", 6),
)


async def _injected(build: Build, settings: Settings, question: str) -> list[str]:
    graph = build(ScriptedModel(["<final>x</final>"]), settings=settings)
    out = await graph.ainvoke(ask(question), context=ALICE)
    assert "words_only" not in out["result"]
    return out["result"]["injected"]


async def _remember(store: CountingStore) -> None:
    await store.seed("alice", *(Add(content=text) for text in FACTS))


@pytest.mark.parametrize(("question", "number"), ASKED)
async def test_synonyms_are_found_without_a_service(
    build: Build, store: CountingStore, question: str, number: int
) -> None:
    await _remember(store)
    wanted = f"gen-{number:05d}"
    assert wanted not in await _injected(build, WORDS, question)
    assert (await _injected(build, MEANING, question))[0] == wanted


@pytest.mark.parametrize(
    "question", ["hello", "😀😀😀", "What is 12 * 34?", "How do volcanoes form?", "Wie entstehen Vulkane?"]
)
async def test_a_question_about_nothing_of_it_gets_nothing(
    build: Build, store: CountingStore, question: str
) -> None:
    await _remember(store)
    assert await _injected(build, MEANING, question) == []


async def test_many_turns_at_once_load_the_vectors_once(build: Build, store: CountingStore) -> None:
    await _remember(store)
    found = await asyncio.gather(*(_injected(build, MEANING, ASKED[0][0]) for _ in range(8)))
    assert {next(iter(ids)) for ids in found} == {"gen-00001"}
