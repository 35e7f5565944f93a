"""A model's reply as a typed value, or the reason why there is none.

A reply that was cut at the token limit may still parse, into half of what the model meant. So a reply counts
only if the model finished it and all of it was read. Models that are bound to a schema are kept from turn to
turn, because binding takes some providers milliseconds.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import BaseModel, ValidationError

from ace_graph.models.call import ChatRunnable, OnUsage, Sleep, call_model, guarded, with_nostream
from ace_graph.models.failures import secrets_of
from ace_graph.models.reply import find_json_object, finish_problem
from ace_graph.models.usage import usage_of
from ace_graph.off_loop import read_text

__all__ = ["NO_OBJECT", "Bound", "Schemas", "Structured", "structured_call"]

NO_OBJECT = "the reply holds no complete JSON object"
"""The problem of a finished reply in prose."""


Bound = Runnable[Sequence[BaseMessage], Mapping[str, object]]
"""A model that answers with a schema: a mapping, as `include_raw=True` promises."""

_KEPT = 8


class Schemas:
    """The last bound models, and those that answer in prose; a model is compared by identity.

    Safe to use from any thread.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[int, type[BaseModel]], tuple[object, Bound | None]] = {}
        self._prose: tuple[object, ...] = ()

    def in_prose(self, model: object) -> bool:
        """Whether this model was found to answer in prose where JSON was asked for."""
        return any(each is model for each in self._prose)

    def note_prose(self, model: object) -> None:
        """Note that this model writes no JSON."""
        self._prose = (*self._prose, model)[-_KEPT:]

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
        bind = model.with_structured_output  # type: ignore[union-attr]  # a Runnable has none: AttributeError
        return bind(schema, include_raw=True)  # type: ignore[return-value]  # typed for include_raw=False
    except (AttributeError, NotImplementedError):
        return None


M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Structured(Generic[M]):
    """Either `value` or `problem` is set. `raw_text` is the text of the reply in both cases."""

    value: M | None
    problem: str | None
    raw_text: str


async def structured_call(
    model: BaseChatModel | ChatRunnable,
    messages: Sequence[BaseMessage],
    schema: type[M],
    *,
    timeout: float,  # noqa: ASYNC109  per attempt, not for the call as a whole
    config: RunnableConfig | None = None,
    on_usage: OnUsage | None = None,
    schemas: Schemas | None = None,
    sleep: Sleep = asyncio.sleep,
) -> Structured[M]:
    """Ask `model` for a `schema` and return the value, or the problem, of the one reply.

    `schemas` keeps the model bound to the schema from call to call.

    A model that has no structured output of its own is called plainly and its text is searched for one
    JSON object; the same is done when a model answers in text although it was bound to a schema.
    Raises ModelError when the call failed for good.
    """
    bound = (schemas or Schemas()).bound(model, schema)
    if bound is None:
        text = await call_model(
            model,
            [*messages, _asking_for(schema)],
            timeout=timeout,
            config=config,
            on_usage=on_usage,
            sleep=sleep,
        )
        return await read_text(len(text.text), _read, text, None, schema)
    out = await guarded(
        lambda: bound.ainvoke(list(messages), with_nostream(config)),
        timeout=timeout,
        secrets=secrets_of(model),
        sleep=sleep,
    )
    raw, parsed = out.get("raw"), out.get("parsed")
    if not isinstance(raw, AIMessage):
        return Structured(None, "the model gave no message", "")
    if on_usage is not None:
        on_usage(usage_of(raw))
    return await read_text(len(raw.text), _read, raw, parsed, schema)


def _asking_for(schema: type[BaseModel]) -> HumanMessage:
    shape = json.dumps(schema.model_json_schema(), separators=(",", ":"))
    return HumanMessage(f"Reply with one JSON object that fits this JSON schema, and nothing else:\n{shape}")


def _read(raw: AIMessage, parsed: object, schema: type[M]) -> Structured[M]:
    text = raw.text
    problem = finish_problem(raw)
    if problem is not None:
        return Structured(None, problem, text)
    # With text the parser's value is not taken: several of LangChain's parsers complete broken JSON.
    if isinstance(parsed, schema) and (raw.tool_calls or not text):
        return Structured(parsed, None, text)
    found = find_json_object(text)
    if found is None:
        return Structured(None, NO_OBJECT, text)
    try:
        return Structured(schema.model_validate(found), None, text)
    except ValidationError as error:
        return Structured(None, f"the reply does not fit {schema.__name__}: {_first(error)}", text)


def _first(error: ValidationError) -> str:
    detail = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(str(part) for part in detail['loc']) or 'the object'}: {detail['msg']}"
