"""One playbook as its caller may use it, own or named: what CLI, HTTP, page and MCP do with it.

    playbook = await open_playbook(store, "ada/api_client", owner="bob")
    base = await playbook.load()
    done = await playbook.change(base, [Remove(bullet_id="gen-00001")], Change(author="bob"), refused)

The own memory is the playbook `default`. Of somebody else's playbook a handle shows what leaves its owner,
and the store checks the caller's right in the transaction of each call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import (
    AceError,
    ChangeRefused,
    HistoryTooShort,
    InvalidGrant,
    InvalidPlaybook,
    LearnerForgotten,
    PlaybookForbidden,
)
from ace_graph.base.off_loop import Steps, in_slices, off_loop
from ace_graph.base.telemetry import audit_sharing
from ace_graph.memory.bullet import Danger
from ace_graph.memory.catalogue import PlaybookEntry, PlaybookRef, checked_entry
from ace_graph.memory.commit import Commit, History, playbook_at
from ace_graph.memory.delta.archive import adds_beyond_cap
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.near import joined_by_meaning
from ace_graph.memory.delta.operations import Add, Delta, Operation
from ace_graph.memory.delta.rollback import ArchivedBullet, archived, restore_of, rollback_to
from ace_graph.memory.formats.reading import Reading
from ace_graph.memory.formats.registry import ImportOutcome, batches, outcome_of
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.rights import Caller, PlaybookAccess, Right, not_found, not_yours, right
from ace_graph.memory.screening.screen import screen
from ace_graph.memory.sharing import outgoing, outgoing_snapshot, outgoing_text, reported
from ace_graph.memory.similarity.vectors import Embedder
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.base import StoredVersion
from ace_graph.memory.stores.memories import commit_checked
from ace_graph.memory.stores.store import ContentStore, PlaybookStore, Store
from ace_graph.playbooks.content import (
    Change,
    Content,
    adds_of,
    check_any_accepted,
    replacement,
    unknown_examples,
    without_turns,
)
from ace_graph.playbooks.directory import caller_of
from ace_graph.playbooks.versions import drop_old_versions, end_of, kept_names, version_number

User = Caller | str | None
"""Who acts: with teams, or by name, whose teams the store's table has; None: the owner, by the host."""

Refusal = Callable[[Rejection], AceError]
"""Makes the error for an operation that can't be applied."""


@dataclass(frozen=True)
class NamedPlaybook:
    """A playbook with its entry; the version in both is the same."""

    entry: PlaybookEntry
    snapshot: Snapshot

    @property
    def playbook(self) -> Playbook:
        """The bullets."""
        return self.snapshot.playbook


@dataclass(frozen=True)
class Written:
    """The commit of a change, and what of the content was refused."""

    commit: Commit
    refused: tuple[Rejection, ...] = ()


