"""One turn under way: what it has told so far, for anyone who listens, now or later.

The turn belongs to no request. A client that hangs up only stops listening; one that comes back with the
number of the last event it saw is told what came after.

Does not: run the graph.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from ace_graph.errors import RequestRefused
from ace_graph.server.schemas import ChatReply

__all__ = ["Event", "EventName", "LiveTurn"]

EventName = Literal["start", "mode", "bullets", "token", "result", "error", "done"]


@dataclass(frozen=True)
class Event:
    """One thing that happened, and its number within its turn."""

    number: int
    name: EventName
    data: Mapping[str, object]


class LiveTurn:
    """What one turn tells. It ends with a reply or with a refusal.

    Its events are numbered from `first`, which is another one on each server that works on the turn: what an
    earlier server told is not what this one tells.
    """

    def __init__(self, run_id: str, conversation_id: str, learner_id: str, first: int = 1) -> None:
        self.run_id = run_id
        self.conversation_id = conversation_id
        self.learner_id = learner_id
        self.reply: ChatReply | None = None
        self.refusal: RequestRefused | None = None
        self._first = first
        self._events: list[Event] = []
        self._news = asyncio.Event()
        self._told("start", {"streamId": run_id, "conversationId": conversation_id})

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.reply is not None or self.refusal is not None

    def tell(self, name: EventName, data: Mapping[str, object]) -> None:
        """Tell the listeners something."""
        self._told(name, data)
        self._wake()

    def end(self, reply: ChatReply) -> None:
        """End with the answer: it is stored, whatever happens to this process now."""
        self._told("result", reply.model_dump(mode="json", by_alias=True, exclude_none=True))
        self._told("done", {})
        self.reply = reply
        self._wake()

    def fail(self, refusal: RequestRefused) -> None:
        """End without an answer."""
        self._told("error", {"error": str(refusal), "code": refusal.code, "status": refusal.status})
        self.refusal = refusal
        self._wake()

    async def outcome(self) -> ChatReply:
        """Return the reply once it is there. Raises the refusal."""
        while True:
            if self.refusal is not None:
                raise self.refusal
            if self.reply is not None:
                return self.reply
            await self._news.wait()

    async def follow(self, after: int, ping_seconds: float) -> AsyncGenerator[Event | None]:
        """Yield the events behind number `after`, as they come; None when nothing came for a while.

        All of them for a number that was never told here.
        """
        told = after - self._first + 1
        told = told if 0 <= told <= len(self._events) else 0
        while True:
            news, known = self._news, len(self._events)
            for event in self._events[told:known]:
                yield event
            told = known
            if self.ended and known == len(self._events):
                return
            if not await _heard(news, ping_seconds):
                yield None

    def _told(self, name: EventName, data: Mapping[str, object]) -> None:
        self._events.append(Event(self._first + len(self._events), name, data))

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


async def _heard(news: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await news.wait()
    return news.is_set()
