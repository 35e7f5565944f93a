"""Errors as clients see them: one short JSON object, the same for every route.

Does not: decide which error it is (`failures` does).
"""

from __future__ import annotations

from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from ace_graph.errors import RequestRefused
from ace_graph.server.request_id import REQUEST_ID
from ace_graph.server.shape import sentence_of

__all__ = ["ErrorReply", "documented", "refused", "refused_by_http", "refused_by_shape"]

_BY_STATUS = {
    404: ("not_found", "there is nothing here"),
    405: ("method", "this method is not known here"),
    408: ("too_slow", "the body took too long to arrive"),
}
_MEANING = {
    401: "No token, or none that is valid.",
    403: "Without a secret for tokens only this machine is served.",
    404: "There is no such thing of this learner.",
    408: "The body took too long to arrive.",
    409: "It can't be done now: a turn is under way, or things have changed.",
    413: "The body is too large.",
    422: "The request is not as described.",
    429: "Too many requests of this learner; see Retry-After.",
    500: "Something went wrong inside.",
    501: "A tool asked for something that this server can't ask a person.",
    502: "The model gave no answer.",
    503: "The server is busy or stopping, or its memory can't be reached.",
    504: "The answer took too long.",
}


class ErrorReply(BaseModel):
    """What went wrong, in one sentence, as one word for programs, and under which id the log has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    error: str
    code: str
    request_id: str | None = Field(default=None, serialization_alias="requestId")


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:  # Any: FastAPI's own type
    """Return the errors of a route for the OpenAPI document; those of every route are always among them."""
    every = {401, 403, 422, 429, 500, 503}
    return {
        status: {"model": ErrorReply, "description": _MEANING[status]}
        for status in sorted(every | {*statuses})
    }


def refused(error: RequestRefused) -> JSONResponse:
    """Return the response to a refused request."""
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else {}
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    reply = ErrorReply(error=str(error), code=error.code, request_id=REQUEST_ID.get())
    content = reply.model_dump(by_alias=True, exclude_none=True)
    return JSONResponse(content, status_code=error.status, headers=headers)


def refused_by_http(error: HTTPException) -> JSONResponse:
    """Return the response to a path or a method that is not there."""
    code, sentence = _BY_STATUS.get(error.status_code, ("invalid", "the request can't be read"))
    # FastAPI says 400 of a body that is no text; to a client that is the same as a wrong one.
    status = 422 if error.status_code == 400 else error.status_code
    response = refused(RequestRefused(status, code, sentence))
    response.headers.update(error.headers or {})
    return response


def refused_by_shape(error: RequestValidationError) -> JSONResponse:
    """Return the response to a request of the wrong shape: which fields, and what is wrong with each."""
    return refused(RequestRefused(422, "invalid", sentence_of(error.errors())))
