"""Which playbook a request is about, and the change of it that the request asks for.

A request with `If-Match` changes that content only, else it is 412. With an `Idempotency-Key` a change is
made once: its op id follows from the key and what is asked for, so a change that was made before, whose reply
was lost, is answered with what it came to (see `keyed`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import uuid4

from fastapi import Depends, Header, Path, Request, Response
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from ace_graph.base.errors import AceError, PlaybookChanged, PlaybookNotFound, RequestRefused
from ace_graph.memory.catalogue import DEFAULT
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.effect import Merged, Rejection, Report
from ace_graph.memory.delta.operations import Delta, Operation
from ace_graph.memory.rights import Right
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.store import Store
from ace_graph.playbooks.content import Change
from ace_graph.playbooks.handle import PlaybookHandle, open_by_id, open_playbook
from ace_graph.server.auth import Identity
from ace_graph.server.keyed import OpId
from ace_graph.server.schemas import Body
from ace_graph.server.services import Sender, Services, ServicesDep

_UNKNOWN_ID = frozenset({"unknown id", "not in the playbook"})

PlaybookId = Annotated[str, Path(min_length=1, max_length=128, description="An id, or `default`.")]
Absent = SkipJsonSchema[None]
"""For headers, which are absent and never null."""
IfMatch = Annotated[
    str | Absent, Header(alias="If-Match", max_length=1_000, description="The ETag that the change is for.")
]


class ChangeReply(Body):
    """What was changed, in ids, and the playbook's version after it.

    Of two ids, `kept` is the one that stays and `gone` the one that it absorbed or replaced. What was
    quarantined or released is among `updated`, too, and `quarantined` bullets are in no prompt.
    """

    version: Annotated[int, Field(ge=0)]
    added: tuple[str, ...] = ()
    reinforced: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    tagged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    merged: tuple[Merged, ...] = ()
    superseded: tuple[Merged, ...] = ()
    quarantined: tuple[str, ...] = ()
    released: tuple[str, ...] = ()


def change_reply(done: Commit) -> ChangeReply:
    report = done.report
    updated = dict.fromkeys([*report.updated, *report.quarantined, *report.released])
    return ChangeReply.of(report, version=done.version.n, updated=list(updated))


async def declare_playbook_id(playbook_id: PlaybookId) -> None:
    """Check the id in the path; `Place` reads it."""


async def playbook_of(store: Store, playbook_id: str, sender: Identity) -> PlaybookHandle:
    """Return a playbook that this sender may read. Raises PlaybookNotFound, PlaybookForbidden."""
    if playbook_id == DEFAULT:
        return await open_playbook(store, DEFAULT, sender.learner)
    playbook = await open_by_id(store, playbook_id, sender.user)
    if not sender.may("share"):
        playbook.check_owner()
    return playbook


async def _place(request: Request, sender: Sender, services: ServicesDep) -> PlaybookHandle:
    playbook_id = str(request.path_params.get("playbook_id", DEFAULT))
    return await playbook_of(services.store, playbook_id, sender)


Place = Annotated[PlaybookHandle, Depends(_place)]
"""The playbook in the path, which the learner may read, else the learner's own memory."""


async def checked_place(playbook: Place) -> None:
    """Check that the learner may read the playbook in the path, before anything else is asked."""


