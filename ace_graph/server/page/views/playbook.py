"""The memory as people see it: its list with search, filter and sort, and one bullet with every change of it.

A bullet is in one of four groups, and is shown with where it was learned, what became of it and what it was
used in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Annotated, Literal, cast, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Path, Query, Response
from pydantic import BeforeValidator, Field

from ace_graph.base.errors import PlaybookChanged, RequestRefused
from ace_graph.learning.statements.statement import ATTRIBUTION
from ace_graph.memory.bullet import MAX_CONTENT_CHARS, Bounded, Bullet, Day
from ace_graph.memory.catalogue import DEFAULT
from ace_graph.memory.decay import decay_score
from ace_graph.memory.retrieval.current_values import filtered
from ace_graph.memory.rights import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.views import BulletFilter, BulletStatus, kind_of
from ace_graph.playbooks.worth import Worth, read_worth
from ace_graph.server.middleware import does
from ace_graph.server.page.render import sentence
from ace_graph.server.page.session import Done, Flash, OpenedDep, PageForm, PageRoute, Visitor, VisitorDep
from ace_graph.server.page.views.history import read_points
from ace_graph.server.page.views.people import open_to_proposals
from ace_graph.server.routes import playbook as api
from ace_graph.server.routes.edit import ChangeReply, no_such_bullet
from ace_graph.server.schemas import Text

routes = APIRouter(prefix="/playbooks/{playbook_id}", route_class=PageRoute)
memory = APIRouter(route_class=PageRoute)
PAGE_SIZE = 30
FINDINGS_SIZE = 50
_MOST_TOPICS = 12
Sort = Literal["strength", "confidence", "newest", "used", "text"]
_SORTS: dict[Sort, tuple[Callable[[ListedBullet], object], bool]] = {
    "strength": (lambda row: (-GROUPS.index(row.group), row.bullet.core, row.strength), True),
    "confidence": (lambda row: row.confidence, True),
    "newest": (lambda row: row.bullet.updated_at, True),
    "used": (lambda row: row.last_used or date.min, True),
    "text": (lambda row: row.bullet.content.casefold(), False),
}


Group = Literal["me", "works", "watch", "facts"]
GROUPS: tuple[Group, ...] = get_args(Group)


def group_of(bullet: Bullet) -> Group:
    """Return where people look for a bullet: about me, what works, what to watch out for, other facts."""
    if bullet.polarity == "anti_pattern" or bullet.section == "misconceptions":
        return "watch"
    if bullet.profile:
        return "me"
    return "facts" if bullet.memory_type == "semantic" else "works"


@dataclass(frozen=True)
class ListedBullet:
    """A bullet of the list. `strength` is what decay has left of it; `last_used` None: it never was."""

    bullet: Bullet
    group: Group
    strength: float
    confidence: float
    last_used: date | None


ChosenDay = Annotated[Day | None, BeforeValidator(lambda value: value or None)]
"""A day of the page's form, where an empty field is none."""


class ListQuery(Flash):
    """What the list shows."""

    words: Annotated[Text, Field(max_length=500)] = ""
    group: Group | Literal[""] = ""
    topic: Annotated[Text, Field(max_length=256)] = ""
    tag: Annotated[Text, Field(max_length=64)] = ""
    status: Literal["active", "quarantined", "all"] = "active"
    sort: Sort = "strength"
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    edit: Annotated[str, Field(max_length=128)] = ""
    select: bool = False
    valid_on: ChosenDay = None
    known_on: ChosenDay = None

    def filter(self) -> BulletFilter:
        """Return the filter for bullets of all groups."""
        statuses: tuple[BulletStatus, ...] = ("active", "quarantined")
        wanted = statuses if self.status == "all" else (self.status,)
        tags = (self.tag,) if self.tag else ()
        return BulletFilter(frozenset(wanted), tags, words=self.words, valid_on=self.valid_on)

    def chosen(self, snapshot: Snapshot) -> list[Bullet]:
        """Return the bullets that are wanted, of all groups."""
        found = filtered(self.filter(), snapshot.playbook.bullets())
        return [bullet for bullet in found if self.topic in ("", bullet.topic)]

    def address(self, **changed: object) -> str:
        """Return the query of this list with some of it changed."""
        fields = self.model_dump(exclude={"said", "before", "after", "edit"}, exclude_defaults=True) | changed
        return urlencode({name: value for name, value in fields.items() if value not in ("", None, False)})


