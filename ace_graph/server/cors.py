"""CORS: web pages of the origins in ACE_SERVER_ORIGINS may call the server from a browser, with a token."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from ace_graph.errors import ConfigurationError
from ace_graph.server.middleware.access_control import OPERATOR_HEADER

_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+")
_REQUEST_HEADERS = (
    *("Authorization", "Content-Type", "Idempotency-Key", "If-Match", "Last-Event-ID"),
    *(OPERATOR_HEADER, "X-Request-Id"),
)
_RESPONSE_HEADERS = ("ETag", "Retry-After", "X-Request-Id")


def allow_origins(app: FastAPI, origins: Sequence[str]) -> None:
    """Add the CORS middleware, which answers preflight requests before a token is needed.

    Raises ConfigurationError for what is no origin. A star is refused: it would open a server in development
    mode to every page that is looked at on this machine.
    """
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise ConfigurationError(
                f"ACE_SERVER_ORIGINS: {origin} is no origin: write https://app.example, without a path"
            )
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["DELETE", "GET", "PATCH", "POST", "PUT"],
            allow_headers=list(_REQUEST_HEADERS),
            expose_headers=list(_RESPONSE_HEADERS),
        )
