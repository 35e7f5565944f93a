"""The replies to requests with an `Idempotency-Key`, kept for a day, so that a repetition gets the first one.

They are beside the conversations, because all servers share that database. That a change takes effect once
does not depend on them: the memory knows it by its op id.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from ace_graph.errors import RequestRefused
from ace_graph.server.clock import Clock
from ace_graph.server.conversations.database import Database, Execute, Row

__all__ = ["KEPT_FOR", "KeyedRequest", "Replies", "StoredReply"]

KEPT_FOR = timedelta(days=1)
_LOST_AFTER = timedelta(minutes=2)
"""After so long without a reply, the server that had the request has stopped."""


@dataclass(frozen=True)
class KeyedRequest:
    """A learner's key with what it is used up for, and what is asked for under it, without any content."""

    learner_id: str
    key: str
    request: str


@dataclass(frozen=True)
class StoredReply:
    """A reply as it was sent: status, some of the headers, body."""

    status: int
    headers: dict[str, str]
    body: str


class Replies:
    """The replies in one database."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def begin(self, asked: KeyedRequest) -> StoredReply | None:
        """Return the reply to this request; None where it is new, which is noted.

        Raises RequestRefused (409) while the first one is under way, and for the key of another request.
        """
        now = self._clock.now()
        at, lost = now.isoformat(), (now - _LOST_AFTER).isoformat()

        async def note(execute: Execute) -> list[Row]:
            await execute("DELETE FROM ace_replies WHERE at < ?", ((now - KEPT_FOR).isoformat(),))
            return await execute(
                "INSERT INTO ace_replies (learner_id, idempotency_key, request, at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (learner_id, idempotency_key) DO UPDATE SET at = CASE "
                "WHEN ace_replies.status IS NULL AND ace_replies.request = excluded.request "
                "AND ace_replies.at < ? THEN excluded.at ELSE ace_replies.at END "
                "RETURNING request, at, status, headers_json, body",
                (asked.learner_id, asked.key, asked.request, at, lost),
            )

        ((request, begun, status, headers, body),) = await self._database.transaction(note)
        if request != asked.request:
            raise RequestRefused(409, "key_used", "this Idempotency-Key was used for another request")
        if status is not None:
            kept = cast("dict[str, str]", json.loads(str(headers)))
            return StoredReply(int(str(status)), kept, str(body))
        if begun != at:
            raise RequestRefused(409, "busy", "the same request is under way: wait for it", retry_after=1)
        return None

    async def keep(self, asked: KeyedRequest, reply: StoredReply) -> None:
        """Store the reply, unless the learner was forgotten meanwhile."""
        headers = json.dumps(reply.headers)
        await self._database.execute(
            "UPDATE ace_replies SET status = ?, headers_json = ?, body = ? "
            "WHERE learner_id = ? AND idempotency_key = ? AND request = ?",
            (reply.status, headers, reply.body, asked.learner_id, asked.key, asked.request),
        )

    async def drop(self, asked: KeyedRequest) -> None:
        """Forget a request that was refused, so that it can be made again."""
        await self._database.execute(
            "DELETE FROM ace_replies WHERE learner_id = ? AND idempotency_key = ? AND status IS NULL",
            (asked.learner_id, asked.key),
        )
