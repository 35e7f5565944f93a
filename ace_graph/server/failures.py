"""From an error inside to what a client may know of it: a status, a word, and one sentence.

Does not: quote the error. The log says what really happened, under the request's id.
"""

from __future__ import annotations

import traceback
from pathlib import PurePath

from ace_graph.errors import (
    ChangeRefused,
    CommitContention,
    CommitTooOld,
    ConfigurationError,
    HistoryTooShort,
    InvalidContext,
    InvalidMessage,
    InvalidMode,
    LearnerForgotten,
    ModelError,
    RequestRefused,
    StoreError,
    StoreUnavailable,
    TrajectoryNotFound,
)

__all__ = ["place_of", "refusal_of"]

_TOLD: tuple[tuple[type[Exception], int, str, str], ...] = (
    (InvalidMode, 422, "invalid", "the mode is one of cot, tot and react"),
    (InvalidMessage, 422, "invalid", "there is no message to answer"),
    (InvalidContext, 422, "invalid", "the request can't be carried out as it is"),
    (ModelError, 502, "model_failed", "the model gave no answer: try again later"),
    (LearnerForgotten, 409, "forgotten", "the learner was forgotten meanwhile: begin anew"),
    (CommitTooOld, 409, "too_old", "this is so old that it may have been stored before: begin anew"),
    (CommitContention, 503, "busy", "too much is written at once: try again"),
    (StoreUnavailable, 503, "memory_unavailable", "the memory can't be reached: try again later"),
    (HistoryTooShort, 404, "not_found", "the history does not hold this version"),
    (StoreError, 500, "memory_failed", "the memory can't be read or written"),
    (TrajectoryNotFound, 404, "not_found", "there is no such turn of yours"),
    (ChangeRefused, 409, "refused", "this change can't be made"),
    (ConfigurationError, 500, "misconfigured", "the server is not set up for this"),
)


def refusal_of(error: BaseException) -> RequestRefused:
    """Return what is told of `error`; of one that nobody expected, nothing but that it happened."""
    if isinstance(error, RequestRefused):
        return error
    for kind, status, code, sentence in _TOLD:
        if isinstance(error, kind):
            return RequestRefused(status, code, sentence, retry_after=5 if status == 503 else None)
    return RequestRefused(500, "internal", "something went wrong inside: it is in the server's log")


def place_of(error: BaseException) -> str:
    """Return an error's class and the last places it came through, for the log: no message, no content."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = [f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    return f"{type(error).__name__} at {' < '.join(reversed(places)) or '(nowhere)'}"
