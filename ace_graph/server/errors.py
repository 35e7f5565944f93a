"""Errors as clients see them: a status and one JSON object, the same for every route.

An error of the program becomes a status, a code and a sentence that reveals nothing of the inside. A request
that does not validate gets each wrong field as the client wrote it, and what it must be.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import PurePath
from typing import Any, cast
from uuid import uuid4

from fastapi.dependencies.models import Dependant
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from ace_graph.base import errors
from ace_graph.base.errors import RequestRefused
from ace_graph.base.frozen import Frozen
from ace_graph.base.tables import read_toml

REQUEST_ID: ContextVar[str | None] = ContextVar("ace_request_id", default=None)
"""The id, in the task of a request and in the turn that it began."""
_VALID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


def request_id_of(given: str | None) -> str:
    """Return the id that the client or a proxy sent if it is short and plain, else a new one."""
    return given if given and _VALID.fullmatch(given) else uuid4().hex


class RequestIds(logging.Filter):
    """Adds the request id to log records."""

    def filter(self, record: logging.LogRecord) -> bool:
        found = REQUEST_ID.get()
        if found is not None:
            record.request_id = found
        return True


MISSPELLED = "misspelled"
"""The type of the error for a field that is sent in another spelling."""
_MOST_CHARS = 300
_LOCATIONS = frozenset({"body", "query", "path", "header"})
_Detail = Mapping[str, object]


class _Sentences(BaseModel):
    fields: dict[str, str]
    errors: dict[str, tuple[int, str, str]]
    routing: dict[int, tuple[str, str]]
    meaning: dict[int, str]


_TOLD = _Sentences.model_validate(read_toml("ace_graph.server", "errors.toml"))
_HTTP_ERRORS: list[tuple[type[Exception], tuple[int, str, str]]] = [
    (getattr(errors, name), told) for name, told in _TOLD.errors.items()
]


_TOLD_WHY = {errors.ChangeRefused, errors.InvalidGrant}


def validation_message(details: Iterable[_Detail]) -> str:
    """Return one sentence about pydantic's errors: each field once.

    Of a field of several types pydantic tells what each of them wants. That it may be null is left out: it
    stands for a field that is absent.
    """
    found = [(cast("tuple[object, ...]", detail["loc"]), detail) for detail in details]
    absent = {place[:-1] for place, detail in found if detail["type"] == "none_required"}
    messages: dict[str, list[str]] = {}
    for place, detail in found:
        field = next((each for each in absent if place[: len(each)] == each), None)
        if field is not None and detail["type"] == "none_required":
            continue
        parts = place if field is None else (*field, *place[len(field) + 1 :])
        named = [part for part in parts if "[" not in str(part) or detail["type"] == "extra_forbidden"]
        said = messages.setdefault(_field_path(named), [])
        if (wanted := _requirement(detail)) not in said:
            said.append(wanted)
    return "; ".join(f"{where} {' or '.join(said)}" for where, said in messages.items())[:_MOST_CHARS]


def _requirement(detail: _Detail) -> str:
    if detail["loc"] == ("body",) and isinstance(detail.get("input"), bytes):
        return "must be JSON: send it with the header Content-Type: application/json"
    bounds = cast("Mapping[str, object]", detail.get("ctx") or {})
    if bounds.get("min_length") == 1:
        return "must not be empty"
    expected = str(bounds.get("expected")).replace("'", "")
    unit = "character" if isinstance(detail.get("input"), str) else "element"
    words = _TOLD.fields.get(str(detail["type"]), "is not as described")
    return words.format(**{**bounds, "expected": expected, "unit": unit})


def _field_path(place: Sequence[object]) -> str:
    """Return a path such as `conversationHistory[0].content`, without the names of our own functions."""
    first = str(place[0]) if place else "body"
    inside = list(place[1:] if first == "body" else place[1:2]) if first in _LOCATIONS else list(place)
    if not inside or (first == "body" and isinstance(inside[0], int)):  # an offset in invalid JSON
        return f"the {first}"
    path = str(inside[0])
    for part in inside[1:]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path


def http_error_for(error: BaseException) -> RequestRefused:
    """Return the HTTP error for `error`; for an unexpected one a 500 that says nothing about it."""
    if isinstance(error, RequestRefused):
        return error
    if isinstance(error, errors.DailyTokensUsed):
        return RequestRefused(429, "daily_tokens", str(error), retry_after=error.seconds)
    for kind, (status, code, sentence) in _HTTP_ERRORS:
        if isinstance(error, kind):
            if type(error) in _TOLD_WHY:  # its message is for who asked, as on the command line
                sentence = f"{sentence}: {error}"[:_MOST_CHARS]
            return RequestRefused(status, code, sentence, retry_after=5 if status == 503 else None)
    return RequestRefused(500, "internal", "something went wrong inside: it is in the server's log")


@contextmanager
def refusing_usage_errors() -> Generator[None]:
    """Answer what can't be done with what the client asked for with 409 and the reason."""
    try:
        yield
    except errors.UsageError as error:
        raise RequestRefused(409, "refused", f"this can't be done: {error}"[:300]) from error


