"""A chat model of one's own that knows none of our forms: its words stream, and its prose teaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.outputs.chat_generation import merge_chat_generation_chunks
from pydantic import Field

from ace_graph import ACEContext
from tests.graph.conftest import Build, CountingStore, ask

ADA = ACEContext(learner_id="ada", reflect_when="always")
ANSWER = "The least common multiple of 4 and 6 is 12."
LESSON = "Compare the lists of multiples from the smallest on"


class Prose(BaseChatModel):
    """Answers in plain words, whatever form it is asked for; `lines` where lines are wanted."""

    lines: str = f"Some lessons:\n- {LESSON}\n"
    asked: list[str] = Field(default_factory=list[str])

    @property
    def _llm_type(self) -> str:
        return "prose"

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # Any: as in BaseChatModel
    ) -> Iterator[ChatGenerationChunk]:
        self.asked.append(messages[-1].text)
        reply = self.lines if "one line for each lesson" in messages[-1].text else ANSWER
        for n, word in enumerate(reply.split(" ")):
            yield ChatGenerationChunk(message=AIMessageChunk(content=word if n == 0 else f" {word}"))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # Any: as in BaseChatModel
    ) -> ChatResult:
        whole = merge_chat_generation_chunks(list(self._stream(messages, stop, run_manager, **kwargs)))
        assert whole is not None
        return ChatResult(generations=[ChatGeneration(message=whole.message)])


@pytest.mark.parametrize("mode", ["cot", "tot"])
async def test_its_words_stream_as_they_come(build: Build, mode: str) -> None:
    context = ADA.model_copy(update={"reflect_when": "never"})
    events = build(Prose()).astream(ask("LCM of 4 and 6?", mode), context=context, stream_mode="messages")
    pieces = [cast("tuple[AIMessageChunk, object]", event)[0].text async for event in events]
    assert pieces[0] == "The"
    assert "".join(pieces) == ANSWER


async def test_its_prose_teaches_and_it_is_asked_for_json_once(
    build: Build, store: CountingStore, caplog: pytest.LogCaptureFixture
) -> None:
    model = Prose()
    graph = build(model)
    first = await graph.ainvoke(ask("LCM of 4 and 6?"), context=ADA)
    assert first["learning"]["error"] is None
    assert [bullet.content for bullet in (await store.now("ada")).playbook.bullets()] == [LESSON]
    assert first["usage"]["reflector"]["calls"] == 2
    second = await graph.ainvoke(ask("LCM of 6 and 8?"), context=ADA)
    assert second["learning"]["error"] is None
    assert second["usage"]["reflector"]["calls"] == 1
    assert caplog.text.count("writes no JSON") == 1
    assert sum("JSON schema" in text for text in model.asked) == 1


async def test_prose_without_lines_teaches_nothing_and_is_no_error(
    build: Build, store: CountingStore
) -> None:
    out = await build(Prose(lines="none")).ainvoke(ask("LCM of 4 and 6?"), context=ADA)
    assert out["learning"]["error"] is None
    assert (await store.now("ada")).playbook.bullets() == ()
