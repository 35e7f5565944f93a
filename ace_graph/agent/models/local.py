"""Base class of chat models that run in this process, such as the offline tutor and the scripted test model.

A subclass writes one method that replies. This class adds streaming, tools, structured output and token
counts (words): invoke, stream and their async forms give the same reply, and a schema is answered with JSON
text.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypedDict, cast

from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel, LangSmithParams, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_json_schema, convert_to_openai_tool
from pydantic import BaseModel, JsonValue, ValidationError

from ace_graph.agent.models.call import as_chunk
from ace_graph.agent.models.reply import find_json_object
from ace_graph.base.off_loop import run_off_loop

SCHEMA_KEY = "response_schema"
"""The call argument under which the model finds the JSON schema it is to answer with."""
JsonSchema = dict[str, JsonValue]


class Parsed(TypedDict):
    """What LangChain's `include_raw=True` promises."""

    raw: AIMessage
    parsed: BaseModel | JsonSchema | None
    parsing_error: Exception | None


@lru_cache(maxsize=32)
def _schema_of(model: type[BaseModel]) -> JsonSchema:
    """Return its JSON schema, which takes LangChain 10 ms to make."""
    return convert_to_json_schema(model)


class _JsonOutput(Runnable[LanguageModelInput, Parsed | BaseModel | JsonSchema]):
    """Calls a model and reads its reply; a chain of LangChain's runnables would be three runs more."""

    def __init__(self, model: BaseChatModel, schema: JsonSchema | type[BaseModel], include_raw: bool) -> None:
        self._model, self._schema, self._include_raw = model, schema, include_raw
        self._arguments: dict[str, Any] = {  # Any: LangChain's
            SCHEMA_KEY: _schema_of(schema) if isinstance(schema, type) else convert_to_json_schema(schema)
        }

    # Any: the signature of Runnable
    def invoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Parsed | BaseModel | JsonSchema:
        return self._read(self._model.invoke(input, config, **self._arguments, **kwargs))

    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Parsed | BaseModel | JsonSchema:
        return self._read(await self._model.ainvoke(input, config, **self._arguments, **kwargs))

    def _read(self, message: AIMessage) -> Parsed | BaseModel | JsonSchema:
        parsed = _parse(message, self._schema)
        if self._include_raw:
            return parsed
        if parsed["parsed"] is None:
            raise OutputParserException(str(parsed["parsing_error"])) from parsed["parsing_error"]
        return parsed["parsed"]


def _parse(message: AIMessage, schema: JsonSchema | type[BaseModel]) -> Parsed:
    found = find_json_object(message.text)
    if found is None:
        error = OutputParserException("the reply holds no complete JSON object")
        return {"raw": message, "parsed": None, "parsing_error": error}
    if isinstance(schema, dict):
        return {"raw": message, "parsed": found, "parsing_error": None}
    try:
        return {"raw": message, "parsed": schema.model_validate(found), "parsing_error": None}
    except ValidationError as problem:
        return {"raw": message, "parsed": None, "parsing_error": problem}


ROLE_KEY = "ace_role"
_TAGS_KEY = "ace_tags"
_WORD = re.compile(r"(?:\A\s+)?\S+\s*")


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call as the model sees it.

    `role` is what the caller put under `ace_role` into the metadata of its config. `tools` are OpenAI
    function objects, `schema` is the JSON schema that the reply is to fit, `tags` are the config's.
    """

    messages: tuple[BaseMessage, ...]
    role: str | None = None
    tools: tuple[JsonSchema, ...] = ()
    schema: JsonSchema | None = None
    tags: tuple[str, ...] = ()

    @property
    def prompt(self) -> str:
        """The text of all messages, one after the other."""
        return "\n".join(message.text for message in self.messages)

    @property
    def size(self) -> int:
        """The characters of all messages."""
        return sum(len(message.text) for message in self.messages)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the bound tools."""
        functions = (tool.get("function") for tool in self.tools)
        return tuple(str(function["name"]) for function in functions if isinstance(function, dict))