def error_location(error: BaseException) -> str:
    """Return an error's class and its last three stack frames, for the log: no message, no content."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = [f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    return f"{type(error).__name__} at {' < '.join(reversed(places)) or '(nowhere)'}"


class ErrorReply(Frozen):
    """A sentence for people, a code for programs, and the id under which the log has the error."""

    error: str
    code: str
    request_id: str | None = Field(default=None, serialization_alias="requestId")


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:  # Any: FastAPI's own type
    """Return these statuses and those of every route, for the OpenAPI document."""
    every = {401, 403, 422, 429, 500, 503}
    return {
        status: {"model": ErrorReply, "description": _TOLD.meaning[status]}
        for status in sorted(every | {*statuses})
    }


class DescribedRoute(APIRoute):
    """A route whose documented errors follow from what it reads; others are said by `responses`.

    Something in the path or under an ETag may not be there, and have another version; a body may be too large
    or too slow; a key may be in use.
    """

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],  # Any: FastAPI's own
        *,
        responses: dict[int | str, dict[str, Any]] | None = None,
        **given: Any,  # what APIRoute takes
    ) -> None:
        super().__init__(path, endpoint, responses={**error_responses(), **(responses or {})}, **given)
        read = _headers(self.dependant)
        inferred = {404, 412} if "If-Match" in read else set[int]()
        if "{" in path:
            inferred.add(404)
        if self.body_field is not None and self.body_field.field_info.is_required():
            inferred |= {408, 413}
        if "Idempotency-Key" in read:
            inferred.add(409)
        for status in inferred - self.responses.keys():
            self.responses[status] = error_responses(status)[status]
            self.response_fields[status] = self.response_fields[401]


def _headers(dependant: Dependant) -> set[str]:
    own = {parameter.alias for parameter in dependant.header_params}
    return own.union(*map(_headers, dependant.dependencies))


def error_response(error: RequestRefused) -> JSONResponse:
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else {}
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    reply = ErrorReply(error=str(error), code=error.code, request_id=REQUEST_ID.get())
    content = reply.model_dump(by_alias=True, exclude_none=True)
    return JSONResponse(content, status_code=error.status, headers=headers)


def http_exception_response(error: HTTPException) -> JSONResponse:
    """Return the response for Starlette's errors, such as an unknown path or method."""
    code, sentence = _TOLD.routing.get(error.status_code, ("invalid", "the request can't be read"))
    # FastAPI answers 400 to a body that is no text; to a client that is a wrong body like any other.
    status = 422 if error.status_code == 400 else error.status_code
    response = error_response(RequestRefused(status, code, sentence))
    response.headers.update(error.headers or {})
    return response