class ReturnLink(PageForm):
    """Where a form leads back to; empty: the list, or the bullet."""

    back: Annotated[Text, Field(max_length=2_000)] = ""

    def place(self, playbook_id: str, without_query: str = "") -> str:
        if self.back.startswith("/"):
            return self.back
        return f"/playbooks/{playbook_id}" + (f"?{self.back}" if self.back else without_query)


class AddForm(ReturnLink):
    """A bullet to add."""

    content: Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS), Bounded]
    kind: Annotated[str, Field(max_length=32)] = ""
    topic: Annotated[Text, Field(max_length=128)] = ""


class MergeForm(ReturnLink):
    """Bullets that were ticked."""

    etag: Annotated[str, Field(max_length=128)] = ""
    ids: Annotated[list[str], Field(max_length=20)] = Field([])


class UndoForm(ReturnLink):
    """The version to go back to, while the playbook still has the one named `after`."""

    before: Annotated[int, Field(ge=0, le=2_147_483_647)]
    after: Annotated[str, Field(min_length=1, max_length=128)]


@memory.get("/memory")
async def show_own(visitor: VisitorDep, query: Annotated[ListQuery, Query()]) -> Response:
    """Show the visitor's own memory, at an address that stays."""
    return await show(await visitor.open(DEFAULT), query)


