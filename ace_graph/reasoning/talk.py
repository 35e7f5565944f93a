"""The solver's line to the model and to the user: asks, streams, counts, and shows only the answer.

Does not: decide what to ask.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, message_chunk_to_message
from langgraph.graph.message import push_message

from ace_graph.models import ChatRunnable, Usage, call_model, finish_problem, joined, stream_model
from ace_graph.off_loop import read_text
from ace_graph.reasoning.answer import AnswerParser, Parsed
from ace_graph.run import Run, log_text
from ace_graph.state import Memory

__all__ = ["Reply", "Talk", "show"]

logger = logging.getLogger("ace_graph")


@dataclass(frozen=True)
class Reply:
    """A model's reply: the message, its parts, and what is wrong with it, if anything."""

    message: AIMessage
    parsed: Parsed
    problem: str | None


def show(text: str, answer_id: str) -> None:
    """Push a piece of the final answer to whoever streams this run."""
    if text:
        push_message(AIMessageChunk(content=text, id=answer_id), state_key=None)


class Talk:
    """One attempt's conversation with the model. `usage` grows with every call.

    With `hold` nothing is shown: the critic shows the answer once it is accepted. `role` is who the calls
    are made and counted for.
    """

    def __init__(
        self,
        run: Run,
        model: BaseChatModel,
        answer_id: str,
        memory: Memory,
        *,
        hold: bool,
        role: str = "solver",
    ) -> None:
        self.run = run
        self.memory = memory
        self.model = model
        self.usage = Usage()
        self.streamed = False
        self._answer_id = answer_id
        self._hold = hold
        self._role = role
        self._timeout = run.resources.settings.llm_timeout

    def _count(self, usage: Usage) -> None:
        self.usage += usage

    async def ask(self, messages: Sequence[BaseMessage], model: ChatRunnable | None = None) -> Reply:
        """Ask without showing anything."""
        message = await call_model(
            model or self.model,
            messages,
            timeout=self._timeout,
            config=self.run.call_config(self._role),
            on_usage=self._count,
        )
        return Reply(message, await _taken_apart(message.text), finish_problem(message))

    async def answer(self, messages: Sequence[BaseMessage], model: ChatRunnable | None = None) -> Reply:
        """Ask, and show the final answer's text while it comes. A reply that calls tools shows nothing."""
        parser = AnswerParser()
        chunks = list[AIMessageChunk]()
        stream = stream_model(
            model or self.model,
            messages,
            timeout=self._timeout,
            config=self.run.call_config(self._role),
            on_usage=self._count,
        )
        async with aclosing(stream) as pieces:
            async for chunk in pieces:
                chunks.append(chunk)
                self.show(parser.feed(chunk.text))
                if self.streamed:
                    await asyncio.sleep(0)  # a model that has more at hand must not keep this from the reader
        message = _whole(joined(chunks))
        rest, parsed = await read_text(len(message.text), parser.finish)
        if parser.answering or not message.tool_calls:
            self.show(rest)
        return Reply(message, parsed, finish_problem(message))

    def show(self, text: str) -> None:
        """Show a piece of the final answer, unless it is held back."""
        if text and not self._hold:
            show(text, self._answer_id)
            self.streamed = True

    def think(self, what: str, text: str) -> None:
        """Log a step of the reasoning."""
        logger.info("[ACE Thought] %s: %s", what, log_text(self.run.resources, text))


async def _taken_apart(text: str) -> Parsed:
    parser = AnswerParser()
    parser.feed(text)
    return (await read_text(len(text), parser.finish))[1]


def _whole(total: AIMessageChunk | None) -> AIMessage:
    if total is None:
        return AIMessage(content="")
    message = message_chunk_to_message(total)
    return message if isinstance(message, AIMessage) else AIMessage(content="")