class LocalModel(BaseChatModel):
    """A chat model whose replies are made in this process by `reply`."""

    @abstractmethod
    def reply(self, call: ModelCall) -> AIMessage:
        """Return the whole reply to `call`; usage and finish reason are added where they are missing."""

    def _get_ls_params(
        self,
        stop: list[str] | None = None,
        **kwargs: Any,  # LangChain's signature
    ) -> LangSmithParams:
        """Return what traces say of the model: its name is the kind of model that it is."""
        known = super()._get_ls_params(stop=stop, **kwargs)
        known["ls_model_name"] = str(kwargs.get("model") or self._llm_type)
        return known

    def pieces(self, text: str) -> list[str]:
        """Return `text` in the pieces in which it streams: words, by default."""
        return _WORD.findall(text)

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],  # Any: LangChain's signature
        *,
        tool_choice: str | None = None,
        **kwargs: Any,  # LangChain's signature
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return this model with `tools`; which of them it calls, and when, is its own choice."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def with_structured_output(
        self,
        schema: dict[str, Any] | type,  # Any: LangChain's signature
        *,
        include_raw: bool = False,
        **kwargs: Any,  # LangChain's signature
    ) -> Runnable[LanguageModelInput, dict[str, Any] | BaseModel]:
        """Return this model answering with JSON that fits `schema`, a pydantic class or a JSON schema."""
        out = _JsonOutput(self, cast("JsonSchema | type[BaseModel]", schema), include_raw)
        return cast("Runnable[LanguageModelInput, dict[str, Any] | BaseModel]", out)

    # LangChain hands no run manager to a stream, so the caller is read from the config on the way in.

    # Any: LangChain's signatures
    def invoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AIMessage:
        return super().invoke(input, config, **_caller(config, kwargs))

    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AIMessage:
        return await super().ainvoke(input, config, **_caller(config, kwargs))

    def stream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[AIMessageChunk]:
        return super().stream(input, config, **_caller(config, kwargs))

    def astream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[AIMessageChunk]:
        return super().astream(input, config, **_caller(config, kwargs))

    def _generate(self, messages: list[BaseMessage], *_: Any, **kwargs: Any) -> ChatResult:
        return self._whole(_call_of(messages, kwargs))

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **kwargs: Any) -> ChatResult:
        call = _call_of(messages, kwargs)
        return await run_off_loop(call.size, self._whole, call)

    def _stream(self, messages: list[BaseMessage], *_: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        return self._chunks(_call_of(messages, kwargs))

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        call = _call_of(messages, kwargs)
        for chunk in await run_off_loop(call.size, self._chunks, call):
            yield chunk

    def _whole(self, call: ModelCall) -> ChatResult:
        message = _completed(self.reply(call), call, self._llm_type)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _chunks(self, call: ModelCall) -> Iterator[ChatGenerationChunk]:
        return self.chunks_of(self.reply(call), call)

    def chunks_of(self, message: AIMessage, call: ModelCall) -> Iterator[ChatGenerationChunk]:
        """Yield `message`, a reply to `call`, in pieces; what is no text comes with the last one."""
        message = _completed(message, call, self._llm_type)
        for piece in self.pieces(message.text):
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
        yield ChatGenerationChunk(message=as_chunk(message.model_copy(update={"content": ""})))


def _caller(config: RunnableConfig | None, kwargs: dict[str, Any]) -> dict[str, Any]:  # Any: call arguments
    known = ensure_config(config)
    role = (known.get("metadata") or {}).get(ROLE_KEY)
    return {**kwargs, ROLE_KEY: role, _TAGS_KEY: known.get("tags") or []}


def _call_of(messages: Sequence[BaseMessage], kwargs: dict[str, Any]) -> ModelCall:  # Any: call arguments
    role = kwargs.get(ROLE_KEY)
    return ModelCall(
        messages=tuple(messages),
        role=str(role) if role is not None else None,
        tools=tuple(kwargs.get("tools") or ()),
        schema=kwargs.get(SCHEMA_KEY),
        tags=tuple(kwargs.get(_TAGS_KEY) or ()),
    )


def _completed(message: AIMessage, call: ModelCall, model_name: str) -> AIMessage:
    metadata = {"finish_reason": "STOP", "model_name": model_name, **message.response_metadata}
    taken = sum(len(each.text.split()) for each in call.messages)
    given = len(message.text.split()) + sum(len(str(tool["args"]).split()) for tool in message.tool_calls)
    words = UsageMetadata(input_tokens=taken, output_tokens=given, total_tokens=taken + given)
    usage = message.usage_metadata or words
    return message.model_copy(update={"response_metadata": metadata, "usage_metadata": usage})