@routes.get("")
async def show(opened: OpenedDep, query: Annotated[ListQuery, Query()]) -> Response:
    """Show a page of the list."""
    visitor = opened.visitor
    found = await read_worth(visitor.services.store, opened.handle, visitor.learner, query.chosen)
    if query.known_on is not None:
        found = found._replace(snapshot=await opened.handle.load_as_of(query.known_on))
    rows = _rows(found, query, visitor.services.clock.now())
    groups = Counter(row.group for row in rows)
    rows = [row for row in rows if query.group in ("", row.group)]
    pages = max(1, -(-len(rows) // PAGE_SIZE))
    page = min(query.page, pages)
    everything = found.snapshot.playbook.bullets()
    own = opened.playbook_id == DEFAULT
    return visitor.show(
        "playbook.html",
        playbook_id=opened.playbook_id,
        entry=opened.handle.entry,
        may_write=await opened.handle.may(Right.WRITE),
        query=query,
        rows=rows[(page - 1) * PAGE_SIZE : page * PAGE_SIZE],
        total=len(rows),
        page=page,
        pages=pages,
        etag=found.snapshot.version.etag or "",
        groups=groups,
        group_names=GROUPS,
        topics=Counter(bullet.topic for bullet in everything if bullet.topic).most_common(_MOST_TOPICS),
        sorts=tuple(_SORTS),
        quarantined=sum(bullet.status == "quarantined" for bullet in everything),
        talks=await titles(visitor) if own else {},
    )


async def titles(visitor: Visitor) -> dict[str, str]:
    """Return the titles of the learner's conversations by their ids."""
    return {each.id: each.title for each in await visitor.services.conversations.of(visitor.learner)}


@routes.post("/add", dependencies=[does("change")])
async def add_bullet(opened: OpenedDep, form: Annotated[AddForm, Form()]) -> Response:
    """Add a bullet, or strengthen the one that says the same."""
    new = api.NewBullet.model_validate(
        {"content": form.content, "kind": form.kind or None, "topic": form.topic.strip() or None}
    )
    edit, back = await opened.edit(), form.place(opened.playbook_id)
    return await opened.visitor.after_change(back, "added", edit, partial(api.add, new, edit))


@routes.post("/merge", dependencies=[does("change")])
async def merge_bullets(opened: OpenedDep, form: Annotated[MergeForm, Form()]) -> Response:
    """Make one bullet of those that were ticked, which must say the same."""
    back = form.place(opened.playbook_id)
    if len(form.ids) < 2:
        return opened.visitor.lead_to(back, said="few")
    wanted, edit = api.MergeBody(ids=form.ids), await opened.edit(form.etag)
    try:
        return await opened.visitor.after_change(back, "merged", edit, partial(api.merge, wanted, edit))
    except RequestRefused as error:
        if error.code != "refused":
            raise
        return opened.visitor.lead_to(back, said="apart")


@routes.post("/undo", dependencies=[does("change")])
async def undo(opened: OpenedDep, form: Annotated[UndoForm, Form()]) -> Response:
    """Go back to the version before the last change, if nobody has changed anything since."""
    edit, back = await opened.edit(form.after, own=True), form.place(opened.playbook_id)
    return await opened.visitor.after_change(back, "undone", edit, partial(api.go_back, edit, form.before))


@routes.get("/audit")
async def show_audit(opened: OpenedDep, query: Annotated[Flash, Query()]) -> Response:
    """Show what is rotten, each finding with the button that mends it."""
    visitor = opened.visitor
    found = await api.audited(opened.handle, visitor.identity, visitor.services)
    return visitor.show(
        "audit.html",
        playbook_id=opened.playbook_id,
        query=query,
        found=found,
        shown=found.findings[:FINDINGS_SIZE],
    )


def _rows(found: Worth, query: ListQuery, now: datetime) -> list[ListedBullet]:
    access, evidence = found.snapshot.access, found.evidence
    rows = [
        ListedBullet(
            bullet=bullet,
            group=group_of(bullet),
            strength=decay_score(bullet, access, found.policy.decay),
            confidence=evidence.confidence(bullet, now),
            last_used=None if bullet.core else access.last_used(bullet.id),
        )
        for bullet in query.chosen(found.snapshot)
    ]
    key, falling = _SORTS[query.sort]
    return sorted(rows, key=cast("Callable[[ListedBullet], float]", key), reverse=falling)


_BULLET = "/bullets/{bullet_id}"
BulletName = Annotated[str, Path(min_length=1, max_length=128)]
Action = Literal["pin", "unpin", "off", "on", "remove", "restore", "useful", "wrong", "outdated"]
_DONE: dict[Action, Done] = {
    "pin": "pinned",
    "unpin": "unpinned",
    "off": "off",
    "on": "on",
    "remove": "removed",
    "restore": "restored",
    "useful": "voted",
    "wrong": "off",
    "outdated": "removed",
}
_TURNS_READ, _MOST_RUNS = 200, 20
_MOST_CHANGES = 50
_EDIT_ATTEMPTS = 5
WRONG, SWITCHED_OFF = "marked as wrong on the page", "switched off on the page"


class EditForm(ReturnLink):
    """The new text, and the one that was in the form when it was shown."""

    content: Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS), Bounded]
    shown: Annotated[Text, Field(max_length=MAX_CONTENT_CHARS)]


class BulletQuery(Flash):
    """`edit`: with its text to be changed."""

    edit: bool = False


