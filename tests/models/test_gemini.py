"""The real Gemini client over HTTP, against a local server that speaks its REST."""

from __future__ import annotations

import logging
import re
from typing import cast

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_google_genai import ChatGoogleGenerativeAI
from pydantic import BaseModel, SecretStr

from ace_graph.agent.models import (
    ChatRunnable,
    Usage,
    call_model,
    finish_problem,
    joined,
    stream_model,
    structured_call,
    usage_of,
)
from ace_graph.base import ModelError, Sleep
from ace_graph.testing import GeminiServer
from tests.plugins.sizes import PATIENT

QUESTION = [SystemMessage("Be brief."), HumanMessage("What is 2+2?")]
KEY = "plain-key-without-a-known-prefix-1234"


class Lessons(BaseModel):
    lessons: list[str]


async def streamed(model: ChatRunnable, no_wait: Sleep, seconds: float = 5) -> list[AIMessageChunk]:
    return [chunk async for chunk in stream_model(model, QUESTION, timeout=seconds, sleep=no_wait)]


def client(url: str, seconds: float = 10) -> ChatGoogleGenerativeAI:
    return ChatGoogleGenerativeAI(
        model="m", api_key=SecretStr("k"), base_url=url, max_retries=1, timeout=seconds
    )


async def test_an_answer_and_its_tokens_come_back(
    server: GeminiServer, gemini: ChatGoogleGenerativeAI
) -> None:
    server.answer("four", tokens=(12, 3))
    costs: list[Usage] = []
    reply = await call_model(gemini, QUESTION, timeout=PATIENT, on_usage=costs.append)
    assert reply.text == "four"
    assert finish_problem(reply) is None
    assert costs == [Usage(calls=1, input_tokens=12, output_tokens=3)]
    [request] = server.requests
    assert (request.model, request.method, request.api_key) == ("gemini-test", "generateContent", KEY)
    assert "Be brief." in request.text


async def test_a_stream_adds_up_to_the_answer_and_counts_its_tokens_once(
    server: GeminiServer, gemini: ChatGoogleGenerativeAI
) -> None:
    server.answer("four is the answer", tokens=(12, 3))
    chunks = [chunk async for chunk in stream_model(gemini, QUESTION, timeout=PATIENT)]
    assert len([chunk for chunk in chunks if chunk.text]) > 1
    assert "".join(chunk.text for chunk in chunks) == "four is the answer"
    whole = joined(chunks)
    assert whole is not None
    assert usage_of(whole) == Usage(1, 12, 3)
    assert server.requests[0].method == "streamGenerateContent"


async def test_thoughts_are_no_part_of_the_text(server: GeminiServer, gemini: ChatGoogleGenerativeAI) -> None:
    server.answer("four", thoughts="two and two")
    server.answer("four", thoughts="two and two")
    assert (await call_model(gemini, QUESTION, timeout=PATIENT)).text == "four"
    chunks = [chunk async for chunk in stream_model(gemini, QUESTION, timeout=PATIENT)]
    assert "".join(chunk.text for chunk in chunks) == "four"


async def test_a_tool_is_called_and_its_result_goes_back(
    server: GeminiServer, gemini: ChatGoogleGenerativeAI
) -> None:
    def calculator(expression: str) -> str:
        """Compute."""
        return expression

    model = cast("BaseChatModel", gemini).bind_tools([calculator])  # its own signature is half typed
    server.answer(call=("calculator", {"expression": "2+2"}))
    server.answer("four")
    asked = await call_model(model, QUESTION, timeout=PATIENT)
    [call] = asked.tool_calls
    assert (call["name"], call["args"]) == ("calculator", {"expression": "2+2"})
    assert finish_problem(asked) is None
    result = ToolMessage("4", tool_call_id=call["id"])
    answer = await call_model(model, [*QUESTION, asked, result], timeout=PATIENT)
    assert answer.text == "four"
    assert "functionResponse" in server.requests[1].text