@dataclass(frozen=True)
class PlaybookHandle:
    """A playbook's entry, the namespace and the key that its content is under, and who asks.

    `root` is the whole store. `named` is the namespace of named playbooks; None for a learner's own memory.
    `asked` is the caller where the playbook is somebody else's; `store` then shows only what leaves the
    owner, and checks each call.
    """

    ref: PlaybookRef
    root: Store
    store: ContentStore
    key: str
    named: PlaybookStore | None = None
    entry: PlaybookEntry | None = None
    asked: PlaybookAccess | None = None

    def check_owner(self) -> None:
        """Raise PlaybookForbidden where the playbook is somebody else's."""
        if self.asked is not None:
            audit_denial(self.asked.caller, self.key, Right.OWN)
            raise not_yours(self.asked.name)

    async def require(self, needed: Right) -> None:
        """Raise PlaybookForbidden or PlaybookNotFound for a caller without this right to the playbook.

        The store checks again when the playbook is used; this comes before errors about what is asked for.
        """
        if self.asked is not None and self.named is not None:
            await self.named.asked(self.asked).check(self.key, needed)

    async def may(self, wanted: Right) -> bool:
        """Whether the caller has this right, as it is stored now; a lack of it is not logged as a refusal.

        Raises PlaybookNotFound for a caller who may not even read it any more.
        """
        if self.asked is None or self.named is None:
            return True
        quiet = PlaybookAccess(self.key, self.asked.caller, self.asked.name)
        try:
            await self.named.asked(quiet).check(self.key, wanted)
        except PlaybookForbidden:
            return False
        return True

    def shared(self) -> tuple[PlaybookStore, PlaybookStore, PlaybookAccess]:
        """Return the namespace that checks each call, also the owner's; the one that does not; and who acts.

        Raises InvalidGrant for a learner's own memory.
        """
        if self.named is None:
            raise InvalidGrant("the own memory can't be shared: create a playbook with what others may read")
        asked = self.asked or PlaybookAccess(self.key, Caller(self.ref.owner), self.ref.name, audit_denial)
        return self.named.asked(asked), self.named, asked

    async def version(self) -> Version:
        """Return the present version, by a small read; number 0 for an own memory that is not there yet.

        Raises PlaybookNotFound where the playbook is gone, or the caller may not read it any more.
        """
        if self.named is None:
            own = await self.root.playbooks.find(self.ref)
            return Version() if own is None else own.version
        stored = self.named if self.asked is None else self.named.asked(self.asked)
        entry = await stored.entry(self.key)
        if entry is None:
            raise not_found(self.ref.name)
        return entry.version

    async def load(self) -> Snapshot:
        """Return the newest snapshot, as the caller may see it."""
        return await self.store.load(self.key)

    async def read(self) -> NamedPlaybook:
        """Return the playbook with its entry. Raises PlaybookNotFound where it is gone, or not there yet."""
        entry = await self.root.playbooks.find(self.ref)
        snapshot = await self.load()
        if entry is None or snapshot.absent:
            raise not_found(self.ref.name)
        if self.asked is not None:
            entry = replace(entry, description=await off_loop(outgoing_text, entry.description))
        return NamedPlaybook(replace(entry, version=snapshot.version), snapshot)

    async def commit(self, delta: Delta, base: Snapshot) -> Commit:
        """Commit a delta, and drop what the policy does not keep. Raises what the store raises.

        A named playbook that was deleted meanwhile raises PlaybookNotFound.
        """
        with self._deletion_is_not_found():
            done = await self.store.commit(self.key, delta, base)
        await self.drop_old_versions(delta.now)
        return done

    async def change(
        self, base: Snapshot, operations: Sequence[Operation], change: Change, refused: Refusal
    ) -> Commit:
        """Commit operations on single bullets, made from `base`, as one delta.

        Raises the error of `refused` when one of them can't be applied; then nothing is written, not even the
        access clock. Raises PlaybookChanged, and PlaybookNotFound where a named playbook was deleted.
        """
        await self.require(Right.WRITE)
        delta = change.delta(*operations)
        runs = (self.root, self.ref.owner or "") if self.asked is None else None
        with self._deletion_is_not_found():
            done = await commit_checked(self.store, self.key, delta, base, refused, runs)
        await self.drop_old_versions(delta.now)
        return done

    async def write(
        self,
        content: Content,
        *,
        merge: bool = True,
        change: Change | None = None,
        embeddings: Embedder | None = None,
    ) -> Written:
        """Add content, or with `merge=False` replace all of it; see `update_playbook`."""
        change = change or Change()
        adds = await off_loop(adds_of, content, change.now or utc_now())
        if self.named is not None:
            adds = without_turns(adds)
        base = await self.load()
        refused: tuple[Rejection, ...] = ()
        if merge:
            delta = change.delta(*await joined_by_meaning(adds, base.playbook, embeddings))
        else:
            owner = self.ref.owner
            own = self.asked is None  # examples of others are left out later, known or not
            unknown = await unknown_examples(self.root, owner, adds) if own else frozenset[str]()
            now = change.now or utc_now()
            new = await in_slices(replacement(adds, base.playbook, self.store.policy, now, unknown), owner)
            delta, refused = change.delta(new.operation), new.refused
            check_any_accepted(len(adds), refused)
        commit = await self.commit(delta, base)
        refused += commit.report.rejected
        check_any_accepted(len(adds), refused)
        return Written(commit, refused)

    async def import_bullets(
        self,
        base: Snapshot,
        reading: Reading,
        change: Change,
        progress: Callable[[int], None] = lambda _: None,
    ) -> tuple[ImportOutcome, Snapshot]:
        """Add the bullets of a file, and return what became of each, and the playbook after it.

        They are committed in several deltas where they are many; `progress` is called after each with the
        number of its bullets. Of far more bullets than the playbook holds, the weakest are refused unread.
        The etag that the change expects is that of the first delta; with an op id, the deltas have ids made
        of it. Raises what the store raises.
        """
        bullets = reading.bullets if self.named is None else without_turns(reading.bullets)
        beyond = await off_loop(adds_beyond_cap, bullets, self.store.policy)
        numbered = await in_slices(_numbered(reading, bullets, beyond))
        admitted = [bullet for place, bullet in enumerate(numbered.bullets) if place not in beyond]
        unread = [numbered.bullets[place] for place in sorted(beyond)]
        progress(len(unread))
        done = list[Commit]()
        for place, batch in enumerate(batches(admitted)):
            part = replace(
                change,
                op_id=change.op_id if change.op_id is None or not place else f"{change.op_id}-{place}",
                expected_etag=None if place else change.expected_etag,
            )
            done.append(await self.commit(part.delta(*batch), base))
            base = done[-1].snapshot
            progress(len(batch))
        reports = [commit.report for commit in done]
        return await off_loop(outcome_of, numbered, reports, base.playbook, unread), base

    async def edit_fields(
        self, description: str | None, scope: str | None, lessons: str | None
    ) -> PlaybookEntry:
        """Give the playbook another description, scope, or rule for lessons; see `edit_fields`."""
        if self.entry is None or self.named is None:
            raise InvalidPlaybook("the own memory has none of these fields: give the name of a playbook")
        held = self.entry
        await off_loop(check_shown, "", description)
        wanted = checked_entry(
            held.playbook_id,
            held.ref,
            held.created_at,
            description=held.description if description is None else description,
            scope=held.scope if scope is None else scope,
            lessons=held.lessons if lessons is None else lessons,
        )
        stored = self.named if self.asked is None else self.named.asked(self.asked)
        scoped = None if scope is None else wanted.scope
        ruled = None if lessons is None else wanted.lessons
        if not await stored.set_fields(held.playbook_id, description, scoped, ruled):
            raise not_found(self.ref.name)
        return replace(held, description=wanted.description, scope=wanted.scope, lessons=wanted.lessons)

    async def archived_bullets(self) -> tuple[ArchivedBullet, ...]:
        """Return the bullets that have left the playbook and are not back, the latest first."""
        present = await self.load()
        return tuple(archived(await self.store.history(self.key), present.playbook))

    async def restore_bullet(
        self, base: Snapshot, bullet_id: str, change: Change, refused: Refusal
    ) -> Commit:
        """Bring back one bullet that `archived_bullets` lists, as it was. Only the owner can.

        Raises PlaybookForbidden, ChangeRefused where it is not archived, or is back already, and what
        `change` raises.
        """
        self.check_owner()
        back = restore_of(await self.store.history(self.key), base, bullet_id)
        return await self.change(base, [back], change, refused)

    async def list_versions(self) -> tuple[StoredVersion, ...]:
        """Return the versions, the newest first. Raises PlaybookNotFound."""
        found = await self.store.versions(self.key)
        if not found and (await self.load()).absent:
            raise not_found(self.ref.name)
        return found[::-1]

    async def version_number(self, version: int | str) -> int:
        """Return the number of a version that is named by its number or its label. Raises HistoryTooShort."""
        return version_number(await self.store.versions(self.key), version)

    async def content_at(self, n: int) -> Playbook:
        """Return the content of version `n`; 0 is the empty playbook. Raises HistoryTooShort."""
        found = Playbook() if n == 0 else await self.store.content_at(self.key, n)
        if found is not None:
            return found
        if self.named is None:
            return playbook_at(await self.store.history(self.key), n)
        kept = kept_names(await self.store.versions(self.key))
        raise HistoryTooShort(f"version {n} is not kept: {kept}")

    async def load_as_of(self, when: date | datetime) -> Snapshot:
        """Return the content as it was known at a moment, or at the end of a day (UTC); uses are not kept.

        Raises HistoryTooShort where that version is no longer stored.
        """
        moment, versions = end_of(when), await self.store.versions(self.key)
        known = [version for version in versions if version.at <= moment]
        if not known:
            if versions and versions[0].n > 1:
                oldest = versions[0].at.date()
                raise HistoryTooShort(f"what was known then is no longer stored: the oldest is of {oldest}")
            return Snapshot()
        epoch = (await self.load()).version.epoch
        newest = known[-1]
        return Snapshot(await self.content_at(newest.n), version=Version(epoch, newest.n, label=newest.label))

    async def restore(self, version: int | str, change: Change) -> Commit:
        """Commit the return to a version; see `restore`."""
        self.check_owner()
        n = await self.version_number(version)
        base = await self.load()
        if base.version.n == n:
            raise ChangeRefused(f"the playbook is at version {version}: there is nothing to do")
        if self.named is None:
            history = await self.store.history(self.key)
        else:
            history = History(n, await self.content_at(n), ())
        because = replace(change, reason=change.reason or f"back to version {version}")
        return await self.commit(because.delta(rollback_to(history, base, n)), base)

    async def drop_old_versions(self, now: datetime) -> None:
        """Do what `keep_versions` does; a learner's own memory keeps a number of changes instead."""
        if self.named is not None:
            await drop_old_versions(self.named, self.key, now)

    @contextmanager
    def _deletion_is_not_found(self) -> Generator[None]:
        try:
            yield
        except LearnerForgotten as error:
            if self.named is None:
                raise
            raise not_found(self.ref.name) from error


