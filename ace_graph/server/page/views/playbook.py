"""The playbook: every bullet with strength, votes, confidence and last use; search, filter, sort, changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Literal, cast
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from ace_graph.memory.bullet import MAX_CONTENT_CHARS, Bounded, Bullet
from ace_graph.memory.decay import decay_score
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.views import BULLET_KINDS, BulletFilter, BulletKind, BulletStatus, kind_of
from ace_graph.playbooks.worth import Worth, read_worth
from ace_graph.server.middleware import does
from ace_graph.server.page.editing import PlaceDep, PlaybookId, after_change, edit_for, to_view
from ace_graph.server.page.session import Flash, PageRoute, VisitorDep, view_of
from ace_graph.server.routes.playbook import MergeBody, NewBullet, RollbackBody, add, go_back, merge
from ace_graph.server.routes.playbooks import PageQuery, list_all
from ace_graph.server.schemas import Text

routes = APIRouter(prefix="/playbooks/{playbook_id}", route_class=PageRoute)
PAGE_SIZE = 50
Sort = Literal["strength", "confidence", "newest", "used", "text"]
_SORTS: dict[Sort, tuple[Callable[[ListedBullet], object], bool]] = {
    "strength": (lambda row: (row.bullet.core, row.strength), True),
    "confidence": (lambda row: row.confidence, True),
    "newest": (lambda row: row.bullet.updated_at, True),
    "used": (lambda row: row.last_used or date.min, True),
    "text": (lambda row: row.bullet.content.casefold(), False),
}


@dataclass(frozen=True)
class ListedBullet:
    """A bullet of the list. `strength` is what decay has left of it; `last_used` None: it never was."""

    bullet: Bullet
    kind: BulletKind
    strength: float
    confidence: float
    last_used: date | None


class ListQuery(Flash):
    """What the list shows."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    words: Annotated[Text, Field(max_length=500)] = ""
    kind: Annotated[str, Field(max_length=32)] = ""
    topic: Annotated[Text, Field(max_length=256)] = ""
    tag: Annotated[Text, Field(max_length=64)] = ""
    status: Literal["active", "quarantined", "all"] = "active"
    sort: Sort = "strength"
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    edit: Annotated[str, Field(max_length=128)] = ""

    def filter(self) -> BulletFilter:
        """Return the filter for bullets; a kind that there is not shows all."""
        statuses: tuple[BulletStatus, ...] = ("active", "quarantined")
        wanted = statuses if self.status == "all" else (self.status,)
        kinds: frozenset[BulletKind] = frozenset(kind for kind in BULLET_KINDS if kind == self.kind)
        tags = (self.tag,) if self.tag else ()
        return BulletFilter(frozenset(wanted), tags, words=self.words, kinds=kinds)

    def chosen(self, snapshot: Snapshot) -> list[Bullet]:
        """Return the bullets of the list, in no order."""
        wanted = self.filter()
        found = (each for each in snapshot.playbook.bullets() if wanted.passes(each))
        return [each for each in found if not self.topic or each.topic == self.topic]

    def address(self, **changed: object) -> str:
        """Return the query of this list with some of it changed."""
        fields = self.model_dump(exclude={"said", "before", "after", "edit"}, exclude_defaults=True)
        return urlencode(
            {name: value for name, value in {**fields, **changed}.items() if value not in ("", None)}
        )


class ReturnLink(BaseModel):
    """Where a form of the list leads back to."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    etag: Annotated[str, Field(max_length=128)] = ""
    back: Annotated[Text, Field(max_length=2_000)] = ""


class AddForm(ReturnLink):
    """A bullet to add."""

    content: Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS), Bounded]
    kind: Annotated[str, Field(max_length=32)] = ""
    topic: Annotated[Text, Field(max_length=128)] = ""


class MergeForm(ReturnLink):
    """Bullets that were ticked."""

    ids: Annotated[list[str], Field(max_length=20)] = []


class UndoForm(BaseModel):
    """The version to go back to, while the playbook still has the one named `after`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    before: Annotated[int, Field(ge=0, le=2_147_483_647)]
    after: Annotated[str, Field(min_length=1, max_length=128)]
    back: Annotated[Text, Field(max_length=2_000)] = ""


