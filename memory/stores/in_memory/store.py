"""The store of tests and notebooks: plain dictionaries, gone with the process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TypeVar

from ace_graph.errors import PlaybookExists
from ace_graph.memory.catalogue.attaching import AttachedPlaybook, Loaded, Wanted
from ace_graph.memory.catalogue.entry import PlaybookEntry, Scope
from ace_graph.memory.catalogue.name import DEFAULT, PlaybookRef
from ace_graph.memory.commit import Commit, CommitPlan, NewToken, check_expected
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.sharing.asked import Asked, not_found
from ace_graph.memory.sharing.grant import Grant, Subject
from ace_graph.memory.sharing.proposal import Proposal, ProposalState
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import (
    LearnerExport,
    PlaybookExport,
    SharingExport,
    checked_learner_id,
    random_token,
)
from ace_graph.memory.stores.commit_queue import CommitRequest
from ace_graph.memory.stores.in_memory.learner import HeldLearner
from ace_graph.memory.stores.in_memory.named import NamedPlaybooks
from ace_graph.memory.stores.in_memory.namespace import Held, InMemoryNamespace
from ace_graph.memory.stores.in_memory.sharing import Teams
from ace_graph.memory.stores.whole import WholeMemory
from ace_graph.portal import portal

__all__ = ["InMemoryPlaybooks", "InMemoryStore", "Learners"]

T = TypeVar("T")


class Learners(Held):
    """The data of one or more stores; two stores with the same `Learners` are like two processes."""

    def __init__(self) -> None:
        super().__init__()
        self.named = NamedPlaybooks()
        self.teams = Teams()


class InMemoryStore(InMemoryNamespace):
    """A `NamingStore` (see `ace_graph.memory.stores.playbooks`) that lives in this process only."""

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        learners: Learners | None = None,
        new_token: NewToken = random_token,
    ) -> None:
        self._shared = learners or Learners()
        super().__init__(self._shared, policy or Policy(), new_token)

    @property
    def playbooks(self) -> InMemoryPlaybooks:
        """The named playbooks."""
        return InMemoryPlaybooks(self._shared, self.policy.of_playbooks(), self._new_token)

    async def load_attached(
        self, learner_id: str, wanted: Sequence[Wanted], known: Snapshot | None = None
    ) -> Loaded:
        """Return the newest snapshot and the named playbooks; see `NamingStore.load_attached`."""
        learner, named = checked_learner_id(learner_id), self._shared.named

        def attached(each: Wanted) -> AttachedPlaybook | None:
            entry = named.find(each.ref)
            if entry is None:
                return None
            known = entry.version.same_content(each.known)
            content = None if known else named.by_id[entry.playbook_id].snapshot.playbook
            grants = named.grants.to(entry.playbook_id, each.subjects)
            return AttachedPlaybook(
                entry.playbook_id, entry.name, entry.version, content, entry.owner, grants
            )

        def load() -> Loaded:
            return Loaded(self._known(self._held(learner).snapshot, known), tuple(map(attached, wanted)))

        return await self._on_portal(load)

    async def teams_of(self, user: str) -> tuple[str, ...]:
        """Return the teams that a user is in; see `NamingStore.teams_of`."""
        return await self._on_portal(lambda: self._shared.teams.of(user))

    async def teams(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return teams in order; see `NamingStore.teams`."""
        found = await self._on_portal(lambda: self._shared.teams.all())
        return tuple(team for team in found if team > after)[: max(0, limit)]

    async def teams_like(self, team: str) -> tuple[str, ...]:
        """Return the teams that could be taken for this one; see `NamingStore.teams_like`."""
        return await self._on_portal(lambda: self._shared.teams.like(team))

    async def members(self, team: str, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return members of a team in order; see `NamingStore.members`."""
        found = await self._on_portal(lambda: self._shared.teams.members(team))
        return tuple(member for member in found if member > after)[: max(0, limit)]

    async def add_members(self, team: str, members: Collection[str]) -> int:
        """Add members to a team; see `NamingStore.add_members`."""
        return await self._on_portal(lambda: self._shared.teams.add(team, members))

    async def remove_members(self, team: str, members: Collection[str]) -> int:
        """Remove members of a team; see `NamingStore.remove_members`."""
        return await self._on_portal(lambda: self._shared.teams.remove(team, members))

    async def proposals_by(self, user: str, limit: int = 100, after: str = "") -> tuple[Proposal, ...]:
        """Return what a user has proposed; see `NamingStore.proposals_by`."""
        found = await self._on_portal(lambda: self._shared.named.proposals.by(user))
        return tuple(each for each in found if each.proposal_id > after)[: max(0, limit)]

    async def describe(self) -> str:
        """Say where the data is."""
        return "in this process only"

    def _export(self, learner: str) -> LearnerExport:
        named = self.playbooks
        owned = tuple(PlaybookExport(e, named.exported(e)) for e in self._shared.named.of(learner))
        grants = self._shared.named.grants.about(learner, [each.entry.playbook_id for each in owned])
        made = self._shared.named.proposals.by(learner)
        sharing = SharingExport(self._shared.teams.of(learner), grants, made)
        return replace(super()._export(learner), playbooks=owned, sharing=sharing)

    def _forget(self, learner: str) -> bool:
        owned = [entry.playbook_id for entry in self._shared.named.of(learner)]
        found = [super()._forget(learner), *map(self.playbooks.deleted, owned)]
        named = self._shared.named
        found += [self._shared.teams.forget(learner), named.grants.forget(learner)]
        return any([*found, named.proposals.drop(lambda each: each.by == learner)])


def _own_memory(learner: str, held: HeldLearner) -> PlaybookEntry:
    version = held.snapshot.version
    return PlaybookEntry(DEFAULT, learner, DEFAULT, held.created_at, held.changed_at, version=version)


class InMemoryPlaybooks(InMemoryNamespace):
    """A `PlaybookStore`: the named playbooks among the data of stores."""

    def __init__(self, learners: Learners, policy: Policy, new_token: NewToken = random_token) -> None:
        super().__init__(learners.named, policy, new_token)
        self._named, self._of_learners = learners.named, learners.by_id

    def asked(self, asked: Asked) -> InMemoryPlaybooks:
        """Return the same playbooks, checked for one caller; see `PlaybookStore.asked`."""
        other = copy(self)
        other._asked = asked
        return other

    async def check(self, playbook_id: str, needed: Right) -> None:
        """Check a caller who asks; see `PlaybookStore.check`."""
        await self._on_portal(lambda: self._check(needed))

    async def create(self, entry: PlaybookEntry, delta: Delta, grants: tuple[Grant, ...] = ()) -> Commit:
        """Store a new playbook; see `PlaybookStore.create`."""
        key = checked_learner_id(entry.playbook_id)
        request = CommitRequest(
            key, delta, Snapshot(), None, None, self.policy, self._new_token, entry, grants
        )
        return await portal().run(self._commit(request), shielded=True)

    async def find(self, ref: PlaybookRef) -> PlaybookEntry | None:
        """Return the entry of an owner and a name; see `PlaybookStore.find`."""

        def find() -> PlaybookEntry | None:
            if not ref.is_default:
                return self._named.find(ref)
            held = None if ref.owner is None else self._of_learners.get(ref.owner)
            return None if held is None or ref.owner is None else _own_memory(ref.owner, held)

        return await self._on_portal(find)

    async def entry(self, playbook_id: str) -> PlaybookEntry | None:
        """Return the entry with that id."""
        return await self._on_portal(lambda: self._named.now(self._named.entries.get(playbook_id)))

    async def entries(
        self, owner: str | None, limit: int = 100, after: str = ""
    ) -> tuple[PlaybookEntry, ...]:
        """Return the entries of an owner; see `PlaybookStore.entries`."""
        found = await self._on_portal(lambda: self._named.of(owner))
        return tuple(entry for entry in found if entry.name_key > after)[: max(0, limit)]

    async def grants(self, playbook_id: str, limit: int = 100, after: str = "") -> tuple[Grant, ...]:
        """Return grants of a playbook; see `PlaybookStore.grants`."""

        def read() -> list[Grant]:
            self._check(Right.OWN)
            return self._named.grants.of(playbook_id)

        found = await self._on_portal(read)
        return tuple(each for each in found if str(each.subject) > after)[: max(0, limit)]

    async def put_grant(self, grant: Grant) -> None:
        """Store a grant; see `PlaybookStore.put_grant`."""

        def put() -> None:
            self._check(Right.OWN)
            if grant.playbook_id not in self._named.entries:
                raise not_found(grant.playbook_id)
            self._named.grants.put((grant,))

        await self._on_portal(put)

    async def drop_grant(self, playbook_id: str, subject: Subject) -> bool:
        """Delete a grant; see `PlaybookStore.drop_grant`."""

        def drop() -> bool:
            self._check(Right.OWN)
            return self._named.grants.drop(playbook_id, str(subject))

        return await self._on_portal(drop)

    async def shared_with(
        self, subjects: Sequence[str], limit: int = 100, after: str = ""
    ) -> tuple[tuple[PlaybookEntry, tuple[Grant, ...]], ...]:
        """Return playbooks that are shared; see `PlaybookStore.shared_with`."""

        def find() -> list[tuple[PlaybookEntry | None, tuple[Grant, ...]]]:
            ids = [each for each in self._named.grants.shared_with(subjects) if each > after]
            return [
                (self._named.now(self._named.entries.get(each)), self._named.grants.to(each, subjects))
                for each in ids[: max(0, limit)]
            ]

        found = await self._on_portal(find)
        return tuple((entry, grants) for entry, grants in found if entry is not None)

    async def put_proposal(self, proposal: Proposal) -> None:
        """Store a new proposal; see `PlaybookStore.put_proposal`."""

        def put() -> None:
            self._check(Right.PROPOSE)
            if proposal.playbook_id not in self._named.entries:
                raise not_found(proposal.playbook_id)
            self._named.proposals.put(proposal)

        await self._on_portal(put)

    async def proposals(
        self, playbook_id: str, state: ProposalState | None = None, limit: int = 100, after: str = ""
    ) -> tuple[Proposal, ...]:
        """Return proposals for a playbook; see `PlaybookStore.proposals`."""
        found = await self._on_portal(lambda: self._named.proposals.of(playbook_id, state, after))
        return tuple(found[: max(0, limit)])

    async def decide(self, proposal: Proposal, held: ProposalState) -> bool:
        """Store a decision; see `PlaybookStore.decide`."""

        def decide() -> bool:
            self._check(Right.WRITE)
            return self._named.proposals.decide(proposal, held)

        return await self._on_portal(decide)

    async def keep_contents(self, playbook_id: str, base: int, contents: Mapping[int, Playbook]) -> None:
        """Drop the other versions; see `PlaybookStore.keep_contents`."""
        await self._on_portal(lambda: self._held(playbook_id).keep_contents(base, contents))

    def exported(self, entry: PlaybookEntry) -> LearnerExport:
        """Return everything stored about a playbook. Runs on the portal."""
        return self._export(entry.playbook_id)

    def deleted(self, playbook_id: str) -> bool:
        """Delete a playbook. Runs on the portal."""
        return self._forget(playbook_id)

    def _unknown(self, request: CommitRequest, current: Snapshot) -> frozenset[str]:
        entry = request.entry or self._named.entries.get(request.learner)
        held = self._of_learners.get((entry and entry.owner) or "")
        return (held or HeldLearner()).unknown(request.references(current))

    def _before(self, request: CommitRequest) -> Commit | None:
        found = None if request.entry is None else self._named.find(request.entry.ref)
        if request.entry is not None and found and found.playbook_id != request.entry.playbook_id:
            raise PlaybookExists(f"there is a playbook {found.name} already: choose another name")
        self._check(Right.READ)
        self._check(Right.WRITE)
        return super()._before(request)

    def _written(self, request: CommitRequest, planned_from: Snapshot, plan: CommitPlan) -> Commit | None:
        done = super()._written(request, planned_from, plan)
        if done is not None and request.entry is not None:
            self._named.entries[request.entry.playbook_id] = request.entry
            self._named.grants.put(request.grants)
        return done

    async def owners(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return who owns named playbooks; see `PlaybookStore.owners`."""

        def found() -> list[str]:
            return sorted({each.owner for each in self._named.entries.values() if each.owner})

        listed = await self._on_portal(found)
        return tuple(owner for owner in listed if owner > after)[: max(0, limit)]

    async def set_fields(self, playbook_id: str, description: str | None, scope: Scope | None) -> bool:
        """Store another description and scope; see `PlaybookStore.set_fields`."""

        def put() -> bool:
            self._check(Right.OWN)
            held = self._named.entries.get(playbook_id)
            if held is not None:
                about = held.description if description is None else description
                self._named.entries[playbook_id] = replace(held, description=about, scope=scope or held.scope)
            return held is not None

        return await self._on_portal(put)

    async def forget(self, learner_id: str, expected_etag: str | None = None) -> bool:
        """Delete a playbook; see `PlaybookStore.forget`."""

        key = checked_learner_id(learner_id)

        def delete() -> bool:
            self._check(Right.OWN)
            held = self._learners.get(key)
            if held is not None:
                check_expected(expected_etag, held.snapshot.version)
            return self._forget(key)

        return await self._on_portal(delete)

    def _forget(self, learner: str) -> bool:
        self._check(Right.OWN)
        self._named.entries.pop(learner, None)
        self._named.grants.drop_all(learner)
        self._named.proposals.drop(lambda each: each.playbook_id == learner)
        return super()._forget(learner)

    def _whole(self, key: str) -> WholeMemory | None:
        found = super()._whole(key)
        return None if found is None else self._named.with_entry(key, found)

    def _put_whole(self, key: str, memory: WholeMemory) -> None:
        self._named.put_entry(key, memory)
        super()._put_whole(key, memory)

    def _check(self, needed: Right) -> None:
        """Check the right of the caller who asks. Runs on the portal, together with what it allows."""
        if self._asked is not None:
            key = self._asked.playbook_id
            entry = self._named.entries.get(key)
            self._asked.check(needed, entry, self._named.grants.to(key, self._asked.caller.subjects))

    async def _on_portal(self, work: Callable[[], T]) -> T:
        def checked() -> T:
            self._check(Right.READ)
            return work()

        return await super()._on_portal(checked)