async def open_playbook(store: Store, name: str, owner: str | None, user: User = None) -> PlaybookHandle:
    """Return a playbook: the owner's of that name, or that of `owner/name`.

    Who acts is `user`, or else the owner who is named apart. `default` is the owner's own memory, also before
    it exists, and nobody else's. Raises PlaybookNotFound where there is none that the user may read,
    InvalidPlaybook, ConfigurationError, and what the store raises.
    """
    root = store
    ref = PlaybookRef.parse(name, owner)
    acting: User = user or owner or ref.owner
    who = acting.user if isinstance(acting, Caller) else acting
    if ref.is_default and ref.owner is not None and who == ref.owner:
        return PlaybookHandle(ref, root, root, ref.owner)
    entry = None if ref.is_default else await root.playbooks.find(ref)
    return await _checked(root, entry, name, acting, who == ref.owner)


async def open_by_id(store: Store, playbook_id: str, user: User = None) -> PlaybookHandle:
    """Return the named playbook with this id. Raises as `open_playbook` does."""
    root = store
    entry = await root.playbooks.entry(playbook_id)
    acting: User = user or (entry.owner if entry is not None else None)
    who = acting.user if isinstance(acting, Caller) else acting
    return await _checked(root, entry, playbook_id, acting, entry is not None and who == entry.owner)


