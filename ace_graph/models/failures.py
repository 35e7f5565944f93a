"""Failures of model calls: which ones are worth a retry, and the error that the caller gets.

Each provider raises classes of its own, which change with its library. HTTP statuses and class names are what
they share, so both are read from the exception and from its causes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from langchain_core.runnables import RunnableBinding
from pydantic import BaseModel, SecretStr

from ace_graph.errors import ModelError
from ace_graph.memory.screening.secrets import redact

__all__ = ["is_transient", "model_error", "redacted", "secrets_of", "status_of"]

_TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 529})
_TIMEOUT_NAMES = frozenset({"TimeoutError", "TimeoutException", "APITimeoutError", "ModelTimeoutError"})
_CONNECTION_NAMES = frozenset(
    {
        "ConnectionError",
        "NetworkError",
        "RemoteProtocolError",
        "ProxyError",
        "APIConnectionError",
        "ClientConnectionError",
        "ModelConnectionError",
    }
)
_HIDDEN = "[hidden]"
_DETAIL_CHARS = 300

_ADVICE = {
    400: "the provider refused the request as invalid; check the model's name (GEMINI_MODEL or ACE_MODEL) "
    "and the API key",
    401: "the provider refused the API key; set a valid one (GEMINI_API_KEY for Gemini)",
    403: "the API key may not use this model; check the key's permissions or choose another model",
    404: "the provider does not know this model; check GEMINI_MODEL or ACE_MODEL",
    413: "the request is too long for the provider; shorten the question or the history",
    429: "the provider's quota is used up; wait a little, or raise the quota of the API key",
}
_OUTAGE = "the provider is out of order or overloaded; try again in a few minutes"
_TIMEOUT = "no answer came within {timeout:g} s; try again, or raise ACE_LLM_TIMEOUT"
_UNREACHABLE = "the provider can't be reached; check the network and the provider's address"
_UNKNOWN = "the model raised an error"


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status that `error`, or what caused it, carries."""
    for link in _chain(error):
        response = getattr(link, "response", None)
        candidates = (
            getattr(link, "status_code", None),
            getattr(link, "code", None),
            getattr(link, "status", None),
            getattr(response, "status_code", None),
        )
        for status in candidates:
            if isinstance(status, int) and 400 <= status <= 599:
                return status
    return None


def is_transient(error: BaseException) -> bool:
    """Whether the same call may succeed in a moment: 408, 429, 5xx, a timeout, a lost connection."""
    status = status_of(error)
    if status is not None:
        return status in _TRANSIENT_STATUSES or 500 <= status <= 599
    return _is_timeout(error) or _is_connection(error)


def model_error(error: BaseException, *, timeout: float, secrets: frozenset[str] = frozenset()) -> ModelError:
    """Return the error for the caller: what to do, then the provider's own message without any key.

    It links to no other exception, because those may hold a key in a URL or in a request. `timeout` is in
    seconds, `secrets` are texts that must not appear.
    """
    status = status_of(error)
    detail = redacted(_words_of(error), secrets)[:_DETAIL_CHARS]
    cause = f" ({type(error).__name__}: {detail})" if detail else f" ({type(error).__name__})"
    return ModelError(f"The model call failed: {_advice(error, status, timeout)}{cause}", status)


def redacted(text: str, secrets: frozenset[str] = frozenset()) -> str:
    """Return `text` as one line in which `secrets`, and all that looks like a key, are replaced."""
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    return " ".join(redact(text).split())


def secrets_of(model: object) -> frozenset[str]:
    """Return every key that `model`, or the model inside a binding, holds in a field of type SecretStr."""
    found: set[str] = set()
    while isinstance(model, RunnableBinding):
        model = cast("RunnableBinding[object, object]", model).bound
    if isinstance(model, BaseModel):
        values = (getattr(model, name, None) for name in type(model).model_fields)
        found.update(value.get_secret_value() for value in values if isinstance(value, SecretStr))
    return frozenset(secret for secret in found if secret)


def _advice(error: BaseException, status: int | None, timeout: float) -> str:
    if status is not None:
        return _ADVICE.get(status, _OUTAGE if status >= 500 else _ADVICE[400])
    if _is_timeout(error):
        return _TIMEOUT.format(timeout=timeout)
    return _UNREACHABLE if _is_connection(error) else _UNKNOWN


def _words_of(error: BaseException) -> str:
    """The provider's sentence where the exception keeps it apart, else all that it says."""
    messages = (getattr(link, "message", None) for link in _chain(error))
    return next((text for text in messages if isinstance(text, str) and text), str(error))


def _is_timeout(error: BaseException) -> bool:
    return bool(_class_names(error) & _TIMEOUT_NAMES)


def _is_connection(error: BaseException) -> bool:
    return bool(_class_names(error) & _CONNECTION_NAMES)


def _class_names(error: BaseException) -> set[str]:
    return {kind.__name__ for link in _chain(error) for kind in type(link).__mro__}


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__