@routes.get(_BULLET)
async def show_bullet(
    opened: OpenedDep, bullet_id: BulletName, query: Annotated[BulletQuery, Query()]
) -> Response:
    """Show a bullet, or the one that it was merged into, with what is known of it."""
    visitor, store = opened.visitor, opened.visitor.services.store

    def chosen(snapshot: Snapshot) -> list[Bullet]:
        bullet = snapshot.playbook.get_bullet(snapshot.playbook.aliases.get(bullet_id, bullet_id))
        if bullet is None:
            raise no_such_bullet()
        return [bullet]

    found = await read_worth(store, opened.handle, visitor.learner, chosen)
    (bullet,) = chosen(found.snapshot)
    recent = await store.turns(visitor.learner, _TURNS_READ)
    born = [turn for turn in found.turns if turn.turn_id in bullet.examples]
    return visitor.show(
        "bullet.html",
        playbook_id=opened.playbook_id,
        query=query,
        asked_id=bullet_id,
        bullet=bullet,
        confidence=found.evidence.confidence(bullet, visitor.services.clock.now()),
        strength=decay_score(bullet, found.snapshot.access, found.policy.decay),
        kind=kind_of(bullet),
        group=group_of(bullet),
        may_write=await opened.handle.may(Right.WRITE),
        talks=await titles(visitor) if opened.playbook_id == DEFAULT else {},
        open_to_proposals=await open_to_proposals(visitor) if opened.playbook_id == DEFAULT else [],
        born=born[-_MOST_RUNS:][::-1],
        used=[turn for turn in recent if bullet.id in turn.injected][:_MOST_RUNS],
        points=(await read_points(opened.handle, bullet.id))[:_MOST_CHANGES],
    )


@routes.post(f"{_BULLET}/edit", dependencies=[does("change")])
async def edit_text(opened: OpenedDep, bullet_id: BulletName, form: Annotated[EditForm, Form()]) -> Response:
    """Change the text, unless it is no longer the one that was shown: then both are shown.

    What learners say stays marked as theirs, which the form does not show. Other bullets may change
    meanwhile. Raises PlaybookChanged where they do all the time.
    """
    back = form.place(opened.playbook_id, f"/bullets/{bullet_id}")
    for _ in range(_EDIT_ATTEMPTS):
        base = await opened.handle.load()
        present = base.playbook.get_bullet(bullet_id)
        if present is None or sentence(present.content) != form.shown:
            return opened.visitor.show(
                "conflict.html",
                status=409,
                playbook_id=opened.playbook_id,
                bullet_id=bullet_id,
                present=present,
                typed=form.content,
                back=form.back,
            )
        mark = ATTRIBUTION if present.content.startswith(ATTRIBUTION) else ""
        patch, edit = api.BulletPatch(content=mark + form.content), await opened.edit(base.version.etag or "")
        try:
            return await opened.visitor.changed(
                back, "edited", edit, partial(api.change, bullet_id, patch, edit)
            )
        except PlaybookChanged:
            continue
    raise PlaybookChanged("other writers keep changing this playbook: send your change again")


@routes.post(f"{_BULLET}/{{action}}", dependencies=[does("change")])
async def act(
    opened: OpenedDep, bullet_id: BulletName, action: Action, form: Annotated[ReturnLink, Form()]
) -> Response:
    """Pin, switch off, remove or restore a bullet, or say how it did in an answer."""
    edit = await opened.edit(own=action == "restore")
    wanted: Callable[[], Awaitable[ChangeReply]]
    match action:
        case "pin" | "unpin":
            wanted = partial(api.change, bullet_id, api.BulletPatch(pinned=action == "pin"), edit)
        case "off" | "wrong":
            why = WRONG if action == "wrong" else SWITCHED_OFF
            wanted = partial(api.quarantine, bullet_id, api.QuarantineBody(why=why), edit)
        case "on":
            wanted = partial(api.release, bullet_id, edit)
        case "remove" | "outdated":
            wanted = partial(api.remove, bullet_id, edit)
        case "restore":
            wanted = partial(api.restore, bullet_id, edit)
        case "useful":
            wanted = partial(api.tag, bullet_id, api.TagBody(tag="helpful"), edit)
    gone = action in ("remove", "outdated")
    back = form.back or f"/playbooks/{opened.playbook_id}" + ("" if gone else f"/bullets/{bullet_id}")
    return await opened.visitor.after_change(back, _DONE[action], edit, wanted)
