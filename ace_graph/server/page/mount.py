"""The page as an application of its own, and its place in another one.

So its errors are pages and not JSON, and its headers reach none of the other routes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from ace_graph.errors import AceError, RequestRefused
from ace_graph.server.auth import Authenticator
from ace_graph.server.dependencies import Services
from ace_graph.server.errors import http_error_for, validation_message
from ace_graph.server.middleware.rate_limit import TokenBucket
from ace_graph.server.page.assets import check_assets
from ace_graph.server.page.policy import SecurityHeaders
from ace_graph.server.page.render import Renderer
from ace_graph.server.page.session import LoginNeeded, PageContext, carried_fields, prefix_of
from ace_graph.server.page.views import bullet, chat, frame, history, playbook, review, runs
from ace_graph.settings import Settings

__all__ = ["page_app", "serve_page"]

_VIEWS = (
    frame.routes,
    chat.routes,
    history.routes,
    bullet.routes,
    playbook.routes,
    review.routes,
    runs.routes,
)


def page_app(
    settings: Settings,
    services: Callable[[], Services],
    authenticator: Authenticator,
    rate: TokenBucket,
    templates: Path | None = None,
) -> FastAPI:
    """Return the page as an application; `services` are those that are open while it is served.

    `templates` is a folder whose files are taken instead of ours of the same name. Raises ConfigurationError
    where a file of the page is missing.
    """
    check_assets()
    page = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        routes=[route for router in _VIEWS for route in router.routes],
    )
    page.state.page = PageContext(
        authenticator=authenticator,
        rate=rate,
        renderer=Renderer(templates),
        token_header=settings.page_token_header,
        services=services,
    )
    page.add_middleware(SecurityHeaders)
    for kind in (AceError, HTTPException, RequestValidationError):
        page.add_exception_handler(kind, _error_page)
    page.add_exception_handler(LoginNeeded, _login_page)
    return page


def serve_page(host: FastAPI, page: ASGIApp, prefix: str, *, also_at: Sequence[str] = ()) -> None:
    """Serve the page of `page_app` under `prefix`, below the address of `host` where that is mounted itself.

    The prefix without a slash at its end leads there, and so does what `also_at` names.
    """
    host.mount(prefix, page)

    async def to_the_page(request: Request) -> Response:
        return RedirectResponse(f"{prefix_of(request)}{prefix}/", 303)

    for path in (prefix, *also_at):
        host.add_route(path, to_the_page, include_in_schema=False)


async def _error_page(request: Request, error: Exception) -> Response:
    """One sentence that says what happened, and a way back."""
    if isinstance(error, RequestValidationError):
        status, sentence = 422, validation_message(error.errors())
    elif isinstance(error, HTTPException):
        status = error.status_code
        sentence = "there is no such page" if status == 404 else str(error.detail)
    else:
        refused = error if isinstance(error, RequestRefused) else http_error_for(error)
        status, sentence = refused.status, str(refused)
    context: PageContext = request.app.state.page
    typed = carried_fields(await _form(request)) if request.method == "POST" else []
    values = {"status": status, "sentence": sentence, "typed": typed, "learner": None}
    return context.renderer.page(request, "error.html", values, status)


async def _login_page(request: Request, error: Exception) -> Response:
    """The form for a token. What was typed into another form is carried along."""
    context: PageContext = request.app.state.page
    posted = request.method == "POST"
    values = {
        "expired": isinstance(error, LoginNeeded) and error.expired,
        "problem": "",
        "target": request.url.path if posted else _wanted(request),
        "carried": carried_fields(await _form(request)) if posted else [],
        "learner": None,
    }
    return context.renderer.page(request, "login.html", values, 401)


async def _form(request: Request) -> Sequence[tuple[str, object]]:
    """Return the fields of the form, also such as come several times; nothing where it can't be read."""
    try:
        return (await request.form()).multi_items()
    except (RuntimeError, HTTPException):  # the body was read before by what failed, or it is no form
        return ()


def _wanted(request: Request) -> str:
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
