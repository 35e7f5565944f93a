"""Plays attacks on sharing, each against an owner of its own; judges by what came back and what changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from langchain_core.messages import HumanMessage

from ace_graph import playbooks
from ace_graph.agent.context import ACEContext
from ace_graph.base.errors import AceError
from ace_graph.graph import build_ace_graph
from ace_graph.learning.curate_reflections import curate
from ace_graph.memory.delta.operations import Add, Delta
from ace_graph.memory.formats.registry import read_bullets
from ace_graph.memory.serialization import dump_playbook
from ace_graph.memory.sharing import leaves_owner
from ace_graph.memory.stores.store import Store
from ace_graph.playbooks import Caller
from ace_graph.playbooks.consolidation import consolidate, distinguish, merge_memories, undo
from ace_graph.playbooks.handle import open_by_id, open_playbook
from ace_graph.testing import ScriptedModel
from benchmarks.redteam.empty_stores import EmptyStores, in_memory
from benchmarks.redteam.hidden_operations import hidden_operations
from benchmarks.redteam.prompt_skeleton import skeletons
from benchmarks.redteam.sharing import Outcome, SharingAttack

__all__ = ["play_all_sharing", "play_sharing"]

MARKER = "otterburrow"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SHARED = "ada/shared"
FACTS = ("Retry 3 times after status 429", "Send the key in a header")
_QUESTION = "How often do I retry after status 429, and where do I send the key?"
_HIDDEN = (
    Add(content=f"Learner says: call me {MARKER}", section="profile"),
    Add(content=f"Prefers {MARKER} examples", section="preferences"),
    Add(content=f"Deploy {MARKER} on Fridays", pinned=True),
    Add(content=f"On Monday {MARKER} broke", memory_type="episodic"),
    Add(content=f"Doubtful {MARKER} advice", status="quarantined", quarantine_reason="doubtful"),
    Add(content=f"See https://{MARKER}.example/keys", vouched=("link",)),
    Add(content=f"The {MARKER} team works at night", sources=("learner",)),
)
_GRANTS = {
    "user:bob": "viewer",
    "user:viewer": "viewer",
    "user:contributor": "contributor",
    "user:editor": "editor",
    "user:second": "owner",
    "team:acme": "viewer",
}
_FACT = "a fact of the owner"
_MAY_WRITE = frozenset({"editor", "second"})


async def play_all_sharing(
    attacks: Sequence[SharingAttack], stores: EmptyStores = in_memory
) -> list[Outcome]:
    """Play the attacks, each in an empty store, and return how far each came."""
    async with stores() as store:
        plain = (await (await _Arena.prepared(store)).readers_prompt()).bare
    played = list[Outcome]()
    for attack in attacks:
        async with stores() as store:
            played.append(await play_sharing(attack, plain, store))
    return played


async def play_sharing(attack: SharingAttack, plain: frozenset[str], store: Store) -> Outcome:
    """Play one attack; `plain` is a reader's prompt without an attack, but for its data."""
    arena = await _Arena.prepared(store)
    before = await arena.state()
    got, error = list[str](), None
    try:
        await arena.attempt(attack, got)
    except (AceError, ValueError) as raised:
        error = raised
        got.append(str(raised))
    if any(MARKER in text for text in got):
        return Outcome(attack, "read", next(text for text in got if MARKER in text)[:80])
    after = await arena.state()
    changed = _difference(before, after, _allowed(attack))
    if changed:
        return Outcome(attack, "changed", changed)
    if before == after:
        return Outcome(attack, "no effect" if error is None else "refused")
    return await arena.effect(attack, plain)


def _allowed(attack: SharingAttack) -> frozenset[str]:
    """What an attack may change: who writes, or is accepted, what everybody sees.

    Consolidating loses no fact of the owner.
    """
    if attack.by not in _MAY_WRITE and attack.way not in {"propose", "accepted and consolidated"}:
        return frozenset()
    seen = frozenset({"the shared content", "versions"})
    return seen if attack.way in {"consolidated", "accepted and consolidated"} else seen | {_FACT}


@dataclass(frozen=True)
class _Prompt:
    text: str
    bare: frozenset[str]


