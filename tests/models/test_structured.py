"""A typed value or a problem, whatever the model can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel

from ace_graph.agent.models import Usage, structured_call
from ace_graph.base import ModelError
from ace_graph.testing import Reply, ScriptedModel
from tests.plugins.sizes import PATIENT

QUESTION = [HumanMessage("What did you learn?")]


class Lessons(BaseModel):
    lessons: list[str] = []


class NoSchema(ScriptedModel):
    """A model whose provider has no structured output."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        super().__init__(replies)

    def with_structured_output(
        self,
        schema: dict[str, Any] | type,
        *,
        include_raw: bool = False,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, dict[str, Any] | BaseModel]:
        raise NotImplementedError


async def test_a_model_without_structured_output_is_asked_in_words() -> None:
    model = FakeListChatModel(responses=['I think: {"lessons": ["Draw it."]} is all.'])
    costs: list[Usage] = []
    result = await structured_call(model, QUESTION, Lessons, timeout=PATIENT, on_usage=costs.append)
    assert result.value == Lessons(lessons=["Draw it."])
    assert costs == [Usage(calls=1)]


async def test_the_words_hold_the_schema() -> None:
    with NoSchema(['{"lessons": []}']) as model:
        await structured_call(model, QUESTION, Lessons, timeout=PATIENT)
    assert "JSON schema" in model.calls[0].prompt
    assert "lessons" in model.calls[0].prompt
    assert model.calls[0].schema is None


async def test_a_bound_schema_reaches_the_model() -> None:
    with ScriptedModel(reflector=['{"lessons": ["a"]}']) as model:
        config = {"metadata": {"ace_role": "reflector"}}
        result = await structured_call(model, QUESTION, Lessons, timeout=PATIENT, config=config)  # pyright: ignore
    assert result.value == Lessons(lessons=["a"])
    assert model.calls[0].schema is not None
    assert "nostream" in model.calls[0].tags


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("nothing to say", "no complete JSON object"),
        ('{"lessons": ["a", "b', "no complete JSON object"),
        ('{"outer": {"lessons": ["a"]}, "b', "no complete JSON object"),
        ('{"lessons": 5}', "lessons"),
    ],
)
async def test_half_a_reply_is_never_a_value(text: str, problem: str) -> None:
    with ScriptedModel([text]) as model:
        result = await structured_call(model, QUESTION, Lessons, timeout=PATIENT)
    assert result.value is None
    assert problem in str(result.problem)
    assert result.raw_text == text


async def test_a_whole_object_of_a_reply_that_was_stopped_is_no_value() -> None:
    stopped = AIMessage('{"lessons": ["a"]}', response_metadata={"finish_reason": "length"})
    with ScriptedModel([stopped]) as model:
        result = await structured_call(model, QUESTION, Lessons, timeout=PATIENT)
    assert result.value is None
    assert "token limit" in str(result.problem)


async def test_a_failed_call_is_an_error_and_no_value() -> None:
    with ScriptedModel([RuntimeError("down")]) as model, pytest.raises(ModelError, match="down"):
        await structured_call(model, QUESTION, Lessons, timeout=PATIENT)
