"""Web pages of other origins that may call the server from a browser (CORS): those that the settings name.

Does not: let anybody in. Whoever calls needs a token all the same; no cookie is ever asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from ace_graph.errors import ConfigurationError

__all__ = ["allow_origins"]

_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+")
_ASKED = ("Authorization", "Content-Type", "Last-Event-ID", "X-Request-Id")
_TOLD = ("Retry-After", "X-Request-Id")


def allow_origins(app: FastAPI, origins: Sequence[str]) -> None:
    """Answer browsers' questions for these origins, before any token is asked for; for none, add nothing.

    Raises ConfigurationError for what is no origin. A star is none: it would open a server without tokens to
    every page that somebody on this machine looks at.
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
            allow_methods=["DELETE", "GET", "PATCH", "POST"],
            allow_headers=list(_ASKED),
            expose_headers=list(_TOLD),
        )
