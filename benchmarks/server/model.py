"""The chat model of all servers: one constant answer at once, and a new lesson whenever it is to reflect.

Where a reflection is to take time, as with a real model, it waits.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from itertools import cycle
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

from ace_graph.agent.models.local import SCHEMA_KEY, ModelCall
from benchmarks.corpus import lessons
from benchmarks.stub import StubModel

__all__ = ["ServedModel"]

_DIFFERENT = 400


class ServedModel(StubModel):
    """Answers at once; reflects in `reflect_seconds` and finds one lesson, another one each time."""

    reflect_seconds: float = 0.0
    _lessons: Iterator[str] = PrivateAttr(default_factory=lambda: cycle(lessons(_DIFFERENT)))

    def reply(self, call: ModelCall) -> AIMessage:
        """Return the constant answer, or to a schema a reflection with one lesson."""
        if call.schema is None:
            return super().reply(call)
        lesson = {"content": next(self._lessons), "section": "strategies"}
        return AIMessage(json.dumps({"key_insight": "", "lessons": [lesson]}))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # LangChain's signature
    ) -> ChatResult:
        await self._reflecting(kwargs)
        return await super()._agenerate(messages, stop, run_manager, **kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # LangChain's signature
    ) -> AsyncIterator[ChatGenerationChunk]:
        # Under a graph that streams, LangChain streams every call, a reflection too.
        await self._reflecting(kwargs)
        async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
            yield chunk

    async def _reflecting(self, kwargs: Mapping[str, object]) -> None:
        if self.reflect_seconds and kwargs.get(SCHEMA_KEY) is not None:
            await asyncio.sleep(self.reflect_seconds)