async def test_a_streamed_tool_call_is_whole_at_the_end(
    server: GeminiServer, gemini: ChatGoogleGenerativeAI
) -> None:
    server.answer("Let me compute.", call=("calculator", {"expression": "2+2"}))
    chunks = [chunk async for chunk in stream_model(gemini, QUESTION, timeout=PATIENT)]
    total = sum(chunks[1:], chunks[0])
    assert isinstance(total, AIMessage)
    assert [(call["name"], call["args"]) for call in total.tool_calls] == [
        ("calculator", {"expression": "2+2"})
    ]


async def test_structured_output_is_a_value(server: GeminiServer, gemini: ChatGoogleGenerativeAI) -> None:
    server.answer('{"lessons": ["Draw it."]}', tokens=(7, 2))
    costs: list[Usage] = []
    result = await structured_call(gemini, QUESTION, Lessons, timeout=PATIENT, on_usage=costs.append)
    assert (result.value, result.problem) == (Lessons(lessons=["Draw it."]), None)
    assert costs == [Usage(1, 7, 2)]
    assert "responseJsonSchema" in server.requests[0].text


async def test_structured_output_that_was_cut_is_no_value_even_when_it_parses(
    server: GeminiServer, gemini: ChatGoogleGenerativeAI
) -> None:
    server.answer('{"lessons": ["Draw it.", "Add the', finish_reason="MAX_TOKENS")
    server.answer('{"lessons": ["Draw it."]}', finish_reason="MAX_TOKENS")
    for _ in range(2):
        result = await structured_call(gemini, QUESTION, Lessons, timeout=PATIENT)
        assert result.value is None
        assert "token limit" in str(result.problem)
        assert "Draw it." in result.raw_text


@pytest.mark.parametrize("text", ["I have learned nothing.", '{"lessons": "one"}', '{"lessons": ["a", ', ""])
async def test_structured_output_that_does_not_fit_is_a_problem(
    text: str, server: GeminiServer, gemini: ChatGoogleGenerativeAI
) -> None:
    server.answer(text)
    result = await structured_call(gemini, QUESTION, Lessons, timeout=PATIENT)
    assert result.value is None
    assert result.problem
    assert result.raw_text == text


async def test_structured_output_in_a_fence_is_read(
    server: GeminiServer, gemini: ChatGoogleGenerativeAI
) -> None:
    server.answer('Here it is:\n```json\n{"lessons": ["Draw it."]}\n```\nDone.')
    result = await structured_call(gemini, QUESTION, Lessons, timeout=PATIENT)
    assert result.value == Lessons(lessons=["Draw it."])


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_what_can_not_succeed_is_called_once_and_says_what_to_check(
    status: int, server: GeminiServer, gemini: ChatGoogleGenerativeAI, waits: list[float], no_wait: Sleep
) -> None:
    for call in (call_model(gemini, QUESTION, timeout=PATIENT, sleep=no_wait), streamed(gemini, no_wait)):
        server.fail(status, f"no luck with {KEY}")
        with pytest.raises(ModelError, match=r"GEMINI|key") as caught:
            await call
        assert caught.value.status == status
        assert KEY not in str(caught.value)
    assert waits == []
    assert len(server.requests) == 2
    server.assert_done()


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_can_pass_is_tried_three_times_with_short_waits(
    status: int, server: GeminiServer, gemini: ChatGoogleGenerativeAI, waits: list[float], no_wait: Sleep
) -> None:
    server.fail(status, times=3)
    with pytest.raises(ModelError) as caught:
        await call_model(gemini, QUESTION, timeout=PATIENT, sleep=no_wait)
    assert caught.value.status == status
    assert len(server.requests) == 3
    assert len(waits) == 2
    assert 0 < waits[0] <= 1
    assert 0 < waits[1] <= 2


async def test_a_failure_that_passes_leaves_one_answer(
    server: GeminiServer, gemini: ChatGoogleGenerativeAI, no_wait: Sleep
) -> None:
    costs: list[Usage] = []
    server.fail(503, times=2)
    server.answer("four", tokens=(1, 1))
    reply = await call_model(gemini, QUESTION, timeout=PATIENT, sleep=no_wait, on_usage=costs.append)
    assert reply.text == "four"
    assert costs == [Usage(1, 1, 1)]
    server.fail(429)
    server.answer("four")
    assert "".join(chunk.text for chunk in await streamed(gemini, no_wait)) == "four"
    server.assert_done()


