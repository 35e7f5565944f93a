"""The id of the request that is being worked on, in every log line and in the answer's header.

Does not: take ids from clients that are longer, or other, than a log line can bear.
"""

from __future__ import annotations

import logging
import re
from contextvars import ContextVar
from uuid import uuid4

__all__ = ["REQUEST_ID", "RequestIds", "request_id_of"]

REQUEST_ID: ContextVar[str | None] = ContextVar("ace_request_id", default=None)
"""The id within the task that works on a request, and within the turn that it began."""

_SANE = re.compile(r"[A-Za-z0-9._:-]{1,64}")


def request_id_of(given: str | None) -> str:
    """Return the id that the client or a proxy gave, where it is a sane one, else a new one."""
    return given if given and _SANE.fullmatch(given) else uuid4().hex


class RequestIds(logging.Filter):
    """Puts the id on every record that a handler gets."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add `request_id`; keep the record."""
        found = REQUEST_ID.get()
        if found is not None:
            record.request_id = found
        return True
