"""Requests with an `Idempotency-Key`: every change under /api/playbook... and the like takes one.

The same request under the same key gets the first reply, from any server, for a day: replies are kept beside
the conversations, because all servers share that database. After that, and where a server stopped between the
change and its reply, the op id of the change, which follows from the key, keeps it from being made twice.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, cast

from fastapi import Depends, Header, Request, Response
from fastapi.params import Depends as Dependency
from pydantic.json_schema import SkipJsonSchema

from ace_graph.base.errors import RequestRefused, StoreError
from ace_graph.memory.catalogue import DEFAULT
from ace_graph.server.auth import LEARNER_AUTHOR
from ace_graph.server.conversations.database import SQL, ConversationDatabase, Execute, Row
from ace_graph.server.errors import DescribedRoute
from ace_graph.server.services import Sender, ServicesDep

logger = logging.getLogger("ace_graph")

KEPT_FOR = timedelta(days=1)
_LOST_AFTER = timedelta(minutes=2)
"""After so long without a reply, the server that had the request has stopped."""
_KEPT_HEADERS = ("content-type", "etag", "location")
_SCOPE = "ace_keyed_request"

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]  # Any: Starlette's own


@dataclass(frozen=True)
class _KeyedRequest:
    """A learner's key with what it is used up for, and what is asked for under it, without any content."""

    database: ConversationDatabase
    learner_id: str
    key: str
    request: str
    op_id: str


class _Repeated(Exception):
    """The request was answered before, like this."""

    def __init__(self, reply: Response) -> None:
        super().__init__()
        self.reply = reply


async def _begin(
    request: Request,
    sender: Sender,
    services: ServicesDep,
    idempotency_key: Annotated[
        str | SkipJsonSchema[None],
        Header(
            alias="Idempotency-Key",
            max_length=255,
            description="Makes a repetition safe: the same request under the same key takes effect once.",
        ),
    ] = None,
) -> None:
    """Note a request with a key.

    Raises _Repeated where it was answered, and RequestRefused (409) while the first one is under way, and for
    the key of another request.
    """
    if idempotency_key is None:
        return
    asked = f"{request.method} {request.url.path}?{request.url.query}\n".encode()
    # The beginning of all op ids under a key. An operator's keys are apart.
    whose = [sender.learner, idempotency_key]
    if sender.author != LEARNER_AUTHOR:
        whose.append(sender.author)
    key, what = f"http-{_digest(json.dumps(whose).encode())}", _digest(asked + await request.body())
    # A key is used up for a playbook with all that is asked about it, elsewhere for one path.
    place = str(request.path_params.get("playbook_id", request.url.path))
    if f"{place}/".startswith("/api/playbook/"):
        place = DEFAULT
    database = services.conversations.database
    keyed = _KeyedRequest(database, sender.learner, f"{key} {place}", what, f"{key}-{what}")
    now = services.clock.now()
    at, lost = now.isoformat(), (now - _LOST_AFTER).isoformat()

    async def note(execute: Execute) -> list[Row]:
        await execute("DELETE FROM ace_replies WHERE at < ?", ((now - KEPT_FOR).isoformat(),))
        return await execute(SQL["NOTE_REQUEST"], (keyed.learner_id, keyed.key, keyed.request, at, lost))

    ((noted, begun, status, headers, body),) = await database.transaction(note)
    if noted != keyed.request:
        raise RequestRefused(409, "key_used", "this Idempotency-Key was used for another request")
    if status is not None:
        kept = cast("dict[str, str]", json.loads(str(headers)))
        raise _Repeated(Response(str(body).encode() or None, int(str(status)), kept))
    if begun != at:
        raise RequestRefused(409, "busy", "the same request is under way: wait for it", retry_after=1)
    request.scope[_SCOPE] = keyed


async def _op_id(request: Request) -> str | None:  # FastAPI runs what is not async in a thread
    keyed: _KeyedRequest | None = request.scope.get(_SCOPE)
    return None if keyed is None else keyed.op_id


OpId = Annotated[str | None, Depends(_op_id)]
"""The op id of what a request with a key asks for, as an argument of a route; None without a key."""


class KeyedRoute(DescribedRoute):
    """A route whose changes take an `Idempotency-Key`; pass it to the router as `route_class`.

    What the router depends on, such as the right to read the playbook, is checked before the key.
    """

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],  # Any: FastAPI's own
        *,
        methods: set[str] | list[str] | None = None,
        dependencies: Sequence[Dependency] | None = None,
        **given: Any,  # what APIRoute takes
    ) -> None:
        if methods and "GET" not in methods:
            dependencies = [*(dependencies or ()), Depends(_begin)]
        super().__init__(path, endpoint, methods=methods, dependencies=dependencies, **given)

    def get_route_handler(self) -> _Handler:
        """Return FastAPI's handler, which keeps the reply to a request with a key, or sends the one kept."""
        handle = super().get_route_handler()

        async def handle_once(request: Request) -> Response:
            try:
                response = await handle(request)
            except _Repeated as repeated:
                return repeated.reply
            except BaseException:
                await _end(request, None)
                raise
            await _end(request, response)
            return response

        return handle_once


async def _end(request: Request, response: Response | None) -> None:
    """Keep the reply to a request that was carried out; one that was refused can be made again.

    Where the learner was forgotten meanwhile, nothing is kept.
    """
    keyed: _KeyedRequest | None = request.scope.get(_SCOPE)
    if keyed is None:
        return
    try:
        if response is None:
            await keyed.database.execute(SQL["DROP_REQUEST"], (keyed.learner_id, keyed.key))
            return
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        body = bytes(response.body).decode()
        await keyed.database.execute(
            SQL["KEEP_REPLY"],
            (response.status_code, json.dumps(headers), body, keyed.learner_id, keyed.key, keyed.request),
        )
    except StoreError as error:  # the change is made: a repetition is known by its op id
        logger.warning("[ACE Server] a reply could not be kept: %s", type(error).__name__)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:40]
