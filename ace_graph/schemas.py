"""Chat models bound to a schema, kept from turn to turn: for some providers binding takes milliseconds.

Does not: call a model, or read its reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel

__all__ = ["Bound", "Schemas"]

Bound = Runnable[Sequence[BaseMessage], Mapping[str, object]]
"""A model that answers with a schema: a mapping, as `include_raw=True` promises."""

_KEPT = 8


class Schemas:
    """The last few models that were bound. A model is known by its identity. Safe to use from any thread."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, type[BaseModel]], tuple[object, Bound | None]] = {}

    def bound(
        self, model: BaseChatModel | Runnable[LanguageModelInput, AIMessage], schema: type[BaseModel]
    ) -> Bound | None:
        """Return `model` answering with `schema`; None where it has no structured output of its own."""
        key = (id(model), schema)
        held = self._held.get(key)
        if held is None or held[0] is not model:
            held = (model, _bind(model, schema))
            self._held = dict([*self._held.items(), (key, held)][-_KEPT:])
        return held[1]


def _bind(
    model: BaseChatModel | Runnable[LanguageModelInput, AIMessage], schema: type[BaseModel]
) -> Bound | None:
    try:
        # LangChain types the result by what include_raw=False would give.
        return model.with_structured_output(schema, include_raw=True)  # type: ignore[union-attr,return-value]
    except (AttributeError, NotImplementedError):
        return None
