"""Reads a model's reply: joins its chunks, tells whether it is complete, and finds the JSON in it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import BaseModel, JsonValue, ValidationError

from ace_graph.agent.models.call import (
    PROVIDERS,
    ChatRunnable,
    OnUsage,
    call_model,
    guarded,
    secrets_of,
    usage_of,
    with_nostream,
)
from ace_graph.base.off_loop import run_off_loop

CUT = "the reply was cut at the model's token limit"
FILTERED = "the provider's safety filter stopped the reply"
_CUT, _BLOCKED, _FINE = (frozenset(PROVIDERS[name].split()) for name in ("cut", "blocked", "fine"))
_REASON_KEYS = ("finish_reason", "stop_reason", "done_reason")
_MOST_BROKEN = 1_000
_FENCE = re.compile(r"```[\w-]*")
_OBJECT = re.compile(r"\{\s*+[\"}]")
_BRACE = re.compile(r"[{}]")


def joined(chunks: Sequence[AIMessageChunk]) -> AIMessageChunk | None:
    """Return the sum of a reply's chunks, None for none; added one by one they would be copied each time."""
    return chunks[0] + list(chunks[1:]) if chunks else None


def finish_problem(message: AIMessage) -> str | None:
    """Return why `message` is no complete reply, or None when it is one.

    Recognised are a reply cut at the token limit, one that a safety filter stopped (often without any
    text, and without an exception), any other ending that is not the model's own, and an empty reply.
    """
    reason = _finish_reason(message)
    if reason in _CUT:
        return CUT
    blocked = reason if reason in _BLOCKED else _block_reason(message)
    if blocked:
        return f"{FILTERED} ({blocked})"
    if reason and reason not in _FINE:
        return f"the reply ended before it was complete ({reason})"
    if not message.text.strip() and not message.tool_calls:
        return "the reply was empty"
    return None


def find_json_object(text: str) -> dict[str, JsonValue] | None:
    """Return the first complete JSON object in `text`, or None.

    Fences and prose around it are skipped. An object that is broken or cut is never searched for a
    complete one inside it, so half a reply can't pass for a whole one. At most 1,000 broken ones are passed.
    """
    if "```" in text:
        lines = text.split("\n")
        text = "\n".join("" if _FENCE.fullmatch(line.strip()) else line for line in lines)
    decoder, broken = json.JSONDecoder(), 0
    start = text.find("{")
    while start != -1 and broken < _MOST_BROKEN:
        read_to = start
        if _OBJECT.match(text, start):  # else it is prose, or a set
            try:
                value: dict[str, JsonValue] = decoder.raw_decode(text, start)[0]
            except json.JSONDecodeError as error:
                read_to, broken = error.pos, broken + 1
            except (ValueError, RecursionError):  # a number, or a nesting, beyond what is read
                return None
            else:
                return value
        end = _closing_brace(text, start)
        if end is None:
            return None
        start = text.find("{", max(end, read_to))  # what was read as JSON once is not read again
    return None


def _closing_brace(text: str, start: int) -> int | None:
    depth = 0
    for found in _BRACE.finditer(text, start):
        depth += 1 if found.group() == "{" else -1
        if depth == 0:
            return found.end()
    return None


def _finish_reason(message: AIMessage) -> str:
    metadata = message.response_metadata
    reason = next((str(metadata[key]) for key in _REASON_KEYS if metadata.get(key)), "").upper()
    reason = reason.rpartition(".")[2]
    # Merged stream chunks repeat the reason without a separator: STOPSTOP.
    half, odd = divmod(len(reason), 2)
    return reason[:half] if reason and not odd and reason[:half] == reason[half:] else reason


def _block_reason(message: AIMessage) -> str | None:
    feedback: object = message.response_metadata.get("prompt_feedback")
    if not isinstance(feedback, dict):
        return None
    reason = cast("dict[str, object]", feedback).get("block_reason")
    return str(getattr(reason, "name", reason)) if reason else None


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
            try:
                bind = model.with_structured_output  # type: ignore[union-attr]  # a Runnable has none
                bound: Bound | None = bind(schema, include_raw=True)  # type: ignore[assignment]  # typed for False
            except (AttributeError, NotImplementedError):
                bound = None
            held = (model, bound)
            self._held = dict([*self._held.items(), (key, held)][-_KEPT:])
        return held[1]


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
) -> Structured[M]:
    """Ask `model` for a `schema` and return the value, or the problem, of the one reply.

    A reply that was cut may still parse, into half of what was meant: it counts only if it was finished and
    all of it was read. `schemas` keeps the model bound to the schema from call to call.

    A model that has no structured output of its own is called plainly and its text is searched for one
    JSON object; the same is done when a model answers in text although it was bound to a schema.
    Raises ModelError when the call failed for good.
    """
    bound = (schemas or Schemas()).bound(model, schema)
    if bound is None:
        shape = json.dumps(schema.model_json_schema(), separators=(",", ":"))
        asked = f"Reply with one JSON object that fits this JSON schema, and nothing else:\n{shape}"
        text = await call_model(
            model, [*messages, HumanMessage(asked)], timeout=timeout, config=config, on_usage=on_usage
        )
        return await run_off_loop(len(text.text), _read, text, None, schema)
    began = time.monotonic()
    out = await guarded(
        lambda: bound.ainvoke(list(messages), with_nostream(config)),
        timeout=timeout,
        secrets=secrets_of(model),
    )
    raw, parsed = out.get("raw"), out.get("parsed")
    if not isinstance(raw, AIMessage):
        return Structured(None, "the model gave no message", "")
    if on_usage is not None:
        on_usage(usage_of(raw, began))
    return await run_off_loop(len(raw.text), _read, raw, parsed, schema)


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
        detail = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, detail["loc"])) or "the object"
        return Structured(None, f"the reply does not fit {schema.__name__}: {where}: {detail['msg']}", text)