async def open_owned(store: Store, name: str, owner: str | None) -> PlaybookHandle:
    """Do what `open_playbook` does, for work that only the owner may do. Raises PlaybookForbidden, too."""
    playbook = await open_playbook(store, name, owner)
    playbook.check_owner()
    return playbook


async def _checked(
    root: Store, entry: PlaybookEntry | None, name: str, acting: User, is_owner: bool
) -> PlaybookHandle:
    """Check what is somebody else's or unknown: both with the same reads, so that they take as long."""
    named = root.playbooks
    if entry is not None and is_owner and right(entry.owner, (), entry, ()) is Right.OWN:
        return PlaybookHandle(entry.ref, root, named, entry.playbook_id, named, entry)
    caller = await caller_of(acting, root) if isinstance(acting, str) else acting or Caller(None)
    asked = PlaybookAccess(name if entry is None else entry.playbook_id, caller, name, audit_denial)
    found = await named.asked(asked).entry(asked.playbook_id)
    if found is None:
        raise not_found(name)
    seen = replace(found, description=await off_loop(outgoing_text, found.description))
    view = _SharedPlaybook(named, asked)
    return PlaybookHandle(found.ref, root, view, found.playbook_id, named, seen, asked)


def audit_denial(caller: Caller, playbook_id: str, needed: Right) -> None:
    """Log that a caller was refused."""
    audit_sharing("denied", caller.user, playbook=playbook_id, needed=needed.name.lower())


