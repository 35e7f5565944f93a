"""Calls the model and reads its reply while it streams: final answer, scratchpad, citations.

The form of a reply is fixed by prompts/answer.md: `<scratch>`, `<final>`, `<used>`. Only the text inside
`<final>` is shown, piece by piece. A reply without the tags is an answer as a whole; it is shown at its end,
because its beginning may still turn out to be a scratchpad.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, message_chunk_to_message
from langgraph.graph.message import push_message

from ace_graph.models import ChatRunnable, Usage, call_model, finish_problem, joined, stream_model
from ace_graph.models.usage import usage_of
from ace_graph.off_loop import read_text
from ace_graph.runtime import Run, log_text
from ace_graph.state import Memory

__all__ = ["AnswerParser", "ModelReply", "ModelSession", "ParsedAnswer", "parse_answer", "push_text"]


logger = logging.getLogger("ace_graph")

_PAUSE_SECONDS = 0.005
"""A listener has a text after one turn of the event loop; LangGraph's streams need several."""


@dataclass(frozen=True)
class ModelReply:
    """A model's reply: the message, its parts, and what is wrong with it, if anything."""

    message: AIMessage
    parsed: ParsedAnswer
    problem: str | None


def push_text(text: str, answer_id: str, run: Run) -> None:
    """Pass a piece of the final answer to the run's listener, or else to whoever streams the run."""
    if text and run.listener is not None:
        run.listener.write_text(text)
    elif text:
        push_message(AIMessageChunk(content=text, id=answer_id), state_key=None)


