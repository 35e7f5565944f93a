"""Which playbook a request is about, and the change of it that the request asks for.

A request with `If-Match` changes that content only, else it is 412. With an `Idempotency-Key` a change is
made once: its op id is made of the learner, the key and what is asked for, so the same request again gets the
same reply, after a restart and from any server too. The same key for something else is 409.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Annotated
from uuid import uuid4

from fastapi import Depends, Header, Path, Request, Response
from pydantic.json_schema import SkipJsonSchema

from ace_graph.errors import PlaybookChanged, PlaybookNotFound, RequestRefused
from ace_graph.memory.catalogue.name import DEFAULT
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.effect import Rejection, Report
from ace_graph.memory.delta.operations import Delta, Operation
from ace_graph.memory.sharing.asked import Caller
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.base import Store
from ace_graph.playbooks import Change
from ace_graph.playbooks.handle import PlaybookHandle, open_by_id, open_playbook
from ace_graph.server.auth import Identity
from ace_graph.server.dependencies import Sender, Services, ServicesDep, User
from ace_graph.server.keyed import IdempotencyKey, key_of, request_id_of
from ace_graph.server.routes.change_reply import ChangeReply, change_reply

__all__ = [
    "Absent",
    "Edit",
    "IfMatch",
    "OwnEdit",
    "OwnerEdit",
    "Place",
    "PlaybookEdit",
    "PlaybookId",
    "checked_place",
    "declare_playbook_id",
    "playbook_of",
    "refused",
    "tag_version",
]

_UNKNOWN_ID = frozenset({"unknown id", "not in the playbook"})

PlaybookId = Annotated[str, Path(min_length=1, max_length=128, description="An id, or `default`.")]
Absent = SkipJsonSchema[None]
"""For headers, which are absent and never null."""
IfMatch = Annotated[
    str | Absent, Header(alias="If-Match", max_length=1_000, description="The ETag that the change is for.")
]


async def declare_playbook_id(playbook_id: PlaybookId) -> None:
    """Check the id in the path; `Place` reads it."""


async def playbook_of(store: Store, playbook_id: str, sender: Identity) -> PlaybookHandle:
    """Return where a playbook is that this sender may read. Raises PlaybookNotFound, PlaybookForbidden."""
    if playbook_id == DEFAULT:
        return await open_playbook(store, DEFAULT, sender.learner)
    target = await open_by_id(store, playbook_id, sender.user)
    if not sender.may("share"):
        target.check_owner()
    return target


async def _place(request: Request, sender: Sender, services: ServicesDep) -> PlaybookHandle:
    playbook_id = str(request.path_params.get("playbook_id", DEFAULT))
    return await playbook_of(services.store, playbook_id, sender)


async def checked_place(target: Annotated[PlaybookHandle, Depends(_place)]) -> None:
    """Check that the learner may read the playbook in the path, before anything else is asked."""


Place = Annotated[PlaybookHandle, Depends(_place)]
"""The playbook in the path, which the learner may read, else the learner's own memory."""


@dataclass(frozen=True)
class Edit:
    """A change of a playbook that a request asks for; `repeats`: it was made before."""

    services: Services
    learner: str
    author: str
    user: Caller | str
    target: PlaybookHandle
    response: Response
    if_match: str | None
    op_id: str
    repeats: bool = False

    async def expected_etag(self) -> str | None:
        """Return the etag that the content must still have in the commit; None: any.

        Raises PlaybookChanged where it is another one already.
        """
        return None if self.if_match is None or self.repeats else (await self.load()).version.etag

    async def load(self) -> Snapshot:
        """Return the present content. Raises PlaybookChanged where the change is for another one."""
        base = await self.target.store.load(self.target.key)
        if self.if_match is not None and not self.repeats:
            _check_matches(self.if_match, base.version)
        return base

    def change(self, reason: str, base: Snapshot) -> Change:
        """Return who changes the playbook, why, and that it must still have this content, if that matters."""
        guarded = self.if_match is not None and not self.repeats
        return Change(
            author=self.author,
            reason=reason,
            now=self.services.clock.now(),
            expected_etag=base.version.etag if guarded else None,
            op_id=self.op_id,
        )

    async def before(self, base: Snapshot) -> Commit | None:
        """Return the commit that made this change before, None where it is new."""
        if not self.repeats:
            return None
        repeated = Delta(op_id=self.op_id, now=self.services.clock.now())
        return await self.target.store.commit(self.target.key, repeated, base)

    async def make(
        self, base: Snapshot, operations: Sequence[Operation], reason: str
    ) -> tuple[Version, Report]:
        """Commit the operations as one delta; return the version after it, and what they changed.

        Raises RequestRefused when one of them can't be applied (404 for an unknown id, else 409); then
        nothing is written.
        """
        done = await self.before(base)
        if done is None and not operations:
            return base.version, Report()
        if done is None:
            done = await self.target.change(base, operations, self.change(reason, base), refused)
        return done.version, done.report

    async def commit(self, base: Snapshot, operations: Sequence[Operation], reason: str) -> ChangeReply:
        """Do what `make` does, and return the reply."""
        return self.reply(*await self.make(base, operations, reason))

    def reply(self, version: Version, report: Report) -> ChangeReply:
        """Return what was changed, under the ETag of the version after it."""
        tag_version(self.response, version)
        return change_reply(version, report)


_MakeEdit = Callable[..., Coroutine[None, None, Edit]]


def _edit_with(needed: Right | None) -> _MakeEdit:
    """Return what makes the edit of somebody with this right; None: of whose playbook it is."""

    async def edit(
        request: Request,
        response: Response,
        target: Place,
        sender: Sender,
        user: User,
        services: ServicesDep,
        if_match: IfMatch = None,
        idempotency_key: IdempotencyKey = None,
    ) -> Edit:
        if needed is None:
            target.check_owner()
        else:
            await target.require(needed)
        key = key_of(idempotency_key, sender.learner, sender.author)
        new = Edit(
            services,
            sender.learner,
            sender.author,
            user,
            target,
            response,
            if_match,
            f"http-{uuid4().hex}",
        )
        if key is None:
            return new
        op_id = f"{key}-{await request_id_of(request)}"
        versions = await target.store.versions(target.key)
        under_key = [version for version in versions if version.op_id.startswith(key)]
        first = next((each for each in under_key if each.op_id.startswith(op_id)), None)
        if under_key and first is None:
            raise RequestRefused(409, "key_used", "this Idempotency-Key was used for another request")
        return replace(new, op_id=op_id, repeats=first is not None)

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


def refused(rejection: Rejection) -> RequestRefused:
    """Return the error for an operation that can't be applied."""
    if rejection.why in _UNKNOWN_ID:
        return RequestRefused(404, "not_found", "there is no such bullet in your playbook")
    return RequestRefused(409, "refused", f"this change can't be made: {rejection.why}")


def _check_matches(if_match: str, present: Version) -> None:
    if present.epoch is None:
        raise PlaybookNotFound("there is nothing yet")
    asked = {each.strip() for each in if_match.split(",")}
    if "*" not in asked and f'"{present.etag}"' not in asked:
        raise PlaybookChanged("the playbook has another version by now")
