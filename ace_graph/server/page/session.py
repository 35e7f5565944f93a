"""Who looks at the page: the learner of a token in a cookie, or of a header that the host sets.

The cookie is sent to the page's own routes alone, never to /api, and no script can read it. In development
mode there is no token, and everybody is one learner. A form that changes something must come from the page
itself: browsers say so in `Origin`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast, get_args
from urllib.parse import unquote, urlencode
from uuid import uuid4

from fastapi import Depends, Path, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.responses import RedirectResponse, Response

from ace_graph.base.errors import AceError, PlaybookChanged, RequestRefused
from ace_graph.base.off_loop import working_for
from ace_graph.memory.rights import Right
from ace_graph.playbooks.handle import PlaybookHandle
from ace_graph.server.auth import Authenticator, Identity
from ace_graph.server.middleware import about_learner, announced_bytes, check_act, from_elsewhere
from ace_graph.server.page.render import Renderer
from ace_graph.server.rate_limit import TokenBucket, cost_of
from ace_graph.server.routes.edit import Edit, playbook_of
from ace_graph.server.services import Services

COOKIE = "ace_session"
OPERATED = "ace_learner"
"""The cookie that names the learner whose memory an operator looks at."""
_VISITOR, _KNOWN = "ace_visitor", "ace_visitor_known"
SAFE_METHODS = frozenset({"GET", "HEAD"})
_DAY = 86_400
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


MakeChange = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Visitor:
    """Who sends a request to the page, and how it is answered."""

    request: Request
    identity: Identity
    services: Services

    @property
    def learner(self) -> str:
        return self.identity.learner

    def show(self, template: str, *, status: int = 200, **values: object) -> Response:
        """Return a view: the template with these values, and with who looks at it."""
        page, identity = page_of(self.request), self.identity
        known = {
            "learner": identity.learner,
            "development": page.authenticator.development,
            "operator": identity.operator,
            "may_operate": identity.may_operate,
            "refused": self.request.scope.get(REFUSED) or Refused("", 0, "", {}),
        }
        return page.renderer.page(self.request, template, {**known, **values}, status)

    def refusal(self, text: str) -> str:
        """Return why something is not done, in the visitor's language where the page can say it."""
        return page_of(self.request).renderer.refusal(self.request, text)

    def lead_to(self, place: str, **said: object) -> Response:
        """Lead to a view of the page, or to its start, which says what was done."""
        prefix = prefix_of(self.request)
        path, _, fragment = local_path(f"{prefix}{place}", prefix).partition("#")
        query = f"{'&' if '?' in path else '?'}{urlencode(said)}" if said else ""
        return RedirectResponse(f"{path}{query}{'#' if fragment else ''}{fragment}", 303)

    async def open(self, playbook_id: str) -> Opened:
        """Return a playbook. Raises PlaybookNotFound where the visitor may not read it."""
        return Opened(self, playbook_id, await playbook_of(self.services.store, playbook_id, self.identity))

    async def after_change(self, back: str, done: Done, edit: Edit, change: MakeChange) -> Response:
        """Make the change and go back to the view, which says what was done and offers to undo it.

        Where the playbook was changed by somebody else in between, the view says so, and nothing is done.
        """
        try:
            return await self.changed(back, done, edit, change)
        except PlaybookChanged:
            return self.lead_to(back, said="stale")

    async def changed(self, back: str, done: Done, edit: Edit, change: MakeChange) -> Response:
        """Do the same, but raise PlaybookChanged where somebody else changed the playbook in between."""
        known = await edit.playbook.load()
        await change()
        now = await edit.playbook.load()
        before, after = known.version, now.version
        entries = known.playbook.entries
        if done in ("added", "edited") and any(
            bullet.status == "quarantined" and entries.get(bullet.id) != bullet
            for bullet in now.playbook.entries.values()
        ):
            done = "held"
        if after.n == before.n:
            return self.lead_to(back, said="nothing")
        if edit.playbook.asked is not None:  # only its owner may take a version back
            return self.lead_to(back, said=done)
        of = {"of": edit.playbook.entry.playbook_id} if edit.playbook.entry is not None else {}
        return self.lead_to(back, said=done, before=before.n, after=after.etag or "", **of)


@dataclass(frozen=True)
class Opened:
    """A playbook that the visitor may read, by the id in the address."""

    visitor: Visitor
    playbook_id: str
    handle: PlaybookHandle

    async def edit(self, etag: str = "", *, own: bool = False) -> Edit:
        """Return the change of the playbook that still has the version `etag`; empty: whatever it has.

        Raises PlaybookForbidden. With `own` only for whom the playbook belongs to, as the API has it.
        """
        if own:
            self.handle.check_owner()
        else:
            await self.handle.require(Right.WRITE)
        match, op_id = f'"{etag}"' if etag else None, f"page-{uuid4().hex}"
        return Edit(self.visitor.services, self.visitor.identity, self.handle, Response(), match, op_id)


def page_of(request: Request) -> PageContext:
    return cast("PageContext", request.app.state.page)


def prefix_of(request: Request) -> str:
    """Return the address of the page, without a slash at the end: also where its host is mounted itself."""
    return str(request.scope.get("root_path", "")).rstrip("/")


class PageRoute(APIRoute):
    """A route that finds the visitor by the headers alone, before anything of a form is read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:  # Any: Starlette's own
        """Return FastAPI's handler, behind the checks of where a form comes from and who sends it."""
        handle, wants_visitor = super().get_route_handler(), _wants_visitor(self.dependant)

        async def handle_checked(request: Request) -> Response:
            if request.method not in SAFE_METHODS and not sent_by_page(request):
                sentence = "this form was not sent by the page itself: open it again"
                raise RequestRefused(403, "forbidden", sentence)
            if not wants_visitor:
                return await handle(request)
            visitor = request.scope[_VISITOR] = await _find_visitor(request)
            with working_for(visitor.identity.operator or visitor.learner):
                return await handle(request)

        return handle_checked