@routes.get("")
async def show(
    request: Request,
    playbook_id: PlaybookId,
    target: PlaceDep,
    visitor: VisitorDep,
    query: Annotated[ListQuery, Query()],
) -> Response:
    """Show a page of the list."""
    found = await read_worth(visitor.services.store, target, visitor.learner, query.chosen)
    rows = _rows(found, query, visitor.services.clock.now())
    pages = max(1, -(-len(rows) // PAGE_SIZE))
    page = min(query.page, pages)
    everything = found.snapshot.playbook.bullets()
    values = {
        "playbook_id": playbook_id,
        "playbooks": await _playbooks(visitor),
        "query": query,
        "rows": rows[(page - 1) * PAGE_SIZE : page * PAGE_SIZE],
        "total": len(rows),
        "page": page,
        "pages": pages,
        "etag": found.snapshot.version.etag or "",
        "topics": sorted({each.topic for each in everything if each.topic}),
        "tags": sorted({tag for each in everything for tag in each.tags}),
        "kinds": BULLET_KINDS,
        "sorts": tuple(_SORTS),
        "quarantined": sum(each.status == "quarantined" for each in everything),
    }
    return view_of(request, visitor, "playbook.html", values)


@routes.post("/add", dependencies=[does("change")])
async def add_bullet(
    request: Request,
    playbook_id: PlaybookId,
    target: PlaceDep,
    visitor: VisitorDep,
    form: Annotated[AddForm, Form()],
) -> Response:
    """Add a bullet, or strengthen the one that says the same."""
    new = NewBullet.model_validate(
        {"content": form.content, "kind": form.kind or None, "topic": form.topic.strip() or None}
    )
    edit = await edit_for(visitor, target, "")
    return await after_change(request, _back(playbook_id, form.back), "added", edit, lambda: add(new, edit))


@routes.post("/merge", dependencies=[does("change")])
async def merge_bullets(
    request: Request,
    playbook_id: PlaybookId,
    target: PlaceDep,
    visitor: VisitorDep,
    form: Annotated[MergeForm, Form()],
) -> Response:
    """Make one bullet of those that were ticked, which must say the same."""
    if len(form.ids) < 2:
        return to_view(request, _back(playbook_id, form.back), {"said": "few"})
    wanted = MergeBody(ids=form.ids)
    edit = await edit_for(visitor, target, form.etag)
    return await after_change(
        request, _back(playbook_id, form.back), "merged", edit, lambda: merge(wanted, edit)
    )


@routes.post("/undo", dependencies=[does("change")])
async def undo(
    request: Request,
    playbook_id: PlaybookId,
    target: PlaceDep,
    visitor: VisitorDep,
    form: Annotated[UndoForm, Form()],
) -> Response:
    """Go back to the version before the last change, if nobody has changed anything since."""
    wanted = RollbackBody(version=form.before)
    edit = await edit_for(visitor, target, form.after, own=True)

    async def go() -> object:
        return await go_back(edit, wanted.version)

    return await after_change(request, _back(playbook_id, form.back), "undone", edit, go)


def _rows(found: Worth, query: ListQuery, now: datetime) -> list[ListedBullet]:
    access, evidence = found.snapshot.access, found.evidence
    rows = [
        ListedBullet(
            bullet=each,
            kind=kind_of(each),
            strength=decay_score(each, access, found.policy.decay),
            confidence=evidence.confidence(each, now),
            last_used=None if each.core else access.last_used(each.id),
        )
        for each in query.chosen(found.snapshot)
    ]
    key, falling = _SORTS[query.sort]
    return sorted(rows, key=cast("Callable[[ListedBullet], float]", key), reverse=falling)


async def _playbooks(visitor: VisitorDep) -> Sequence[tuple[str, str]]:
    """The playbooks that the visitor may open, as (id, name); the own memory first."""
    listed = [("default", "")]
    for which in ("own", "shared") if visitor.identity.may("share") else ("own",):
        query = PageQuery.model_validate({"which": which, "limit": 100})
        found = await list_all(visitor.identity, visitor.services, query)
        listed += [(each.playbook_id, each.name) for each in found.playbooks if each.playbook_id != "default"]
    return listed


def _back(playbook_id: str, query: str) -> str:
    if query.startswith("/"):
        return query
    return f"/playbooks/{playbook_id}?{query}" if query else f"/playbooks/{playbook_id}"
