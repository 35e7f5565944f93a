"""Calls the model and reads its reply while it streams: final answer, scratchpad, citations.

prompts/answer.md asks for `<scratch>`, `<final>`, `<used>`: then what is inside `<final>` is shown, piece by
piece. Text outside of all tags is an answer as well, and is shown as it comes; while tools may still be
called it waits, because it may be what the model says before a call. Scratchpads (`<think>`, too) are never
shown.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, TypeAlias

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, message_chunk_to_message
from langgraph.config import get_config
from langgraph.graph.message import push_message

from ace_graph.agent.context import TurnListener
from ace_graph.agent.models import ChatRunnable, Usage, call_model, finish_problem, joined, stream_model
from ace_graph.agent.models.call import usage_of
from ace_graph.agent.runtime import Run, log_text
from ace_graph.agent.state import Memory
from ace_graph.base.off_loop import run_off_loop

logger = logging.getLogger("ace_graph")
_PAUSE_SECONDS = 0.005
"""A listener has a text after one turn of the event loop; LangGraph's streams need several."""


@dataclass(frozen=True)
class ModelReply:
    """A model's reply: the message, its parts, and what is wrong with it, if anything."""

    message: AIMessage
    parsed: ParsedAnswer
    problem: str | None


def push_text(text: str, answer_id: str, listener: TurnListener | None) -> None:
    """Pass a piece of the final answer to the run's listener, or else to whoever streams the run."""
    if text and listener is not None:
        listener.write_text(text)
    elif text:
        push_message(AIMessageChunk(content=text, id=answer_id), state_key=None)


def is_streamed() -> bool:
    """Whether somebody may stream the run that is executing: LangGraph streams messages by a callback."""
    callbacks = get_config().get("callbacks")
    return bool(callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks)


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
        self._listener = run.listener
        self._watched = not hold and (run.listener is not None or is_streamed())

    def _count(self, usage: Usage) -> None:
        self.usage += usage

    async def call(self, messages: Sequence[BaseMessage], model: ChatRunnable | None = None) -> ModelReply:
        """Call the model without showing anything."""
        message = await self._message(messages, model)
        parsed = await run_off_loop(len(message.text), parse_answer, message.text)
        return ModelReply(message, parsed, finish_problem(message))

    async def _message(self, messages: Sequence[BaseMessage], model: ChatRunnable | None) -> AIMessage:
        return await call_model(
            model or self.model,
            messages,
            timeout=self._timeout,
            config=self.run.call_config(self._role),
            on_usage=self._count,
        )

    async def stream_answer(
        self, messages: Sequence[BaseMessage], model: ChatRunnable | None = None, *, may_call: bool = False
    ) -> ModelReply:
        """Call the model and show the final answer while it streams.

        Where the model may call tools, text outside of `<final>` waits for the end of the reply, and is not
        shown if it calls one. Where nobody watches, the reply comes as a whole.
        """
        parser = AnswerParser(plain=not may_call)
        if self._watched:
            message = await self._streamed(parser, messages, model or self.model)
        else:
            message = await self._message(messages, model)
            self.push_text(await run_off_loop(len(message.text), parser.feed, message.text))
        answering = parser.answering
        rest, parsed = await run_off_loop(len(message.text), parser.finish)
        if answering or not message.tool_calls:
            self.push_text(rest)
        return ModelReply(message, parsed, finish_problem(message))

    async def _streamed(
        self, parser: AnswerParser, messages: Sequence[BaseMessage], model: ChatRunnable
    ) -> AIMessage:
        """Return the reply, whose answer was shown as it came."""
        pause = _Pause(0.0 if self._listener is None else _PAUSE_SECONDS)
        chunks, began = list[AIMessageChunk](), time.monotonic()
        config = self.run.call_config(self._role)
        async with aclosing(stream_model(model, messages, timeout=self._timeout, config=config)) as pieces:
            async for chunk in pieces:
                chunks.append(chunk)
                self.push_text(parser.feed(chunk.text))
                if self.streamed:
                    await pause.take()
        total = joined(chunks)
        if total is None:
            return AIMessage(content="")
        self._count(usage_of(total, began))
        whole = message_chunk_to_message(total)
        return whole if isinstance(whole, AIMessage) else AIMessage(content="")

    def push_text(self, text: str) -> None:
        """Show a piece of the final answer, unless it is held back."""
        if text and not self._hold:
            self.streamed = True
            if self._watched:
                push_text(text, self._answer_id, self._listener)

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


_State: TypeAlias = Literal["plain", "scratch", "used", "final", "after"]
_NAMES = {"scratch": "scratch", "think": "scratch", "thinking": "scratch", "used": "used", "final": "final"}
_TAG = re.compile(r"<(/?)(scratch|think|thinking|used|final)>", re.IGNORECASE)
_TAGS: dict[_State, re.Pattern[str]] = {
    "plain": _TAG,
    "after": _TAG,
    "scratch": re.compile(r"<(/)(scratch|think|thinking)>", re.IGNORECASE),
    "used": re.compile(r"<(/)(used)>", re.IGNORECASE),
    "final": re.compile(r"<(/)(final)>", re.IGNORECASE),
}
"""What ends each part of a reply."""
_FINAL = "<final>"
_WRITTEN = tuple(f"<{slash}{name}>" for slash in ("", "/") for name in _NAMES)
_LONGEST_TAG = max(map(len, _WRITTEN))
_LABEL = re.compile(r"\A(?:final\s+)?answer\s*:\s*", re.IGNORECASE)
_LABELS = ("answer:", "finalanswer:")
_LABEL_CHARS = 40


