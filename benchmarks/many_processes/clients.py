"""Learners who tell a fact in every message, to whichever server answers, and go on when one is killed.

Every attempt has a fact of its own, so that what became of it can be seen afterwards in the memory and in the
conversation. Every second learner listens to a stream, whose first event says that the turn is accepted.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import httpx
import jwt

__all__ = ["CONVERSATION", "Clients", "Ending", "Message", "Told"]

CONVERSATION = "lesson"
_OK = 200
_DAY = 24 * 3600
_PATIENCE = 0.2
_OTHERS_TURN = frozenset({"lost", "given_up", "later"})
"""Codes of turns that were accepted and that this server did not finish."""

Ending = Literal["answered", "accepted", "unknown"]
"""answered: the reply came. accepted: the stream began and broke off. unknown: it broke before that."""


@dataclass(frozen=True)
class Message:
    """A message that may have been accepted; `stream_id` where a stream said so."""

    fact: str
    ending: Ending
    stream_id: str = ""

    @property
    def text(self) -> str:
        """What was sent."""
        return f"Remember that {self.fact}."

    @property
    def lesson(self) -> str:
        """What the memory holds when it was learned from."""
        return f"Learner says: {self.fact}"


@dataclass
class Told:
    """What all learners told, how long the answers took, and how often a server refused."""

    messages: dict[str, list[Message]] = field(default_factory=dict[str, list[Message]])
    answer_ms: list[float] = field(default_factory=list[float])
    refused: Counter[str] = field(default_factory=Counter[str])

    def count(self, ending: Ending) -> int:
        """Return how many messages ended so."""
        return sum(each.ending == ending for some in self.messages.values() for each in some)


class _Refused(Exception):
    """The message was not accepted; the same one can be sent again after so many seconds."""

    def __init__(self, why: str, seconds: float) -> None:
        super().__init__(why)
        self.seconds = seconds


class Clients:
    """All clients of the servers at `urls`."""

    def __init__(self, http: httpx.AsyncClient, urls: Sequence[str], secret: str) -> None:
        self.told = Told()
        self.urls = urls
        self._http = http
        self.urls = urls
        self._secret = secret
        self._next = 0

    def headers(self, learner: str) -> dict[str, str]:
        """Return a learner's headers."""
        claims = {"sub": learner, "exp": int(time.time()) + _DAY}
        return {"Authorization": f"Bearer {jwt.encode(claims, self._secret, algorithm='HS256')}"}

    async def lesson(self, learner: str, turns: int, *, streaming: bool) -> None:
        """Tell a fact after the other in one conversation, until so many were answered."""
        headers, answered, sent = self.headers(learner), 0, 0
        messages = self.told.messages[learner] = list[Message]()
        while answered < turns:
            fact, sent = f"my word {sent} is {secrets.token_hex(6)}", sent + 1
            began = time.perf_counter()
            message = await self._tell(fact, headers, streaming=streaming)
            messages.append(message)
            if message.ending == "answered":
                answered += 1
                self.told.answer_ms.append((time.perf_counter() - began) * 1000)

    async def _tell(self, fact: str, headers: Mapping[str, str], *, streaming: bool) -> Message:
        """Send until a server took it, or may have taken it."""
        while True:
            self._next += 1
            url = self.urls[self._next % len(self.urls)]
            try:
                return await (self._listen if streaming else self._ask)(url, fact, headers)
            except httpx.ConnectError:  # it is not up: nothing was sent
                await asyncio.sleep(_PATIENCE)
            except _Refused as why:
                self.told.refused[str(why)] += 1
                await asyncio.sleep(why.seconds)
            except httpx.TransportError:
                return Message(fact, "unknown")

    async def _ask(self, url: str, fact: str, headers: Mapping[str, str]) -> Message:
        body = _body(fact)
        reply = await self._http.post(f"{url}/api/ai/chat", json=body, headers=headers)
        if reply.status_code == _OK:
            return Message(fact, "answered")
        return self._not_answered(fact, reply.status_code, reply.json(), reply.headers)

    async def _listen(self, url: str, fact: str, headers: Mapping[str, str]) -> Message:
        stream_id, event = "", ""
        path = f"{url}/api/ai/chat/stream"
        try:
            async with self._http.stream("POST", path, json=_body(fact), headers=headers) as reply:
                if reply.status_code != _OK:
                    await reply.aread()
                    return self._not_answered(fact, reply.status_code, reply.json(), reply.headers)
                async for line in reply.aiter_lines():
                    name, _, value = line.partition(": ")
                    event = value if name == "event" else event
                    if name == "data" and event == "start":
                        stream_id = str(json.loads(value)["streamId"])
                    if name == "data" and event == "error":
                        self.told.refused[f"error in a stream: {json.loads(value)['code']}"] += 1
                    if event == "done":
                        return Message(fact, "answered", stream_id)
        except httpx.TransportError:
            if not stream_id:
                raise
        return Message(fact, "accepted", stream_id)

    def _not_answered(
        self, fact: str, status: int, said: Mapping[str, object], headers: Mapping[str, str]
    ) -> Message:
        """Raises _Refused for a message that was not accepted."""
        code = str(said.get("code"))
        if code in _OTHERS_TURN:
            self.told.refused[f"{status} {code}"] += 1
            return Message(fact, "accepted")
        if "retry-after" in headers:
            raise _Refused(f"{status} {code}", float(headers["retry-after"]))
        self.told.refused[f"{status} {code}"] += 1
        return Message(fact, "unknown")


def _body(fact: str) -> dict[str, str]:
    return {"message": Message(fact, "unknown").text, "conversationId": CONVERSATION}
