"""The rules of a model call, whatever the model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

from ace_graph.agent.models import NOSTREAM, Usage, call_model, stream_model
from ace_graph.base import ConfigurationError, ModelError, Sleep
from ace_graph.testing import BrokenStream, ScriptedModel, UnexpectedModelCall
from tests.plugins.sizes import PATIENT

QUESTION = [HumanMessage("2+2?")]


class StatusError(Exception):
    """What providers' clients raise: an exception with a status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status_code = status


class PlainModel(BaseChatModel):
    """A model as small as LangChain allows: no stream, no tools, no structured output."""

    text: str = "four"

    @property
    def _llm_type(self) -> str:
        return "plain"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> ChatResult:
        call = {"name": "add", "args": {"a": 2}, "id": "1", "type": "tool_call"}
        message = AIMessage(self.text, tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


class SlowReaderModel(PlainModel):
    """Yields at once, so that only its reader can be slow."""

    _closed: bool = PrivateAttr(default=False)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> Iterator[ChatGenerationChunk]:
        raise AssertionError("the asynchronous stream is the one to use")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> AsyncIterator[ChatGenerationChunk]:
        try:
            for piece in ("one ", "two ", "three"):
                yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
        finally:
            self._closed = True

    @property
    def closed(self) -> bool:
        return self._closed


async def hear(stream: AsyncIterator[AIMessageChunk], heard: list[str]) -> None:
    async for chunk in stream:
        heard.append(chunk.text)


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (StatusError(429), 3),
        (StatusError(503), 3),
        (StatusError(529), 3),
        (TimeoutError(), 3),
        (ConnectionResetError(), 3),
        (StatusError(400), 1),
        (StatusError(401), 1),
        (StatusError(403), 1),
        (StatusError(404), 1),
        (StatusError(422), 1),
        (ValueError("the model is broken"), 1),
    ],
)
async def test_only_failures_that_can_pass_are_tried_again(
    error: Exception, attempts: int, no_wait: Sleep
) -> None:
    with ScriptedModel([error] * attempts) as model, pytest.raises(ModelError):
        await call_model(model, QUESTION, timeout=PATIENT, sleep=no_wait)
    assert len(model.calls) == attempts


async def test_a_status_below_the_surface_is_found(no_wait: Sleep) -> None:
    wrapped = RuntimeError("the library wraps it")
    wrapped.__cause__ = StatusError(503)
    with ScriptedModel([wrapped, "four"]) as model:
        assert (await call_model(model, QUESTION, timeout=PATIENT, sleep=no_wait)).text == "four"


async def test_errors_of_the_program_pass_unchanged() -> None:
    with pytest.raises(UnexpectedModelCall):
        await call_model(ScriptedModel(), QUESTION, timeout=PATIENT)
    with pytest.raises(UnexpectedModelCall):
        _ = [chunk async for chunk in stream_model(ScriptedModel(), QUESTION, timeout=PATIENT)]
    with pytest.raises(ConfigurationError):
        await call_model(ScriptedModel([ConfigurationError("set it")]), QUESTION, timeout=PATIENT)


async def test_a_failed_assertion_in_a_stream_is_no_model_failure() -> None:
    stream = stream_model(
        ScriptedModel([BrokenStream("x", AssertionError("bug"))]), QUESTION, timeout=PATIENT
    )
    assert (await anext(stream)).text == "x"
    with pytest.raises(AssertionError, match="bug"):
        await anext(stream)


async def test_no_call_reaches_the_users_stream_and_each_keeps_its_config() -> None:
    with ScriptedModel(solver=["four", "four"]) as model:
        config = {"tags": ["mine"], "metadata": {"ace_role": "solver"}}
        await call_model(model, QUESTION, timeout=PATIENT, config=config)  # pyright: ignore[reportArgumentType]
        stream = stream_model(model, QUESTION, timeout=PATIENT, config=config)  # pyright: ignore[reportArgumentType]
        _ = [chunk async for chunk in stream]
    for call in model.calls:
        assert set(call.tags) >= {NOSTREAM, "mine"}
        assert call.role == "solver"
    assert config["tags"] == ["mine"]


async def test_a_stream_that_fails_before_its_first_piece_is_started_again(no_wait: Sleep) -> None:
    with ScriptedModel([StatusError(503), "the answer is four"]) as model:
        chunks = [chunk async for chunk in stream_model(model, QUESTION, timeout=PATIENT, sleep=no_wait)]
    assert "".join(chunk.text for chunk in chunks) == "the answer is four"


async def test_a_stream_that_fails_later_says_no_text_twice(no_wait: Sleep) -> None:
    broken = BrokenStream("the answer is ", StatusError(503))
    with ScriptedModel([broken]) as model:
        stream = stream_model(model, QUESTION, timeout=PATIENT, sleep=no_wait)
        heard: list[str] = []
        with pytest.raises(ModelError, match="broke off") as caught:
            await hear(stream, heard)
    assert "".join(heard) == "the answer is "
    assert caught.value.status == 503


async def test_a_model_that_can_not_stream_yields_its_reply_in_one_piece() -> None:
    chunks = [chunk async for chunk in stream_model(PlainModel(), QUESTION, timeout=PATIENT)]
    assert all(isinstance(chunk, AIMessageChunk) for chunk in chunks)
    total = sum(chunks[1:], chunks[0])
    assert total.text == "four"
    assert [(call["name"], call["args"]) for call in total.tool_calls] == [("add", {"a": 2})]


async def test_a_slow_reader_does_not_use_up_the_models_time(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    now = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now)
    heard: list[str] = []
    async for chunk in stream_model(SlowReaderModel(), QUESTION, timeout=PATIENT):
        heard.append(chunk.text)
        now += 100
    assert "".join(heard) == "one two three"


async def test_leaving_a_stream_early_closes_the_models_own() -> None:
    model = SlowReaderModel()
    stream = stream_model(model, QUESTION, timeout=PATIENT)
    assert (await anext(stream)).text == "one "
    await stream.aclose()
    assert model.closed


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3) + Usage(1, 20, 30) == Usage(2, 22, 33)
    assert sum([Usage(1, 2, 3)], Usage()) == Usage(1, 2, 3)
