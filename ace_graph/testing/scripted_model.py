"""A chat model with a script of replies; it fails the test when the calls differ from the script.

    model = ScriptedModel(["first reply", RuntimeError("the provider is down")])
    with ScriptedModel(solver=["<final>5</final>"], reflector=['{"lessons": []}']) as model: ...

A call without a reply left raises `UnexpectedModelCall`; a reply that no call took fails `assert_done()`,
which the `with` block calls. The role of a call is in its config: `config={"metadata": {"ace_role":
"solver"}}`. It never waits and never uses the network.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import PrivateAttr

from ace_graph.agent.models.local import LocalModel, ModelCall


@dataclass(frozen=True, slots=True)
class BrokenStream:
    """A reply that streams `text` and then raises `error`; without streaming it only raises."""

    text: str
    error: Exception


Reply = str | AIMessage | Exception | BrokenStream | Callable[[list[BaseMessage]], str | AIMessage]
"""A text, a message, an error to raise, a stream that breaks, or a function of the messages."""


class UnexpectedModelCall(AssertionError):
    """The model was called although the script has no reply left for that role."""


class _Script:
    """The replies that are left and the calls that came, behind one lock."""

    def __init__(self, replies: dict[str | None, deque[Reply]]) -> None:
        self._lock = threading.Lock()
        self._replies = replies
        self._calls: list[ModelCall] = []
        self._unexpected: list[str] = []

    def take(self, call: ModelCall) -> Reply:
        with self._lock:
            self._calls.append(call)
            queue = self._replies.get(call.role, self._replies[None])
            if queue:
                return queue.popleft()
            name = call.role or "no role"
            self._unexpected.append(name)
        last = call.messages[-1].text[:200] if call.messages else ""
        raise UnexpectedModelCall(f"no reply is left for a call of {name}; its last message: {last!r}")

    def calls(self) -> list[ModelCall]:
        with self._lock:
            return list(self._calls)

    def problem(self) -> str | None:
        with self._lock:
            left = {role or "any role": len(queue) for role, queue in self._replies.items() if queue}
            if self._unexpected:
                return f"the model was called without a reply left by: {', '.join(self._unexpected)}"
            return f"nobody asked for these replies: {left}" if left else None


class ScriptedModel(LocalModel):
    """A `BaseChatModel` with scripted replies, in order, per role or for any caller.

    Usable from several threads and event loops at once. A reply to a schema is its JSON text. Tokens are
    counted as words. `chunk_size` is how many characters a streamed piece has, few by default, so that
    tags are torn apart.
    """

    _chunk_size: int = PrivateAttr()
    _script: _Script = PrivateAttr()

    def __init__(
        self, replies: Sequence[Reply] = (), *, chunk_size: int = 7, **roles: Sequence[Reply]
    ) -> None:
        """Take one list per role, and `replies` for calls of every other role or of none."""
        super().__init__()
        self._chunk_size = chunk_size
        self._script = _Script({None: deque(replies), **{role: deque(own) for role, own in roles.items()}})

    @property
    def calls(self) -> list[ModelCall]:
        """Every call so far, oldest first, the unexpected ones included."""
        return self._script.calls()

    def calls_of(self, role: str) -> list[ModelCall]:
        """The calls made for `role`, oldest first."""
        return [call for call in self.calls if call.role == role]

    def assert_done(self) -> None:
        """Raise AssertionError when replies are left, or when a call came for which there was none."""
        problem = self._script.problem()
        if problem is not None:
            raise AssertionError(problem)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.assert_done()

    def reply(self, call: ModelCall) -> AIMessage:
        """Return the next scripted reply, or raise it."""
        return _resolved(self._script.take(call), call)

    def pieces(self, text: str) -> list[str]:
        """Return `text` in pieces of `chunk_size` characters."""
        return [text[start : start + self._chunk_size] for start in range(0, len(text), self._chunk_size)]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _chunks(self, call: ModelCall) -> Iterator[ChatGenerationChunk]:
        taken = self._script.take(call)
        if isinstance(taken, BrokenStream):
            for piece in self.pieces(taken.text):
                yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
            raise taken.error
        yield from self.chunks_of(_resolved(taken, call), call)


def _resolved(reply: Reply, call: ModelCall) -> AIMessage:
    if isinstance(reply, BrokenStream):
        raise reply.error
    if isinstance(reply, Exception):
        raise reply
    if callable(reply):
        reply = reply(list(call.messages))
    return AIMessage(reply) if isinstance(reply, str) else reply