class ModelSession:
    """The model calls of one attempt. `usage` grows with every call.

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

    async def call(self, messages: Sequence[BaseMessage], model: ChatRunnable | None = None) -> ModelReply:
        """Call the model without showing anything."""
        message = await call_model(
            model or self.model,
            messages,
            timeout=self._timeout,
            config=self.run.call_config(self._role),
            on_usage=self._count,
        )
        return ModelReply(message, await _taken_apart(message.text), finish_problem(message))

    async def stream_answer(
        self, messages: Sequence[BaseMessage], model: ChatRunnable | None = None
    ) -> ModelReply:
        """Call the model and show the final answer while it streams; a reply with tool calls is not shown."""
        parser, pause = AnswerParser(), _Pause(0.0 if self.run.listener is None else _PAUSE_SECONDS)
        chunks = list[AIMessageChunk]()
        stream = stream_model(
            model or self.model,
            messages,
            timeout=self._timeout,
            config=self.run.call_config(self._role),
        )
        async with aclosing(stream) as pieces:
            async for chunk in pieces:
                chunks.append(chunk)
                self.push_text(parser.feed(chunk.text))
                if self.streamed:
                    await pause.take()
        total = joined(chunks)
        if total is not None:
            self._count(usage_of(total))
        message = _whole(total)
        rest, parsed = await read_text(len(message.text), parser.finish)
        if parser.answering or not message.tool_calls:
            self.push_text(rest)
        return ModelReply(message, parsed, finish_problem(message))

    def push_text(self, text: str) -> None:
        """Show a piece of the final answer, unless it is held back."""
        if text and not self._hold:
            push_text(text, self._answer_id, self.run)
            self.streamed = True

    def log_thought(self, what: str, text: str) -> None:
        """Log a step of the reasoning."""
        logger.info("[ACE Thought] %s: %s", what, log_text(self.run.resources, text))


class _Pause:
    """Lets other tasks run, so that a model that has more at hand does not keep a text from its reader.

    A pause costs more than a piece of text, so it is taken once in `seconds`.
    """

    def __init__(self, seconds: float) -> None:
        self._clock = asyncio.get_running_loop().time
        self._seconds = seconds
        self._next = 0.0

    async def take(self) -> None:
        if self._clock() >= self._next:
            await asyncio.sleep(0)
            self._next = self._clock() + self._seconds


async def _taken_apart(text: str) -> ParsedAnswer:
    parser = AnswerParser()
    parser.feed(text)
    return (await read_text(len(text), parser.finish))[1]


def _whole(total: AIMessageChunk | None) -> AIMessage:
    if total is None:
        return AIMessage(content="")
    message = message_chunk_to_message(total)
    return message if isinstance(message, AIMessage) else AIMessage(content="")


_CLOSE = "</final>"
_OPENING = "<scratch>"
_TAGS = {
    "scratch": re.compile("</scratch>", re.IGNORECASE),
    "before": re.compile("<final>", re.IGNORECASE),
    "inside": re.compile(_CLOSE, re.IGNORECASE),
}
"""What ends each part of a reply."""
_SCRATCH = re.compile(r"<scratch>(.*?)(?:</scratch>|\Z)", re.DOTALL | re.IGNORECASE)
_USED = re.compile(r"<used>(.*?)(?:</used>|\Z)", re.DOTALL | re.IGNORECASE)
_FINAL = re.compile(r"<final>(.*?)(?:</final>|\Z)", re.DOTALL | re.IGNORECASE)
_LABEL = re.compile(r"\A(?:final\s+)?answer\s*:\s*", re.IGNORECASE)


@dataclass(frozen=True)
class ParsedAnswer:
    """A reply taken apart. `used` are the ids as the model wrote them, unchecked."""

    answer: str
    reasoning: str
    used: tuple[str, ...]


class AnswerParser:
    """Feed it the reply's text as it comes; `feed` returns what may be shown now.

    Each piece is read once, with the few characters before it that may begin a tag.
    """

    def __init__(self) -> None:
        self._pieces = list[str]()
        self._state: Literal["opening", "scratch", "before", "inside", "after"] = "opening"
        self._edge = ""
        self._spaces = list[str]()
        self._shown = list[str]()

    @property
    def answering(self) -> bool:
        """Whether the final answer has begun."""
        return self._state in ("inside", "after")

    def feed(self, text: str) -> str:
        """Take the next piece of the reply, return the next piece of the answer (often '')."""
        self._pieces.append(text)
        if self._state == "opening":
            text = self._opened(text)
        if self._state == "scratch" or self._state == "before":
            text = self._look_for_start(text)
        return self._take(text) if self._state == "inside" else ""

    def finish(self) -> tuple[str, ParsedAnswer]:
        """Return what was not shown yet, and the parts of the reply.

        The pieces that were shown, joined, are exactly `answer`.
        """
        parsed = parse_answer("".join(self._pieces))
        if not self.answering:
            return parsed.answer, parsed
        rest = self._visible("", self._edge.rstrip()) if self._state == "inside" else ""
        return rest, ParsedAnswer("".join(self._shown), parsed.reasoning, parsed.used)

    def _opened(self, text: str) -> str:
        """Decide whether the reply begins with a scratchpad; return the text to read next."""
        head = (self._edge + text).lstrip()
        self._edge = ""
        if len(head) >= len(_OPENING):
            self._state = "scratch" if head[: len(_OPENING)].lower() == _OPENING else "before"
            return head
        self._edge = head
        return ""

    def _look_for_start(self, text: str) -> str:
        """Return what follows the tag that opens the answer, if it has come."""
        text = self._edge + text
        if self._state == "scratch":
            closing = _TAGS["scratch"].search(text)
            if closing is None:
                self._edge = text[1 - len("</scratch>") :]
                return ""
            self._state, text = "before", text[closing.start() :]
        opening = _TAGS["before"].search(text)
        if opening is None:
            self._edge = text[1 - len("<final>") :]
            return ""
        self._state, self._edge = "inside", ""
        return text[opening.end() :]

    def _take(self, text: str) -> str:
        text = self._edge + text
        closing = _TAGS["inside"].search(text)
        if closing is not None:
            self._state, self._edge = "after", ""
            return self._visible("", text[: closing.start()].rstrip())
        kept = len(text) - _held_back(text)
        self._edge = text[kept:]
        piece = text[:kept].rstrip()
        return self._visible(text[len(piece) : kept], piece)

    def _visible(self, behind: str, piece: str) -> str:
        """Return `piece` with the spaces that stood before it; those behind it wait for the next piece."""
        if not piece:
            self._spaces.append(behind)
            return ""
        before = "".join(self._spaces) if self._shown else ""
        self._spaces = [behind]
        shown = before + (piece if self._shown else piece.lstrip())
        self._shown.append(shown)
        return shown


def _held_back(text: str) -> int:
    """How many characters at the end may be the beginning of the closing tag."""
    tail = text.lower()
    longest = min(len(tail), len(_CLOSE) - 1)
    return next((n for n in range(longest, 0, -1) if _CLOSE.startswith(tail[-n:])), 0)


def parse_answer(text: str) -> ParsedAnswer:
    """Return the parts of a whole reply.

    "Answer: 5" gives 5; prose that only speaks of an answer stays as it is; nothing gives "".
    """
    reasoning = " ".join(part.strip() for part in _SCRATCH.findall(text))
    used = tuple(
        name.strip("[]") for part in _USED.findall(text) for name in re.split(r"[\s,]+", part) if name
    )
    without_scratch = _SCRATCH.sub("", text) if "</scratch>" in text.lower() else text
    final = _FINAL.search(without_scratch)
    if final:
        return ParsedAnswer(final.group(1).strip(), reasoning, used)
    plain = _USED.sub("", _SCRATCH.sub("", text)).strip()
    return ParsedAnswer(_LABEL.sub("", plain), reasoning, used)
