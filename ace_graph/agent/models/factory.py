"""Makes the chat model that the settings name: Gemini, another LangChain provider, or the offline tutor."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ace_graph.base.errors import ConfigurationError, ModelNotAllowed, ModelNotConfigured
from ace_graph.base.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

logger = logging.getLogger("ace_graph")

GEMINI = "google_genai"
OFFLINE = "offline"
_NOTHING_CONFIGURED = (
    "No model is configured: set GEMINI_API_KEY for Gemini, ACE_MODEL=provider:name for another provider, "
    "or ACE_MODEL=offline for the rule-based tutor, or in Python pass a chat model as model="
)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A provider and a model; `str()` gives the name for logs and `doctor`."""

    provider: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}" if self.name else self.provider


def choose_model(settings: Settings, model: str | None = None) -> ModelChoice:
    """Return the model of `settings`, or the override `model` where the settings allow it.

    Accepted are `offline`, `provider:name`, and the bare name of a Gemini model. Nothing is made or called.
    Raises ModelNotConfigured, ModelNotAllowed, or ConfigurationError for an incomplete name.
    """
    if model is None:
        return _configured(settings)
    choice = _parse(model, "model")
    allowed = {_parse(name, "ACE_ALLOWED_MODELS") for name in settings.allowed_models}
    with suppress(ModelNotConfigured):
        allowed.add(_configured(settings))
    if choice not in allowed:
        listed = ", ".join(settings.allowed_models) or "nothing"
        raise ModelNotAllowed(
            f"The model {model!r} is not allowed here: ACE_ALLOWED_MODELS lists {listed}; add it there"
        )
    return choice


def make_model(
    settings: Settings, *, model: str | None = None, temperature: float | None = None
) -> BaseChatModel:
    """Return a new chat model as `settings` say, whose own retries are off.

    `model` and `temperature` (0 to 2) override the settings for one run; see `choose_model`. Making a
    model calls nothing. Raises ConfigurationError, or a class below it, that says what to set or install.
    """
    choice = choose_model(settings, model)
    heat = settings.llm_temperature if temperature is None else temperature
    if not 0 <= heat <= 2:
        raise ConfigurationError(f"The temperature must be between 0 and 2, not {heat}")
    if choice.provider == OFFLINE:
        from ace_graph.agent.offline_tutor import OfflineTutor

        return OfflineTutor()
    if choice.provider == GEMINI:
        if settings.gemini_api_key is None:
            raise ModelNotConfigured(
                "Gemini needs a key: set GEMINI_API_KEY, or ACE_MODEL=offline for the rule-based tutor"
            )
        from langchain_google_genai import ChatGoogleGenerativeAI

        return ChatGoogleGenerativeAI(
            model=choice.name,
            api_key=settings.gemini_api_key,
            base_url=settings.gemini_base_url,
            temperature=heat,
            max_retries=1,
            timeout=settings.llm_timeout,
        )
    if find_spec("langchain") is None:
        raise ConfigurationError(
            f"ACE_MODEL={choice} needs two more packages: pip install langchain and the one of the provider "
            f"(such as langchain-{choice.provider.replace('_', '-')})"
        )
    from langchain.chat_models import init_chat_model

    def build(**options: float) -> BaseChatModel:
        # The overloads can't tell options from their own two parameters when they are unpacked.
        return init_chat_model(choice.name, model_provider=choice.provider, **options)  # type: ignore[call-overload,no-any-return]  # pyright: ignore

    try:
        try:
            # The option of these providers counts retries; Gemini's counts attempts.
            return build(temperature=heat, timeout=settings.llm_timeout, max_retries=0)
        except (TypeError, ValidationError):  # some providers refuse unknown options
            return build(temperature=heat)
    except Exception as error:
        from ace_graph.agent.models.call import redacted

        problem = redacted(str(error))[:300]
    raise ConfigurationError(f"ACE_MODEL={choice} can't be used: {problem}")


def name_of_model(model: object) -> str:
    """Return the name that a model gives itself, else that of its class."""
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    return name if isinstance(name, str) else type(model).__name__


@asynccontextmanager
async def open_model(settings: Settings) -> AsyncGenerator[BaseChatModel]:
    """Yield the model of these settings, and close it at the end. Raises what `make_model` raises."""
    model = make_model(settings)
    try:
        yield model
    finally:
        await close_model(model)


async def close_model(model: object) -> None:
    """Close the HTTP clients of a model that has any, on the event loop it was used on."""
    close = getattr(model, "aclose", None)
    if close is not None:
        await close()


def _configured(settings: Settings) -> ModelChoice:
    if settings.model is not None:
        return _parse(settings.model, "ACE_MODEL")
    if settings.gemini_api_key is not None:
        return ModelChoice(GEMINI, settings.gemini_model)
    raise ModelNotConfigured(_NOTHING_CONFIGURED)


def _parse(text: str, where: str) -> ModelChoice:
    provider, colon, name = text.strip().partition(":")
    if not colon and provider.lower() == OFFLINE:
        return ModelChoice(OFFLINE)
    if not colon and provider.lower().startswith("gemini"):
        return ModelChoice(GEMINI, provider)
    if not (colon and provider and name):
        raise ConfigurationError(
            f"{where}: {text!r} is not a model: write provider:name, such as openai:gpt-5-mini, or offline"
        )
    return ModelChoice(provider.strip().lower().replace("-", "_"), name.strip())


def offline_fallback(settings: Settings, *, told: bool = False) -> Settings:
    """Return settings that name the offline tutor where no model is configured, and say so in the log.

    `told`: the caller says it in words of its own.

    For the command line and Studio only: a service that lost its key must not become a calculator.
    """
    try:
        choose_model(settings)
    except ModelNotConfigured:
        if not told:
            logger.warning(
                "[ACE Graph] no model is configured: the offline tutor answers; set GEMINI_API_KEY for Gemini"
            )
        return settings.model_copy(update={"model": "offline"})
    return settings