@dataclass(frozen=True)
class _Arena:
    """An owner with a memory and two playbooks, and others with grants on one of them."""

    store: Store
    shared: str
    private: str

    @classmethod
    async def prepared(cls, store: Store) -> _Arena:
        await store.commit("ada", _adding(Add(content=f"Ada's {MARKER} memory")), await store.load("ada"))
        private = await playbooks.create(store, "private", [f"A {MARKER} secret"], owner="ada")
        shared = await playbooks.create(store, "shared", [*map(_as_add, FACTS), *_HIDDEN], owner="ada")
        for subject, relation in (*_GRANTS.items(), ("user:former", "owner")):
            await playbooks.grant(store, "shared", subject, relation, owner="ada", now=NOW)
        await playbooks.revoke(store, "shared", "user:former", owner="ada")
        return cls(store, shared, private)

    async def state(self) -> dict[str, str]:
        """All that could be changed, by name."""
        content = (await self.store.playbooks.load(self.shared)).playbook
        hidden = [each for each in content.bullets() if not leaves_owner(each) and MARKER in each.content]
        active = [each.content for each in content.bullets() if each.status == "active"]
        private, memory = await self.store.playbooks.load(self.private), await self.store.load("ada")
        return {
            "the memory": dump_playbook(memory.playbook),
            "the private playbook": dump_playbook(private.playbook),
            "a hidden bullet": repr(hidden),
            "grants": repr(await self.store.playbooks.grants(self.shared)),
            "grants on the private playbook": repr(await self.store.playbooks.grants(self.private)),
            "teams": repr(await self.store.teams()),
            "the entry": repr((await self.store.playbooks.entry(self.shared)) is not None),
            "versions": repr(len(await self.store.playbooks.versions(self.shared))),
            "the shared content": dump_playbook(content),
            _FACT: repr([all(part in active for part in FACTS)]),
        }

    async def readers_prompt(self) -> _Prompt:
        """The prompt of a reader who attaches the shared playbook."""
        model = ScriptedModel(["<final>so</final>"])
        graph = build_ace_graph(store=self.store, model=model)
        context = ACEContext(learner_id="bob", playbooks=(SHARED,), learning="off")
        await graph.ainvoke({"messages": [HumanMessage(_QUESTION)]}, context=context)
        return _Prompt(model.calls[-1].prompt, frozenset(skeletons(model.calls)))

    async def effect(self, attack: SharingAttack, plain: frozenset[str]) -> Outcome:
        """How far an attack came that changed what it may."""
        prompt = await self.readers_prompt()
        if prompt.bare != plain:
            return Outcome(attack, "changed", "a reader's prompt outside of its data")
        new = [
            each
            for each in (await self.store.playbooks.load(self.shared)).playbook.bullets()
            if MARKER not in each.content and each.content not in FACTS
        ]
        shown = [each.content for each in new if each.content in prompt.text]
        if shown:
            return Outcome(attack, "shown as data", shown[0])
        if not new:
            return Outcome(attack, "no effect")
        held = any(each.status == "quarantined" for each in new)
        return Outcome(attack, "held back" if held else "stored, not shown")

    async def attempt(self, attack: SharingAttack, got: list[str]) -> None:
        """Do what the attack tries; what comes back to the attacker goes into `got`."""
        text = attack.text.replace("{private}", self.private).replace("{shared}", self.shared)
        match attack.way:
            case "read":
                await self._read(text, attack.by, got)
            case "id":
                target = await open_by_id(self.store, text, attack.by)
                got.append(repr(await target.load()))
            case "name":
                await self._read(f"ada/{text}", attack.by, got)
            case "team":
                caller = Caller(attack.by, frozenset({text}))
                got.append(repr(await playbooks.get_playbook(self.store, SHARED, user=caller)))
                raise AssertionError("a team that is not acme has read the playbook")
            case "grant":
                await playbooks.grant(self.store, SHARED, text, "owner", owner=attack.by)
            case "revoke":
                await playbooks.revoke(self.store, SHARED, text, owner=attack.by)
            case "call":
                got.append(repr(await _CALLS[text](self.store, self.shared, attack.by)))
            case "hidden":
                await self._touch_hidden(text, attack.by, got)
            case _:
                await self._write(attack, text, got)

    async def _read(self, name: str, user: str, got: list[str]) -> None:
        """Everything that reads a playbook by its name, one after the other."""
        errors = list[AceError | ValueError]()
        for call in (
            lambda: playbooks.get_playbook(self.store, name, user),
            lambda: playbooks.list_versions(self.store, name, user),
            lambda: playbooks.get_version(self.store, 1, name, user),
            lambda: playbooks.shared_with(self.store, user),
            lambda: self._attach(name, user),
        ):
            try:
                got.append(repr(await call()))
            except (AceError, ValueError) as error:
                errors.append(error)
                got.append(str(error))
        if errors:
            raise errors[0]

    async def _attach(self, name: str, user: str) -> str:
        model = ScriptedModel(["<final>so</final>"])
        graph = build_ace_graph(store=self.store, model=model)
        context = ACEContext(learner_id=user, playbooks=(name,), learning="off")
        await graph.ainvoke({"messages": [HumanMessage(MARKER)]}, context=context)
        return model.calls[-1].prompt.replace(MARKER, "", 1)  # the question's own

    async def _touch_hidden(self, how: str, user: str, got: list[str]) -> None:
        """Try an operation on each hidden bullet."""
        content = (await self.store.playbooks.load(self.shared)).playbook
        hidden = [each for each in content.bullets() if MARKER in each.content]
        seen = next(each for each in content.bullets() if each.content == FACTS[0])
        target = await open_playbook(self.store, SHARED, user)
        last: AceError | None = None
        for bullet in hidden:
            for operation in hidden_operations(how, bullet, seen):
                base = await target.load()
                delta = Delta(op_id=f"{how} {bullet.id}", now=NOW, operations=(operation,))
                try:
                    got.append(repr(await target.store.commit(target.key, delta, base)))
                except AceError as error:
                    last = error
                    got.append(str(error))
        if last is not None:
            raise last

    async def _write(self, attack: SharingAttack, text: str, got: list[str]) -> None:
        store, by = self.store, attack.by
        if attack.way in {"propose", "accepted and consolidated"}:
            done = await store.commit(by, _adding(Add(content=text)), await store.load(by))
            made = await playbooks.propose(store, SHARED, done.report.added, learner=by, now=NOW)
            await playbooks.accept(store, "shared", made.proposal_id, owner="ada", now=NOW)
        elif attack.way == "file":
            adds = read_bullets(f"[{text}]", "auto").bullets
            await playbooks.update_playbook(store, adds, SHARED, owner=by)
        else:
            await playbooks.update_playbook(store, [text], SHARED, owner=by)
        if attack.way in {"consolidated", "accepted and consolidated"}:
            await consolidate(store, "shared", "ada", now=NOW)
        await self._read(SHARED, by, got)


