"""Requests with an `Idempotency-Key`: every change under /api/playbook... and the like takes one.

The same request under the same key gets the first reply, from any server, for a day. After that, and where a
server stopped between the change and its reply, the op id of the change keeps it from being made twice.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from fastapi.params import Depends as Dependency
from fastapi.routing import APIRoute
from pydantic.json_schema import SkipJsonSchema

from ace_graph.errors import StoreError
from ace_graph.memory.catalogue.name import DEFAULT
from ace_graph.server.auth import LEARNER_AUTHOR
from ace_graph.server.conversations.replies import KeyedRequest, Replies, StoredReply
from ace_graph.server.dependencies import Sender, ServicesDep
from ace_graph.server.errors import error_responses

__all__ = ["IdempotencyKey", "KeyedRoute", "key_of", "op_id_of", "request_id_of"]

logger = logging.getLogger("ace_graph")

IdempotencyKey = Annotated[
    str | SkipJsonSchema[None],
    Header(
        alias="Idempotency-Key",
        max_length=255,
        description="Makes a repetition safe: the same request under the same key takes effect once.",
    ),
]
_KEPT_HEADERS = ("content-type", "etag", "location")
_SCOPE = "ace_keyed_request"

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]  # Any: Starlette's own


class _Repeated(Exception):
    """The request was answered before, like this."""

    def __init__(self, reply: StoredReply) -> None:
        super().__init__()
        self.reply = reply


async def _begin(
    request: Request, sender: Sender, services: ServicesDep, idempotency_key: IdempotencyKey = None
) -> None:
    """Note a request with a key. Raises _Repeated, and RequestRefused for the key of another request."""
    key = key_of(idempotency_key, sender.learner, sender.author)
    if key is None:
        return
    replies = Replies(services.conversations.database, services.clock)
    asked = KeyedRequest(sender.learner, f"{key} {_what(request)}", await request_id_of(request))
    if (reply := await replies.begin(asked)) is not None:
        raise _Repeated(reply)
    request.scope[_SCOPE] = (replies, asked)


class KeyedRoute(APIRoute):
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
        responses: dict[int | str, dict[str, Any]] | None = None,
        **given: Any,  # what APIRoute takes
    ) -> None:
        if methods and "GET" not in methods:
            dependencies = [*(dependencies or ()), Depends(_begin)]
            responses = {**error_responses(409), **(responses or {})}
        super().__init__(
            path, endpoint, methods=methods, dependencies=dependencies, responses=responses, **given
        )

    def get_route_handler(self) -> _Handler:
        """Return FastAPI's handler, which keeps the reply to a request with a key, or sends the one kept."""
        handle = super().get_route_handler()

        async def handle_once(request: Request) -> Response:
            try:
                response = await handle(request)
            except _Repeated as repeated:
                return _again(repeated.reply)
            except BaseException:
                await _end(request, None)
                raise
            await _end(request, response)
            return response

        return handle_once


def key_of(idempotency_key: str | None, learner: str, author: str = LEARNER_AUTHOR) -> str | None:
    """Return the beginning of all op ids under this key, None without one. An operator's keys are apart."""
    if idempotency_key is None:
        return None
    whose = [learner, idempotency_key] if author == LEARNER_AUTHOR else [learner, idempotency_key, author]
    return f"http-{_digest(json.dumps(whose).encode())}"


async def request_id_of(request: Request) -> str:
    """Return what is the same for the same method, path and body."""
    asked = f"{request.method} {request.url.path}?{request.url.query}\n".encode()
    return _digest(asked + await request.body())


async def op_id_of(request: Request, idempotency_key: str | None, learner: str) -> str | None:
    """Return the op id of what a learner's request asks for under its key, None without one."""
    key = key_of(idempotency_key, learner)
    return None if key is None else f"{key}-{await request_id_of(request)}"


def _what(request: Request) -> str:
    """What a key is used up for: a playbook with all that is asked about it, elsewhere one path."""
    path, playbook_id = request.url.path, request.path_params.get("playbook_id")
    if playbook_id is None and f"{path}/".startswith("/api/playbook/"):
        return DEFAULT
    return path if playbook_id is None else str(playbook_id)


async def _end(request: Request, response: Response | None) -> None:
    """Keep the reply to a request that was carried out; one that was refused can be made again."""
    noted: tuple[Replies, KeyedRequest] | None = request.scope.get(_SCOPE)
    if noted is None:
        return
    replies, asked = noted
    try:
        if response is None:
            await replies.drop(asked)
            return
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        body = bytes(response.body).decode()
        await replies.keep(asked, StoredReply(response.status_code, headers, body))
    except StoreError as error:  # the change is made: a repetition is known by its op id
        logger.warning("[ACE Server] a reply could not be kept: %s", type(error).__name__)


def _again(reply: StoredReply) -> Response:
    return Response(reply.body.encode() or None, reply.status, reply.headers)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:40]
