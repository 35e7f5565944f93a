"""The events of one turn, kept so that any number of clients can listen, now or later.

The turn does not belong to a request: a client that hangs up only stops listening, and one that comes back
with the number of its last event gets the events after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from ace_graph.errors import RequestRefused
from ace_graph.server.schemas import ChatReply

EventName = Literal["start", "mode", "bullets", "token", "result", "error", "done"]


@dataclass(frozen=True)
class Event:
    """One event, and its number within its turn."""

    number: int
    name: EventName
    data: Mapping[str, object]


class LiveTurn:
    """The events of a turn, which ends with a reply or with an error.

    Events are numbered from `first_number`. A server that continues a turn numbers above all numbers of the
    server before it, because its events differ. A turn of a temporary chat has no conversation.
    """

    def __init__(
        self, run_id: str, conversation_id: str | None, learner_id: str, first_number: int = 1
    ) -> None:
        self.run_id = run_id
        self.conversation_id = conversation_id
        self.learner_id = learner_id
        self.reply: ChatReply | None = None
        self.error: RequestRefused | None = None
        self._first_number = first_number
        self._events: list[Event] = []
        self._changed = asyncio.Event()
        self._end = asyncio.Event()
        conversation = {} if conversation_id is None else {"conversationId": conversation_id}
        self._append("start", {"streamId": run_id, **conversation})

    @property
    def ended(self) -> bool:
        """Whether no more events will come."""
        return self.reply is not None or self.error is not None

    def publish(self, name: EventName, data: Mapping[str, object]) -> None:
        """Add an event and wake the listeners."""
        self._append(name, data)
        self._notify()

    def complete(self, reply: ChatReply) -> None:
        """End with the reply: by now everything is stored."""
        self._append("result", reply.model_dump(mode="json", by_alias=True, exclude_none=True))
        self._append("done", {})
        self.reply = reply
        self._end.set()
        self._notify()

    def fail(self, error: RequestRefused) -> None:
        """End without a reply."""
        self._append("error", {"error": str(error), "code": error.code, "status": error.status})
        self.error = error
        self._end.set()
        self._notify()

    async def outcome(self) -> ChatReply:
        """Wait for the end and return the reply. Raises the error of a turn that failed."""
        await self._end.wait()
        if self.reply is None:
            raise self.error or RuntimeError("a turn ends with a reply or with an error")
        return self.reply

    async def follow(self, after: int, ping_seconds: float) -> AsyncGenerator[Event | None]:
        """Yield the events after number `after` as they come; None when none came for `ping_seconds`.

        Yields all events if there is no event with that number here.
        """
        sent = after - self._first_number + 1
        sent = sent if 0 <= sent <= len(self._events) else 0
        while True:
            changed, known = self._changed, len(self._events)
            for event in self._events[sent:known]:
                yield event
            sent = known
            if self.ended and known == len(self._events):
                return
            if not await _is_set_within(changed, ping_seconds):
                yield None

    def _append(self, name: EventName, data: Mapping[str, object]) -> None:
        self._events.append(Event(self._first_number + len(self._events), name, data))

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