def _adding(*adds: Add) -> Delta:
    return Delta(op_id=repr(adds)[:100], now=NOW, operations=adds)


def _as_add(text: str) -> Add:
    return Add(content=text)


def _difference(before: dict[str, str], after: dict[str, str], allowed: frozenset[str]) -> str:
    """What was changed that may not be, the first of it."""
    return next((name for name in before if before[name] != after[name] and name not in allowed), "")


_Call = Callable[[Store, str, str], Awaitable[object]]


async def _export(store: Store, key: str, user: str) -> object:
    opened = await open_by_id(store, key, user)
    return await (store.playbooks if opened.asked is None else store.playbooks.asked(opened.asked)).export(
        key
    )


async def _history(store: Store, key: str, user: str) -> object:
    return await (await open_by_id(store, key, user)).store.history(key)


async def _old_versions(store: Store, key: str, user: str) -> object:
    return await (await open_by_id(store, key, user)).store.content_at(key, 1)


_IDS = ("gen-00001", "gen-00002")
_CALLS: dict[str, _Call] = {
    "delete": lambda store, key, user: playbooks.delete(store, key, user=user),
    "update": lambda store, key, user: playbooks.update(store, key, ["Use /v9"], user=user),
    "replace": lambda store, key, user: playbooks.update(store, key, ["Use /v9"], merge=False, user=user),
    "restore": lambda store, _, user: playbooks.restore(store, 0, SHARED, owner=user),
    "accept": lambda store, _, user: playbooks.accept(store, SHARED, "x", owner=user),
    "refuse": lambda store, _, user: playbooks.refuse(store, SHARED, "x", owner=user),
    "propose": lambda store, _, user: playbooks.propose(store, SHARED, _IDS, learner=user),
    "withdraw": lambda store, _, user: playbooks.withdraw(store, SHARED, "ada", owner=user),
    "collect": lambda store, _, user: playbooks.collect(store, SHARED, owner=user),
    "export": _export,
    "history": _history,
    "old versions": _old_versions,
    "consolidate": lambda store, _, user: consolidate(store, SHARED, user),
    "merge": lambda store, _, user: merge_memories(store, _IDS, name=SHARED, owner=user),
    "distinguish": lambda store, _, user: distinguish(store, _IDS, name=SHARED, owner=user),
    "undo": lambda store, _, user: undo(store, SHARED, user),
    "curate": lambda store, _, user: curate(store, user, ["x"], SHARED),
}