async def test_a_hang_ends_after_the_timeout_of_three_attempts(
    server: GeminiServer, gemini: ChatGoogleGenerativeAI, waits: list[float], no_wait: Sleep
) -> None:
    server.hang(times=6)
    with pytest.raises(ModelError, match="ACE_LLM_TIMEOUT") as caught:
        await call_model(gemini, QUESTION, timeout=0.1, sleep=no_wait)
    assert caught.value.status is None
    with pytest.raises(ModelError, match="ACE_LLM_TIMEOUT"):
        await streamed(gemini, no_wait, seconds=0.1)
    assert len(waits) == 4


async def test_the_clients_own_timeout_counts_as_one_too(
    server: GeminiServer, waits: list[float], no_wait: Sleep
) -> None:
    model = ChatGoogleGenerativeAI(
        model="m", api_key=SecretStr("k"), base_url=server.url, max_retries=1, timeout=0.1
    )
    server.hang(times=3)
    with pytest.raises(ModelError, match="ACE_LLM_TIMEOUT"):
        await call_model(model, QUESTION, timeout=PATIENT, sleep=no_wait)
    assert len(waits) == 2
    await model.aclose()


async def test_a_server_that_is_not_there_is_an_error_about_the_network(
    waits: list[float], no_wait: Sleep
) -> None:
    with GeminiServer() as gone:
        url = gone.url
    model = client(url)
    with pytest.raises(ModelError, match="can't be reached"):
        await call_model(model, QUESTION, timeout=PATIENT, sleep=no_wait)
    assert len(waits) == 2
    await model.aclose()


async def test_a_stream_that_breaks_off_is_not_started_again(
    server: GeminiServer, gemini: ChatGoogleGenerativeAI, waits: list[float], no_wait: Sleep
) -> None:
    server.break_off("The answer is")
    stream = stream_model(gemini, QUESTION, timeout=PATIENT, sleep=no_wait)
    assert (await anext(stream)).text == "The ans"
    assert (await anext(stream)).text == "wer is"
    with pytest.raises(ModelError, match="broke off"):
        await anext(stream)
    assert waits == []
    assert len(server.requests) == 1


async def test_a_reply_cut_at_the_token_limit_is_recognised(
    server: GeminiServer, gemini: ChatGoogleGenerativeAI
) -> None:
    server.answer("the answer is", finish_reason="MAX_TOKENS")
    server.answer("the answer is", finish_reason="MAX_TOKENS")
    reply = await call_model(gemini, QUESTION, timeout=PATIENT)
    assert "token limit" in str(finish_problem(reply))
    chunks = [chunk async for chunk in stream_model(gemini, QUESTION, timeout=PATIENT)]
    assert "token limit" in str(finish_problem(sum(chunks[1:], chunks[0])))


async def test_a_safety_block_is_recognised(server: GeminiServer, gemini: ChatGoogleGenerativeAI) -> None:
    server.block("SAFETY")
    server.answer(finish_reason="SAFETY")
    server.block("PROHIBITED_CONTENT")
    first = await call_model(gemini, QUESTION, timeout=PATIENT)
    second = await call_model(gemini, QUESTION, timeout=PATIENT)
    third = [chunk async for chunk in stream_model(gemini, QUESTION, timeout=PATIENT)]
    assert "SAFETY" in str(finish_problem(first))
    assert "SAFETY" in str(finish_problem(second))
    assert "PROHIBITED_CONTENT" in str(finish_problem(sum(third[1:], third[0])))


async def test_no_key_is_in_any_error_or_log_line(
    server: GeminiServer, gemini: ChatGoogleGenerativeAI, no_wait: Sleep, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.fail(503, f"overloaded {KEY}")
    server.fail(400, f"API key not valid: {KEY} at https://host/v1?key={KEY}")
    with pytest.raises(ModelError) as caught:
        await call_model(gemini, QUESTION, timeout=PATIENT, sleep=no_wait)
    error = caught.value
    assert "API key not valid" in str(error)
    assert re.search(r"\[ACE Model\] attempt 1 of 3 failed \(\w+, status 503\)", caplog.text)
    assert (error.__cause__, error.__context__) == (None, None)
    assert KEY not in f"{error!r}{error.__dict__}{caplog.text}"