@dataclass(frozen=True)
class Edit:
    """A change of a playbook that a request asks for. `keyed`: it is made once under its op id."""

    services: Services
    sender: Identity
    playbook: PlaybookHandle
    response: Response
    if_match: str | None
    op_id: str
    keyed: bool = False

    async def load(self) -> Snapshot:
        """Return the present content.

        Raises PlaybookChanged where the change is for another one, unless it was made before.
        """
        base = await self.playbook.load()
        if self.if_match is not None:
            if base.version.epoch is None:
                raise PlaybookNotFound("there is nothing yet")
            wanted = {etag.strip() for etag in self.if_match.split(",")}
            matches = not wanted.isdisjoint({"*", f'"{base.version.etag}"'})
            if not matches and await self.made_before() is None:
                raise PlaybookChanged("the playbook has changed meanwhile: read it again")
        return base

    async def expected_etag(self) -> str | None:
        """Return the etag that the content must still have in the commit; None: any.

        Raises PlaybookChanged where it is another one already.
        """
        return None if self.if_match is None else (await self.load()).version.etag

    def change(self, reason: str, base: Snapshot) -> Change:
        """Return who changes the playbook, why, and that it must still have this content, if that matters."""
        return Change(
            author=self.sender.author,
            reason=reason,
            now=self.services.clock.now(),
            expected_etag=None if self.if_match is None else base.version.etag,
            op_id=self.op_id,
        )

    async def made_before(self) -> Commit | None:
        """Return the commit that made this change before, None where it is new."""
        versions = await self.playbook.store.versions(self.playbook.key) if self.keyed else ()
        if all(version.op_id != self.op_id for version in versions):
            return None
        repeated = Delta(op_id=self.op_id, now=self.services.clock.now())
        return await self.playbook.store.commit(self.playbook.key, repeated, await self.playbook.load())

    async def once(self, make: Callable[[Snapshot], Awaitable[Commit]]) -> Commit:
        """Make the change from the present content; where that fails because it was made before, return that.

        Raises what `make` raises, and PlaybookChanged.
        """
        try:
            return await make(await self.load())
        except AceError:
            if (done := await self.made_before()) is None:
                raise
            return done

    async def make(self, reason: str, wanted: Callable[[Snapshot], Sequence[Operation]]) -> Commit:
        """Commit operations as one delta. Where none is wanted, there is nothing to do.

        Raises RequestRefused when one of them can't be applied (404 for an unknown id, else 409); then
        nothing is written.
        """

        async def commit(base: Snapshot) -> Commit:
            if operations := wanted(base):
                return await self.playbook.change(base, operations, self.change(reason, base), refused)
            return await self.made_before() or Commit("repeated", base.version, Report(), base)

        return await self.once(commit)

    async def apply(self, reason: str, *operations: Operation) -> ChangeReply:
        """Do what `make` does, and return the reply."""
        return self.reply(await self.make(reason, lambda _: operations))

    def reply(self, done: Commit) -> ChangeReply:
        """Return what was changed, under the ETag of the version after it."""
        tag_version(self.response, done.version)
        return change_reply(done)


def _edit_with(needed: Right | None) -> Callable[..., Coroutine[None, None, Edit]]:
    """Return what makes the edit of somebody with this right; None: of whose playbook it is."""

    async def edit(
        response: Response,
        playbook: Place,
        sender: Sender,
        services: ServicesDep,
        op_id: OpId,
        if_match: IfMatch = None,
    ) -> Edit:
        if needed is None:
            playbook.check_owner()
        else:
            await playbook.require(needed)
        made_once = op_id or f"http-{uuid4().hex}"
        return Edit(services, sender, playbook, response, if_match, made_once, keyed=op_id is not None)

    return edit


PlaybookEdit = Annotated[Edit, Depends(_edit_with(Right.WRITE))]
"""The change of a playbook that its caller may write, as an argument of a route."""

OwnerEdit = Annotated[Edit, Depends(_edit_with(Right.OWN))]
"""The change of a playbook by one of its owners."""

OwnEdit = Annotated[Edit, Depends(_edit_with(None))]
"""The change of a playbook by whom it belongs to."""


def tag_version(response: Response, version: Version) -> None:
    """Set the ETag of a reply; there is none where nothing is stored."""
    if version.etag:
        response.headers["ETag"] = f'"{version.etag}"'


def no_such_bullet() -> RequestRefused:
    """Return the error for an unknown id."""
    return RequestRefused(404, "not_found", "there is no such bullet in your playbook")


def refused(rejection: Rejection) -> RequestRefused:
    if rejection.why in _UNKNOWN_ID:
        return no_such_bullet()
    return RequestRefused(409, "refused", f"this change can't be made: {rejection.why}")
