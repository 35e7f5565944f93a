"""From settings to a model: what is made, what is refused, and what is said then."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_google_genai import ChatGoogleGenerativeAI

from ace_graph.agent.models import call_model, choose_model, close_model, make_model
from ace_graph.base import ConfigurationError, ModelNotAllowed, ModelNotConfigured, Settings, variable_names
from ace_graph.testing import GeminiServer, ScriptedModel
from tests.plugins.sizes import PATIENT


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in variable_names():
        monkeypatch.delenv(name, raising=False)


def settings(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return Settings.load()


def test_nothing_configured_is_an_error_that_says_what_to_set() -> None:
    with pytest.raises(ModelNotConfigured) as caught:
        make_model(Settings.load())
    assert "GEMINI_API_KEY" in str(caught.value)
    assert "ACE_MODEL=offline" in str(caught.value)


def test_offline_is_the_tutor_even_with_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model(settings(monkeypatch, ACE_MODEL="offline", GEMINI_API_KEY="k"))
    assert type(model).__name__ == "OfflineTutor"


async def test_a_key_makes_gemini_with_the_settings_and_without_its_own_retries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with GeminiServer() as server:
        given = settings(
            monkeypatch,
            GEMINI_API_KEY="the-key",
            GEMINI_MODEL="my-model",
            GOOGLE_GEMINI_BASE_URL=server.url,
            ACE_LLM_TEMPERATURE="0.5",
            ACE_LLM_TIMEOUT="7",
        )
        model = make_model(given)
        assert isinstance(model, ChatGoogleGenerativeAI)
        assert (model.max_retries, model.timeout, model.temperature) == (1, 7, 0.5)
        server.answer("four")
        await call_model(model, [HumanMessage("2+2?")], timeout=PATIENT)
        [request] = server.requests
        assert (request.model, request.api_key) == ("my-model", "the-key")
        assert '"temperature": 0.5' in request.text
        await close_model(model)


async def test_a_run_may_override_model_and_temperature_where_it_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = settings(monkeypatch, GEMINI_API_KEY="k", ACE_ALLOWED_MODELS="gemini-2.5-pro, offline")
    model = make_model(given, model="google_genai:gemini-2.5-pro", temperature=1.5)
    assert isinstance(model, ChatGoogleGenerativeAI)
    assert (model.model, model.temperature) == ("gemini-2.5-pro", 1.5)
    assert type(make_model(given, model="offline")).__name__ == "OfflineTutor"
    configured = make_model(given, model="gemini-2.5-flash")
    assert isinstance(configured, ChatGoogleGenerativeAI)
    for made in (model, configured):
        await close_model(made)


def test_an_override_that_is_not_listed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    given = settings(monkeypatch, GEMINI_API_KEY="k")
    for wanted in ("gemini-2.5-pro", "offline", "openai:gpt-5"):
        with pytest.raises(ModelNotAllowed, match="ACE_ALLOWED_MODELS"):
            make_model(given, model=wanted)


async def test_closing_a_model_without_a_client_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model(settings(monkeypatch, ACE_MODEL="offline"))
    await close_model(model)
    assert (await call_model(model, [HumanMessage("2+2")], timeout=PATIENT)).text.endswith("The answer is 4.")


@pytest.mark.parametrize("temperature", [-0.1, 2.5, float("nan")])
def test_a_temperature_out_of_range_is_refused(temperature: float, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="temperature"):
        make_model(settings(monkeypatch, ACE_MODEL="offline"), temperature=temperature)


@pytest.mark.parametrize("name", ["gpt-5", "openai:", ":gpt-5"])
def test_a_name_that_says_too_little_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="ACE_MODEL"):
        make_model(settings(monkeypatch, ACE_MODEL=name))


def test_gemini_by_name_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelNotConfigured, match="GEMINI_API_KEY"):
        make_model(settings(monkeypatch, ACE_MODEL="gemini-2.5-pro"))


def test_the_choice_can_be_named_without_making_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(choose_model(settings(monkeypatch, GEMINI_API_KEY="k"))) == "google_genai:gemini-2.5-flash"
    assert str(choose_model(settings(monkeypatch, ACE_MODEL="Offline"))) == "offline"
    assert str(choose_model(settings(monkeypatch, ACE_MODEL="openai:gpt-5"))) == "openai:gpt-5"


def test_another_provider_without_langchain_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain", None)
    with pytest.raises(ConfigurationError, match=r"pip install langchain.*langchain-openai"):
        make_model(settings(monkeypatch, ACE_MODEL="openai:gpt-5"))


def test_another_provider_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_cohere", None)
    with pytest.raises(ConfigurationError, match="langchain-cohere"):
        make_model(settings(monkeypatch, ACE_MODEL="cohere:command"))


def test_a_provider_that_nobody_knows_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="nowhere"):
        make_model(settings(monkeypatch, ACE_MODEL="nowhere:model"))


@pytest.mark.parametrize("strict", [False, True])
def test_another_provider_is_made_by_langchain_with_its_own_retries_off(
    strict: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []

    def chat(**options: Any) -> ScriptedModel:
        seen.append(options)
        if strict and "max_retries" in options:
            raise TypeError("unexpected argument max_retries")
        return ScriptedModel()

    name = "langchain_groq" if strict else "langchain_xai"
    package = ModuleType(name)
    setattr(package, "ChatGroq" if strict else "ChatXAI", chat)
    monkeypatch.setitem(sys.modules, name, package)
    provider = "groq" if strict else "xai"
    made = make_model(settings(monkeypatch, ACE_MODEL=f"{provider}:small", ACE_LLM_TIMEOUT="7"))
    assert isinstance(made, ScriptedModel)
    assert seen[0] == {"model": "small", "temperature": 0.2, "timeout": 7, "max_retries": 0}
    assert seen[-1]["model"] == "small"
    assert len(seen) == (2 if strict else 1)