def check_shown(name: str, description: str | None) -> None:
    """Raise ChangeRefused for a name or a description that the screen refuses: others and models read them.

    A description may hold a link; others don't see it then.
    """
    vouched: tuple[Danger, ...] = ("link",)
    for field, why in (("name", screen(name)), ("description", screen(description or "", vouched))):
        if why is not None:
            raise ChangeRefused(f"the {field} can't be shown to others and to models: {why}; use other words")


def _numbered(reading: Reading, bullets: Sequence[Add], beyond: Collection[int]) -> Steps[Reading]:
    """The reading with these bullets, and a ref for each but those at the places `beyond` the cap."""
    named = list(bullets)
    for n in range(len(named)):
        if n not in beyond:
            named[n] = named[n].model_copy(update={"ref": f"b{n}"})
            yield
    return replace(reading, bullets=tuple(named))


class _SharedPlaybook:
    """A `ContentStore` over one playbook of somebody else, for one caller: it shows what leaves the owner.

    What is read is never whole, so a commit names only the epoch of its base, and the store plans it from its
    own state.
    """

    def __init__(self, playbooks: PlaybookStore, asked: PlaybookAccess) -> None:
        self.name = playbooks.name
        self.policy: Policy = playbooks.policy
        self._checked = playbooks.asked(asked)

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot as others see it. Raises PlaybookNotFound."""
        return await _seen(await self._checked.load(learner_id))

    async def commit(self, learner_id: str, delta: Delta, base: Snapshot) -> Commit:
        """Commit what the caller may change. Raises PlaybookForbidden, PlaybookNotFound, ChangeRefused."""
        unread = Snapshot(version=Version(epoch=base.version.epoch))
        done = await self._checked.commit(learner_id, delta, unread)
        report = await off_loop(reported, done.report, done.snapshot.playbook, base.playbook.entries)
        return replace(done, report=report, snapshot=await _seen(done.snapshot))

    async def history(self, learner_id: str) -> History:
        """Return the present content, and none of the changes: they hold what does not leave the owner."""
        snapshot = await self.load(learner_id)
        return History(snapshot.version.n, snapshot.playbook, ())

    async def versions(self, key: str) -> tuple[StoredVersion, ...]:
        """Return the versions, without the reasons that were given for them."""
        return tuple(replace(each, reason="") for each in await self._checked.versions(key))

    async def content_at(self, key: str, n: int) -> Playbook | None:
        """Return the content of a version as others see it; None where it is not readable."""
        found = await self._checked.content_at(key, n)
        return None if found is None else await in_slices(outgoing(found))


async def _seen(snapshot: Snapshot) -> Snapshot:
    return await in_slices(outgoing_snapshot(snapshot))
