"""The page in somebody else's FastAPI application, without our API."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from ace_graph.server.auth import make_authenticator
from ace_graph.server.clock import Clock, SystemClock
from ace_graph.server.dependencies import Services
from ace_graph.server.lifespan import Overrides, open_services
from ace_graph.server.metrics import Metrics
from ace_graph.server.middleware.access_control import AccessControl
from ace_graph.server.middleware.rate_limit import TokenBucket
from ace_graph.server.page.mount import page_app, serve_page
from ace_graph.settings import Settings


def mount_page(
    host: FastAPI,
    settings: Settings,
    overrides: Overrides | None = None,
    *,
    prefix: str = "/page",
    templates: Path | None = None,
    clock: Clock | None = None,
) -> None:
    """Serve the page in `host`, under `prefix`. What `overrides` leaves out is made from the settings.

    What it works with is opened before the lifespan of `host` begins, and closed after it. `templates` is a
    folder whose files are taken instead of ours of the same name. Raises ConfigurationError for settings that
    can't be used, and where a file of the page is missing; the start of `host` raises StoreError, too.
    """
    own_clock = clock or SystemClock()
    authenticator, rate = (
        make_authenticator(settings, own_clock),
        TokenBucket(settings.server_rate, own_clock),
    )
    opened, inner = list[Services](), host.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[Any]:  # the host's own state
        async with open_services(settings, overrides or Overrides(), Metrics(), own_clock) as services:
            opened.append(services)
            async with inner(app) as state:
                yield state

    host.router.lifespan_context = lifespan
    page = page_app(settings, lambda: opened[-1], authenticator, rate, templates)
    guarded = AccessControl(
        page, authenticator=authenticator, rate=rate, max_bytes=settings.server_body_bytes
    )
    serve_page(host, guarded, prefix)