@dataclass(frozen=True)
class ParsedAnswer:
    """A reply taken apart. `used` are the ids as the model wrote them, unchecked."""

    answer: str
    reasoning: str
    used: tuple[str, ...]


class AnswerParser:
    """Feed it the reply's text as it comes; `feed` returns what may be shown now.

    Without `plain`, text outside of all tags waits for the end, and is dropped where a `<final>` follows it.
    Each piece is read once, with the few characters before it that may begin a tag.
    """

    def __init__(self, *, plain: bool = True) -> None:
        self._plain = plain
        self._state: _State = "plain"
        self._edge = ""
        self._waiting = list[str]()
        self._label: str | None = ""
        self._spaces = list[str]()
        self._shown = list[str]()
        self._before: _State = "plain"
        self._scratch = list[list[str]]()
        self._used = list[list[str]]()

    @property
    def answering(self) -> bool:
        """Whether the final answer has begun."""
        return bool(self._shown) or self._state in ("final", "after")

    def feed(self, text: str) -> str:
        """Take the next piece of the reply, return the next piece of the answer (often '')."""
        text, begin = self._edge + text, 0
        shown = list[str]()
        while (tag := _TAGS[self._state].search(text, begin)) is not None:
            shown.append(self._take(text[begin : tag.start()]))
            shown.append(self._enter(closing=tag[1] == "/", name=_NAMES[tag[2].lower()]))
            begin = tag.end()
        # The last characters may be the beginning of a tag
        tail = text[begin:][-_LONGEST_TAG:].lower()
        edge = tail[tail.rfind("<") :] if "<" in tail else ""
        kept = len(text) - (len(edge) if edge and any(tag.startswith(edge) for tag in _WRITTEN) else 0)
        self._edge = text[kept:]
        shown.append(self._take(text[begin:kept]))
        return "".join(shown)

    def finish(self) -> tuple[str, ParsedAnswer]:
        """Return what was not shown yet, and the parts of the reply.

        The pieces that were shown, joined, are exactly `answer`.
        """
        rest = self._take(self._edge.rstrip())
        if self._state == "scratch":
            # The scratchpad was never closed: the answer may stand in it.
            inside, final, answer = "".join(self._scratch[-1]).partition(_FINAL)
            if final:
                self._scratch[-1], self._state, self._edge = [inside], self._before, ""
                rest += self.feed(final + answer) + self._take(self._edge.rstrip())
        if not self.answering:
            rest += self._visible_plain("".join(self._waiting))
        rest += self._end_label()
        written = (name for part in self._used for name in re.split(r"[\s,]+", "".join(part)))
        used = tuple(name.strip("[]") for name in written if name)
        reasoning = " ".join("".join(part).strip() for part in self._scratch)
        return rest, ParsedAnswer("".join(self._shown), reasoning, used)

    def _enter(self, *, closing: bool, name: str) -> str:
        """Take a tag; return what its coming lets be shown. One that closes nothing is left out."""
        if not closing and name == "final" and self._state == "plain":
            self._state = "final"
            return self._end_label()
        if closing and self._state == "final":
            self._state = "after"
        elif closing and self._state in ("scratch", "used"):
            self._state = self._before
        elif not closing and name != "final":
            self._before = self._state
            self._state = "scratch" if name == "scratch" else "used"
            (self._scratch if name == "scratch" else self._used).append([])
        return ""

    def _take(self, text: str) -> str:
        """Take a text in which no tag is; return what of it may be shown."""
        if self._state == "final":
            return self._visible(text)
        if self._state == "plain" and self._plain:
            return self._visible_plain(text)
        if self._state == "plain":
            self._waiting.append(text)
        elif self._state != "after":
            (self._scratch if self._state == "scratch" else self._used)[-1].append(text)
        return ""

    def _visible_plain(self, text: str) -> str:
        """Return what of a plain text may be shown, without the label that it begins with."""
        if self._label is None:
            return self._visible(text)
        self._label = (self._label + text).lstrip()
        begun = "".join(self._label[:_LABEL_CHARS].lower().split())
        if len(self._label) < _LABEL_CHARS and any(each.startswith(begun) for each in _LABELS):
            return ""
        return self._end_label()

    def _end_label(self) -> str:
        """Return the beginning of a plain text that waited for a whole label."""
        begun, self._label = self._label or "", None
        return self._visible(_LABEL.sub("", begun))

    def _visible(self, text: str) -> str:
        """Return `text` with the spaces that stood before it; those behind it wait for the next piece."""
        piece = text.rstrip()
        if not piece:
            self._spaces.append(text)
            return ""
        before = "".join(self._spaces) if self._shown else ""
        self._spaces = [text[len(piece) :]]
        shown = before + (piece if self._shown else piece.lstrip())
        self._shown.append(shown)
        return shown


def parse_answer(text: str) -> ParsedAnswer:
    """Return the parts of a whole reply.

    "Answer: 5" gives 5; prose that only speaks of an answer stays as it is; nothing gives "".
    """
    parser = AnswerParser(plain=False)
    parser.feed(text)
    return parser.finish()[1]
