"""The store of tests and notebooks: plain dictionaries, gone with the process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ace_graph.errors import PlaybookExists
from ace_graph.memory.catalogue.attaching import AttachedPlaybook, Loaded, Wanted
from ace_graph.memory.catalogue.entry import PlaybookEntry
from ace_graph.memory.catalogue.name import DEFAULT, PlaybookRef
from ace_graph.memory.commit import Commit, NewToken
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport, PlaybookExport, checked_learner_id, random_token
from ace_graph.memory.stores.commit_queue import CommitRequest
from ace_graph.memory.stores.in_memory.learner import HeldLearner
from ace_graph.memory.stores.in_memory.namespace import Held, InMemoryNamespace

__all__ = ["InMemoryPlaybooks", "InMemoryStore", "Learners"]


class Learners(Held):
    """The data of one or more stores; two stores with the same `Learners` are like two processes."""

    def __init__(self) -> None:
        super().__init__()
        self.named = NamedPlaybooks()


class NamedPlaybooks(Held):
    """The named playbooks, and their entries by id."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[str, PlaybookEntry] = {}

    def find(self, ref: PlaybookRef) -> PlaybookEntry | None:
        """Return the entry of an owner and a name."""
        found = (e for e in self.entries.values() if (e.owner, e.name_key) == (ref.owner, ref.key))
        return self.now(next(found, None))

    def of(self, owner: str | None) -> list[PlaybookEntry]:
        """Return the entries of an owner in the order of their name keys."""
        found = [self.now(entry) for entry in self.entries.values() if entry.owner == owner]
        return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.name_key)

    def now(self, entry: PlaybookEntry | None) -> PlaybookEntry | None:
        """Return an entry with its times and its version as they are now."""
        if entry is None:
            return None
        held = self.by_id[entry.playbook_id]
        version = held.snapshot.version
        return replace(entry, created_at=held.created_at, updated_at=held.changed_at, version=version)


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
            return AttachedPlaybook(entry.playbook_id, entry.name, entry.version, content)

        def load() -> Loaded:
            return Loaded(self._known(self._held(learner).snapshot, known), tuple(map(attached, wanted)))

        return await self._on_portal(load)

    async def describe(self) -> str:
        """Say where the data is."""
        return "in this process only"

    def _export(self, learner: str) -> LearnerExport:
        named = self.playbooks
        owned = tuple(PlaybookExport(e, named.exported(e)) for e in self._shared.named.of(learner))
        return replace(super()._export(learner), playbooks=owned)

    def _forget(self, learner: str) -> bool:
        owned = [entry.playbook_id for entry in self._shared.named.of(learner)]
        return any([super()._forget(learner), *map(self.playbooks.deleted, owned)])


def _own_memory(learner: str, held: HeldLearner) -> PlaybookEntry:
    version = held.snapshot.version
    return PlaybookEntry(DEFAULT, learner, DEFAULT, held.created_at, held.changed_at, version=version)


class InMemoryPlaybooks(InMemoryNamespace):
    """A `PlaybookStore`: the named playbooks among the data of stores."""

    def __init__(self, learners: Learners, policy: Policy, new_token: NewToken = random_token) -> None:
        super().__init__(learners.named, policy, new_token)
        self._named, self._of_learners = learners.named, learners.by_id

    async def create(self, entry: PlaybookEntry, delta: Delta) -> Commit:
        """Store a new playbook; see `PlaybookStore.create`."""
        key = checked_learner_id(entry.playbook_id)
        request = CommitRequest(key, delta, Snapshot(), None, None, self.policy, self._new_token, entry)
        return await self._on_portal(lambda: self._create(request, entry))

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

    def _create(self, request: CommitRequest, entry: PlaybookEntry) -> Commit:
        found = self._named.find(entry.ref)
        if found is not None and found.playbook_id != entry.playbook_id:
            raise PlaybookExists(f"there is a playbook {entry.name} already: choose another name")
        done = self._commit(request)
        self._named.entries[entry.playbook_id] = entry
        return done

    def _forget(self, learner: str) -> bool:
        self._named.entries.pop(learner, None)
        return super()._forget(learner)
