"""Keys in what a model's library says: none appears in an error or a log line."""

from __future__ import annotations

from typing import cast

from langchain_core.runnables import RunnableBinding
from pydantic import BaseModel, SecretStr

from ace_graph.memory.screening.secrets import redact

_HIDDEN = "[hidden]"


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