async def found_visitor(request: Request) -> Visitor:
    """Return who sends a request to a `PageRoute`. Raises RequestRefused for what an operator may not do."""
    visitor = cast("Visitor", request.scope[_VISITOR])
    check_act(request, visitor.identity)
    return visitor


def _wants_visitor(dependant: Dependant) -> bool:
    return dependant.call is found_visitor or any(map(_wants_visitor, dependant.dependencies))


async def _find_visitor(request: Request) -> Visitor:
    page = page_of(request)
    token, development = _token(request), page.authenticator.development
    if not token and not development:
        raise LoginNeeded(expired=False)
    try:
        identity = await page.authenticator.identity(None if development else f"Bearer {token}")
    except RequestRefused as error:
        if error.status != 401:
            raise
        raise LoginNeeded(expired=error.code == "expired_token") from error
    request.scope[_KNOWN] = True
    page.rate.take(identity.learner, cost_of(announced_bytes(request.headers)))
    if operated := request.cookies.get(OPERATED):
        if not identity.may_operate:
            raise LoginNeeded(expired=False)  # a cookie of somebody who was signed in before
        identity = about_learner(identity, [operated], request.scope)
    return Visitor(request, identity, page.services())


VisitorDep = Annotated[Visitor, Depends(found_visitor)]
"""Who sends the request, as an argument of a view."""


async def _opened(
    playbook_id: Annotated[str, Path(min_length=1, max_length=128)], visitor: VisitorDep
) -> Opened:
    return await visitor.open(playbook_id)


OpenedDep = Annotated[Opened, Depends(_opened)]
"""The playbook in the path, which the visitor may read, as an argument of a view."""


def _token(request: Request) -> str:
    name = page_of(request).token_header
    header = request.headers.get(name) if name else None
    return (header or request.cookies.get(COOKIE, "")).removeprefix("Bearer ")


def sent_by_page(request: Request) -> bool:
    """Whether a view of the page sent the form. A browser says so; what says nothing is no browser."""
    headers = request.headers
    said = "origin" in headers or headers.get("sec-fetch-site") == "same-origin"
    return said and not from_elsewhere(request.scope, headers)


def is_known(request: Request) -> bool:
    """Whether somebody with a valid token sends the request; nobody else's form is read."""
    return _KNOWN in request.scope


def typed_by(request: Request) -> str:
    """Return the learner whose session a form was typed in, also after it has ended; empty: nobody's."""
    return _claim(_token(request), "sub") or ""


def _claim(token: str, name: Literal["exp", "sub"]) -> str | None:
    """Return what a token says of itself, unchecked; None where it says nothing."""
    part = token.split(".")[1] if token.count(".") == 2 else ""
    try:
        claims: object = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return str(cast("Mapping[str, object]", claims)[name])
    except (ValueError, KeyError, TypeError, RecursionError):
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
    """Keep the token in a cookie until a day after it expires; whoever was looked at before is not any more.

    In that day the expired token still says who typed what comes too late.
    """
    drop_cookie(request, response, OPERATED)
    expires = _claim(token, "exp")
    kept = None if expires is None else max(0, int(float(expires) - now)) + _DAY
    keep_cookie(request, response, COOKIE, token, kept)


def drop_cookie(request: Request, response: Response, name: str) -> None:
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


_Changed = Literal["added", "edited", "held", "pinned", "unpinned", "off", "on", "removed", "restored"]
Done = Literal[_Changed, "merged", "undone", "back", "voted", "accepted"]
"""A change of a playbook that was made."""
_Made = Literal[
    "created", "shared", "unshared", "left", "proposed", "paused", "resumed", "forgotten", "unsure", "stayed"
]
_NotMade = Literal["stale", "nothing", "few", "apart", "some"]
_Word = Literal[Done, _Made, _NotMade, "judged", "deleted", "refused", "queued", "dreamed", ""]
_WORDS = frozenset[str](word for part in get_args(_Word) for word in (get_args(part) or (part,)))


REFUSED = "ace_refused"
"""The key of a scope under which a view finds the form of its own that was refused."""


@dataclass
class Refused:
    """A form that was refused: where it was sent, why, and what was typed. A view shows both in the form."""

    action: str
    status: int
    sentence: str
    typed: Mapping[str, str]
    shown: bool = False

    def at(self, action: str) -> bool:
        """Whether it is the form that is sent to this address, which shows it then."""
        self.shown = self.shown or self.action == action
        return self.action == action

    def kept(self, action: str, name: str, other: str = "") -> str:
        """Return what was typed into a field of that form, else the other text."""
        return self.typed.get(name, other) if self.action == action else other


class PageForm(BaseModel):
    """The fields of a form or an address that are described; others are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Flash(PageForm):
    """What has just been done, a known word in the address; `before` and `after` allow undo.

    `of` is the playbook that was changed, where the view is not about it.
    """

    said: Annotated[_Word, BeforeValidator(lambda word: word if word in _WORDS else "")] = ""
    before: Annotated[int | None, Field(ge=0, le=2_147_483_647)] = None
    after: Annotated[str, Field(max_length=128)] = ""
    of: Annotated[str, Field(max_length=128, pattern=r"^[\w.-]*$")] = ""

    @property
    def can_undo(self) -> bool:
        return self.before is not None and bool(self.after) and self.said != "undone"
