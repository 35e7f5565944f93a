"""Structured output for chat models that answer a schema with JSON text: the tutor and the test double.

Does not: constrain what the model says. Whether a reply was complete is asked by `structured_call`.
"""

from __future__ import annotations

from typing import TypedDict

from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_json_schema
from pydantic import BaseModel, JsonValue, ValidationError

from ace_graph.models.reply import find_json_object

__all__ = ["SCHEMA_KEY", "JsonSchema", "Parsed", "json_output"]

SCHEMA_KEY = "response_schema"
"""The call argument under which the model finds the JSON schema it is to answer with."""

JsonSchema = dict[str, JsonValue]


class Parsed(TypedDict):
    """What LangChain's `include_raw=True` promises."""

    raw: AIMessage
    parsed: BaseModel | JsonSchema | None
    parsing_error: Exception | None


def json_output(
    model: BaseChatModel, schema: JsonSchema | type[BaseModel], *, include_raw: bool
) -> Runnable[LanguageModelInput, Parsed | BaseModel | JsonSchema]:
    """Return a runnable that hands `schema` to `model` as `response_schema` and reads its JSON text."""
    bound = model.bind(**{SCHEMA_KEY: convert_to_json_schema(schema)})

    def read(message: AIMessage) -> Parsed | BaseModel | JsonSchema:
        parsed = _parse(message, schema)
        if include_raw:
            return parsed
        if parsed["parsed"] is None:
            raise OutputParserException(str(parsed["parsing_error"])) from parsed["parsing_error"]
        return parsed["parsed"]

    return bound | RunnableLambda(read)


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
