"""Who looks at the page: the learner of a token in a cookie, or of a header that the host sets.

The cookie is sent to the page's own routes alone, never to /api, and no script can read it. In development
mode there is no token, and everybody is one learner. A form that changes something must come from the page
itself: browsers say so in `Origin`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, cast
from urllib.parse import unquote, urlsplit

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from ace_graph.errors import AceError, RequestRefused
from ace_graph.memory.sharing.asked import Caller
from ace_graph.server.auth import Authenticator, Identity
from ace_graph.server.dependencies import Services
from ace_graph.server.middleware.access_control import about_learner
from ace_graph.server.middleware.rate_limit import TokenBucket
from ace_graph.server.page.render import Renderer

__all__ = [
    "COOKIE",
    "OPERATED",
    "LoginNeeded",
    "PageContext",
    "Visitor",
    "VisitorDep",
    "carried_fields",
    "check_origin",
    "drop_cookie",
    "end_session",
    "expiry_of",
    "keep_cookie",
    "local_path",
    "page_of",
    "prefix_of",
    "start_session",
    "view_of",
]

COOKIE = "ace_session"
OPERATED = "ace_learner"
"""The cookie that names the learner whose memory an operator looks at."""
SAFE_METHODS = frozenset({"GET", "HEAD"})
_DOT_SEGMENTS = frozenset({".", ".."})


class LoginNeeded(AceError):
    """Nobody is signed in, or no longer. `expired`: the token was valid once."""

    def __init__(self, *, expired: bool) -> None:
        super().__init__("sign in with a token first")
        self.expired = expired


@dataclass(frozen=True)
class PageContext:
    """What the page works with."""

    authenticator: Authenticator
    rate: TokenBucket
    renderer: Renderer
    token_header: str | None
    services: Callable[[], Services]


@dataclass(frozen=True)
class Visitor:
    """Who sends a request, the server's services, and how the history names the author of changes."""

    identity: Identity
    services: Services

    @property
    def learner(self) -> str:
        """Whose memory is shown."""
        return self.identity.learner

    @property
    def teams(self) -> frozenset[str] | None:
        """The teams that the token names; None: the store's table is asked."""
        return self.identity.teams

    @property
    def author(self) -> str:
        """Who is the author of what the visitor changes, in the history."""
        return self.identity.author

    @property
    def user(self) -> Caller | str:
        """The learner as the functions for playbooks of others want it."""
        return self.learner if self.teams is None else Caller(self.learner, self.teams)


def view_of(
    request: Request, visitor: Visitor, template: str, values: Mapping[str, object], status: int = 200
) -> Response:
    """Return a view for a visitor: the template with these values, and with who looks at it."""
    page = page_of(request)
    identity = visitor.identity
    known = {
        "learner": identity.learner,
        "development": page.authenticator.development,
        "operator": identity.operator,
        "may_operate": identity.may_operate,
    }
    return page.renderer.page(request, template, {**known, **values}, status)


def page_of(request: Request) -> PageContext:
    """Return what the page of this request works with."""
    return cast("PageContext", request.app.state.page)


def prefix_of(request: Request) -> str:
    """Return the address of the page, without a slash at the end: also where its host is mounted itself."""
    return str(request.scope.get("root_path", "")).rstrip("/")


async def find_visitor(request: Request) -> Visitor:
    """Return who sends a request. Raises LoginNeeded; RequestRefused for a form from another site."""
    page = page_of(request)
    if request.method not in SAFE_METHODS:
        check_origin(request)
    identity = await _identity(request, page)
    page.rate.take(identity.learner)
    if operated := request.cookies.get(OPERATED):
        if not identity.may_operate:
            raise LoginNeeded(expired=False)  # a cookie of somebody who was signed in before
        identity = about_learner(identity, [operated], request.scope)
    return Visitor(identity, page.services())


VisitorDep = Annotated[Visitor, Depends(find_visitor)]
"""Who sends the request, as an argument of a view."""


async def _identity(request: Request, page: PageContext) -> Identity:
    if page.authenticator.development:
        return await page.authenticator.identity(None)
    header = request.headers.get(page.token_header) if page.token_header else None
    token = header or request.cookies.get(COOKIE)
    if not token:
        raise LoginNeeded(expired=False)
    try:
        return await page.authenticator.identity(f"Bearer {token.removeprefix('Bearer ')}")
    except RequestRefused as error:
        if error.status != 401:
            raise
        raise LoginNeeded(expired=error.code == "expired_token") from error


def check_origin(request: Request) -> None:
    """Refuse a form that another site sends. Raises RequestRefused (403)."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    same_host = origin is not None and urlsplit(origin).netloc == request.headers.get("host")
    if not (same_host or (origin is None and site == "same-origin")):
        raise RequestRefused(403, "forbidden", "this form was not sent by the page itself: open it again")


def expiry_of(token: str) -> int | None:
    """Return when a token expires (seconds since 1970), as it says itself; the authenticator checks it."""
    part = token.split(".")[1] if token.count(".") == 2 else ""
    try:
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return int(cast("Mapping[str, float]", claims)["exp"])
    except (ValueError, KeyError, TypeError):
        return None


def keep_cookie(request: Request, response: Response, name: str, value: str, max_age: int | None) -> None:
    """Keep a value in a cookie that only the page's own routes get, over HTTPS alone where it came so."""
    forwarded = request.headers.get("x-forwarded-proto")
    response.set_cookie(
        name,
        value,
        max_age=max_age,
        path=f"{prefix_of(request)}/",
        secure=request.url.scheme == "https" or forwarded == "https",
        httponly=True,
        samesite="strict",
    )


def start_session(request: Request, response: Response, token: str, *, now: float) -> None:
    """Keep the token in a cookie until it expires; whoever was looked at before is not any more."""
    drop_cookie(request, response, OPERATED)
    expires = expiry_of(token)
    keep_cookie(request, response, COOKIE, token, max(0, int(expires - now)) if expires is not None else None)


def end_session(request: Request, response: Response) -> None:
    """Make the browser forget the token."""
    for name in (COOKIE, OPERATED):
        drop_cookie(request, response, name)


def drop_cookie(request: Request, response: Response, name: str) -> None:
    """Make the browser forget a cookie."""
    response.delete_cookie(name, path=f"{prefix_of(request)}/", httponly=True, samesite="strict")


def local_path(path: str, prefix: str) -> str:
    """Return a path of the page, or its start for anything else: nobody is sent elsewhere."""
    is_ours = path.startswith(f"{prefix}/") and not path.startswith("//") and "\\" not in path
    segments = unquote(path.partition("?")[0].partition("#")[0]).split("/")
    if not is_ours or not path.isprintable() or not _DOT_SEGMENTS.isdisjoint(segments):
        return f"{prefix}/"
    return path


def carried_fields(form: Iterable[tuple[str, object]]) -> list[tuple[str, str]]:
    """Return what was typed into a form, to be sent on after a login."""
    return [(name, value) for name, value in form if isinstance(value, str)]
