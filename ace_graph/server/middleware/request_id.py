"""The id of the current request, for log lines and the response header."""

from __future__ import annotations

import logging
import re
from contextvars import ContextVar
from uuid import uuid4

REQUEST_ID: ContextVar[str | None] = ContextVar("ace_request_id", default=None)
"""The id, in the task of a request and in the turn that it began."""

_VALID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


def request_id_of(given: str | None) -> str:
    """Return the id that the client or a proxy sent if it is short and plain, else a new one."""
    return given if given and _VALID.fullmatch(given) else uuid4().hex


class RequestIds(logging.Filter):
    """Adds the request id to log records."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add `request_id`; keep the record."""
        found = REQUEST_ID.get()
        if found is not None:
            record.request_id = found
        return True
