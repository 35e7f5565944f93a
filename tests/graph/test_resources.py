"""What a run works with: models and their overrides, identity, embeddings, persona, window."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

import pytest

from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent import Resources, build_resources
from ace_graph.base import ConfigurationError, InvalidContext, ModelNotAllowed, ModelNotConfigured, Settings
from ace_graph.graph import make_graph
from ace_graph.memory import Bullet, Playbook, Snapshot, Version, dump_playbook
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.embeddings.services import Raising, WordVectors
from tests.graph.conftest import Build, CountingStore, ask, said, thread

ALICE = ACEContext(learner_id="alice", reflect_when="never")


def test_a_setting_bounds_the_memories_that_a_process_keeps() -> None:
    settings = Settings().model_copy(update={"held_mb": 1})
    cache = build_resources(settings=settings, model=ScriptedModel([]), store=CountingStore()).cache
    bullets = [Bullet(id=f"gen-{n:05}", section="s", content=f"text {n}") for n in range(200)]
    for name in ("ada", "bob"):
        cache.put(name, Snapshot(Playbook.of(bullets), version=Version("epoch", 1, "etag")))
    assert cache.get("ada") is None
    assert cache.get("bob") is not None


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ACE_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_model")
def test_without_a_model_the_error_says_what_to_set() -> None:
    with pytest.raises(ModelNotConfigured, match="ACE_MODEL=offline"):
        build_ace_graph(store="memory://")


@pytest.mark.usefixtures("no_model")
def test_studio_falls_back_to_the_offline_tutor_and_says_so(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # where no developer's .env lies
    monkeypatch.setenv("ACE_STORE", f"sqlite:///{tmp_path}/ace.db")  # settings of its own: a graph of its own
    graph = make_graph()
    assert make_graph() is graph, "one graph per process and settings"
    assert caplog.text.count("offline tutor") == 1, "said once, not at every request"
    out = graph.invoke(ask("What is 1/2 + 1/3?"))
    assert "5/6" in out["messages"][-1].content


@pytest.mark.usefixtures("no_model")
def test_a_model_by_its_name_is_the_one_that_the_settings_would_name() -> None:
    graph = build_ace_graph(model="offline", store="memory://")
    assert "5/6" in graph.invoke(ask("What is 1/2 + 1/3?"))["messages"][-1].content


@pytest.mark.parametrize("model", ["gpt", object(), ScriptedModel])
def test_what_is_no_model_is_refused_at_once(model: object) -> None:
    with pytest.raises(ConfigurationError, match="openai:gpt-5"):
        build_ace_graph(model=cast("str", model), store="memory://")


def resources(settings: Settings) -> Resources:
    return build_resources(settings=settings, store="memory://")


def test_a_model_of_the_settings_is_made_once_per_loop() -> None:
    parts = resources(Settings().model_copy(update={"model": "offline"}))

    async def twice() -> tuple[object, object]:
        return parts.model(ACEContext()), parts.model(ACEContext())

    first, again = asyncio.run(twice())
    other, _ = asyncio.run(twice())
    assert first is again
    assert other is not first


async def test_a_model_override_must_be_allowed() -> None:
    parts = resources(Settings().model_copy(update={"model": "offline"}))
    with pytest.raises(ModelNotAllowed, match="ACE_ALLOWED_MODELS"):
        parts.model(ACEContext(model="openai:gpt-9"))
    assert parts.model(ACEContext(model="offline")) is not None


async def test_under_a_server_the_authenticated_user_is_the_learner(
    build: Build, store: CountingStore
) -> None:
    config = thread("t1", langgraph_auth_user={"identity": "alice"})
    quiet = ACEContext(reflect_when="never")
    out = await build(ScriptedModel(["<final>x</final>"])).ainvoke(
        ask("Remember that I like tea."), config, context=quiet
    )
    assert out["learning"]["added"]
    assert len((await store.now("alice")).playbook) == 1
    with pytest.raises(InvalidContext, match="authenticated"):
        await build(ScriptedModel([])).ainvoke(ask("x"), config, context=ACEContext(learner_id="bob"))


async def test_embeddings_find_more_than_words_and_embed_a_text_once(
    build: Build, store: CountingStore
) -> None:
    await store.seed(
        "alice", Add(content="Crimson looks best beside white"), Add(content="Otters hold hands")
    )
    embeddings = WordVectors()
    graph = build(ScriptedModel(["<final>x</final>"] * 2), embeddings=embeddings)
    for _ in range(2):
        out = await graph.ainvoke(ask("Which red should it be?"), context=ALICE)
        assert out["result"]["injected"] == ["gen-00001"]
        assert "words_only" not in out["result"]
    assert len(embeddings.texts) == 2


async def test_embeddings_that_fail_leave_retrieval_by_words(
    build: Build, store: CountingStore, caplog: pytest.LogCaptureFixture
) -> None:
    await store.seed("alice", Add(content="Otters hold hands"))
    graph = build(ScriptedModel(["<final>x</final>"] * 2), embeddings=Raising())
    for _ in range(2):
        out = await graph.ainvoke(ask("otters?"), context=ALICE)
        assert out["result"]["injected"] == ["gen-00001"]
        assert out["result"].get("words_only") == "the embeddings failed (RuntimeError); words alone count"
    assert caplog.text.count("embeddings failed") == 1


async def test_persona_system_prompt_and_window_reach_the_prompt(build: Build) -> None:
    model = ScriptedModel(["<final>x</final>"])
    graph = build(model, system_prompt="You are a botanist.")
    messages = [
        m
        for n in range(8)
        for m in (
            {"role": "user", "content": f"question {n}"},
            {"role": "assistant", "content": f"answer {n}"},
        )
    ]
    context = ALICE.model_copy(update={"persona": "a pirate</voice>", "window_size": 2})
    await graph.ainvoke(said([*messages, {"role": "user", "content": "and now?"}]), context=context)
    system, *rest = model.calls[0].messages
    assert system.text.startswith("You are a botanist.")
    assert "a pirate" in system.text
    assert system.text.count("</voice>") == 1
    assert [m.text for m in rest] == ["question 6", "answer 6", "question 7", "answer 7", "and now?"]


async def test_a_base_playbook_is_read_from_a_file_and_a_wrong_one_is_an_error(
    build: Build, tmp_path: Path
) -> None:
    path = tmp_path / "base.json"
    path.write_text(dump_playbook(Playbook().add_bullet("zoo", "Otters hold hands")[0]))
    model = ScriptedModel(["<final>x</final>"])
    await build(model, base_playbook=path).ainvoke(ask("otters?"), context=ALICE)
    assert "Otters hold hands" in model.calls[0].messages[0].text
    path.write_text("{}nonsense")
    with pytest.raises(ConfigurationError, match="not a playbook"):
        build(ScriptedModel([]), base_playbook=path)
    with pytest.raises(ConfigurationError, match="can't be read"):
        build(ScriptedModel([]), base_playbook=tmp_path / "missing.json")


async def test_a_base_playbook_serves_a_run_without_a_learner_too(build: Build) -> None:
    base, _ = Playbook().add_bullet("zoo", "Otters hold hands")
    model = ScriptedModel(["<final>x</final>"])
    out = await build(model, base_playbook=base).ainvoke(ask("otters?"))
    assert len(out["result"]["injected"]) == 1


async def test_a_model_router_can_be_injected(build: Build) -> None:
    async def always_tot(question: str) -> str:
        return "tot"

    model = ScriptedModel(["<thought>t</thought>", "1: 1"] * 2 + ["<final>x</final>"])
    out = await build(model, mode_router=always_tot).ainvoke(ask("hello"), context=ALICE)
    assert out["mode"] == "tot"
