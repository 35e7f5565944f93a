"""Every call of `ace_graph.playbooks` that reaches a playbook against a table: right by right; a run, too."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

import pytest

from ace_graph import ACEContext, build_ace_graph, playbooks, remember
from ace_graph.base import AceError, PlaybookForbidden, PlaybookNotFound
from ace_graph.learning import curate
from ace_graph.memory import Right
from ace_graph.memory.delta import Add
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.playbooks.consolidation import consolidate, distinguish, merge_memories, undo
from ace_graph.testing import ScriptedModel
from ace_graph.testing.conformance import rewriting, write
from tests.graph.conftest import ask
from tests.plugins.heavy import some_heavy

BELONGS = Right.OWN + 1
"""More than a right that can be granted: only whose playbook it is."""

NAME, FULL, BOB = "api_client", "ada/api_client", "bob"
FIRST, SECOND = "gen-00001", "gen-00002"
Call = Callable[[SQLiteStore, str], Awaitable[object]]


async def _run(store: SQLiteStore, _playbook_id: str) -> object:
    graph = build_ace_graph(store=store, model=ScriptedModel(["<final>so</final>"]))
    context = ACEContext(learner_id=BOB, playbooks=(FULL,), reflect_when="never")
    return await graph.ainvoke(ask("Which version of the service?"), context=context)


async def _accept(store: SQLiteStore, _playbook_id: str) -> object:
    (waiting,) = await playbooks.proposals(store, FULL, owner="ada")
    return await playbooks.accept(store, FULL, waiting.proposal_id, owner=BOB)


async def _refuse(store: SQLiteStore, _playbook_id: str) -> object:
    (waiting,) = await playbooks.proposals(store, FULL, owner="ada")
    return await playbooks.refuse(store, FULL, waiting.proposal_id, owner=BOB)


async def _watch(store: SQLiteStore, _playbook_id: str) -> object:
    return await anext(playbooks.watch(store, FULL, owner=BOB, after=0))


async def _worth(store: SQLiteStore, _playbook_id: str) -> object:
    return await playbooks.read_worth(store, await playbooks.open_playbook(store, FULL, BOB), BOB)


async def _audit(store: SQLiteStore, _playbook_id: str) -> object:
    return await playbooks.audit(await playbooks.open_playbook(store, FULL, BOB))


TABLE: dict[str, tuple[int, Call]] = {
    "a run": (Right.READ, _run),
    "open_playbook": (Right.READ, lambda store, _: playbooks.open_playbook(store, FULL, BOB)),
    "read_worth": (Right.READ, _worth),
    "audit": (Right.READ, _audit),
    "watch": (Right.READ, _watch),
    "remember": (Right.WRITE, lambda store, _: remember(store, BOB, "Use /v9", playbook=FULL)),
    "get_playbook": (Right.READ, lambda store, _: playbooks.get_playbook(store, FULL, BOB)),
    "get_version": (Right.READ, lambda store, _: playbooks.get_version(store, 1, FULL, BOB)),
    "list_versions": (Right.READ, lambda store, _: playbooks.list_versions(store, FULL, BOB)),
    "proposals": (Right.READ, lambda store, _: playbooks.proposals(store, FULL, owner=BOB)),
    "propose": (Right.PROPOSE, lambda store, _: playbooks.propose(store, FULL, [FIRST], learner=BOB)),
    "update_playbook": (
        Right.WRITE,
        lambda store, _: playbooks.update_playbook(store, ["x"], FULL, owner=BOB),
    ),
    "update": (Right.WRITE, lambda store, key: playbooks.update(store, key, ["Use /v9"], user=BOB)),
    "accept": (Right.WRITE, _accept),
    "refuse": (Right.WRITE, _refuse),
    "descendants": (Right.WRITE, lambda store, _: playbooks.descendants(store, FULL, owner=BOB)),
    "withdraw": (Right.WRITE, lambda store, _: playbooks.withdraw(store, FULL, BOB, owner=BOB)),
    "grants": (Right.OWN, lambda store, _: playbooks.grants(store, FULL, owner=BOB)),
    "grant": (Right.OWN, lambda store, _: playbooks.grant(store, FULL, "user:zoe", owner=BOB)),
    "leave": (Right.READ, lambda store, _: playbooks.leave(store, FULL, owner=BOB)),
    "show_use": (Right.READ, lambda store, _: playbooks.show_use(store, FULL, owner=BOB)),
    "revoke": (Right.OWN, lambda store, _: playbooks.revoke(store, FULL, "user:zoe", owner=BOB)),
    "collect": (Right.OWN, lambda store, _: playbooks.collect(store, FULL, owner=BOB)),
    "edit_fields": (
        Right.OWN,
        lambda store, _: playbooks.edit_fields(store, FULL, BOB, description="x"),
    ),
    "delete": (Right.OWN, lambda store, key: playbooks.delete(store, key, user=BOB)),
    "restore": (BELONGS, lambda store, _: playbooks.restore(store, 1, FULL, owner=BOB)),
    "consolidate": (BELONGS, lambda store, _: consolidate(store, FULL, BOB)),
    "merge_memories": (
        BELONGS,
        lambda store, _: merge_memories(store, [FIRST, SECOND], name=FULL, owner=BOB),
    ),
    "distinguish": (BELONGS, lambda store, _: distinguish(store, [FIRST, SECOND], name=FULL, owner=BOB)),
    "undo": (BELONGS, lambda store, _: undo(store, FULL, BOB)),
    "curate": (BELONGS, lambda store, _: curate(store, BOB, ["x"], FULL)),
}
WITHOUT = {"create", "list_playbooks", "shared_with", "keep_versions", "observe_versions", "template"} | {
    *("add_to_team", "remove_from_team", "caller_of", "version_number", "own_proposals", "figures_of")
}
"""Calls that reach nothing but the caller's own, or that only the host makes."""

RELATIONS = {
    "": Right.NONE,
    "viewer": Right.READ,
    "contributor": Right.PROPOSE,
    "editor": Right.WRITE,
    "owner": Right.OWN,
}


def test_the_table_has_every_call() -> None:
    calls = {name for name in dir(playbooks) if inspect.isfunction(getattr(playbooks, name))}
    assert calls - TABLE.keys() == WITHOUT


def _at_the_edge(each: tuple[str, str, str]) -> bool:
    """Whether it is the least relation that is enough, the greatest that is not, or none."""
    name, relation, by = each
    needed = TABLE[name][0]
    held = RELATIONS[relation]
    edge = held in (needed, needed - 1)
    return edge and held > Right.NONE if by == "team" else edge or held is Right.NONE


EVERY = [(name, relation, by) for name in TABLE for relation in RELATIONS for by in ("user", "team")]


@pytest.mark.parametrize(("name", "relation", "by"), some_heavy(EVERY, _at_the_edge))
async def test_a_call_does_what_the_right_allows(name: str, relation: str, by: str) -> None:
    """What is allowed is done; what is not raises and changes nothing."""
    needed, call = TABLE[name]
    store = SQLiteStore()
    await write(store, BOB, rewriting(Add(content="Retry after 429", id=FIRST)))
    texts = ["Use version one of the service", "Send the key in a header"]
    playbook_id = await playbooks.create(store, NAME, texts, owner="ada")
    await playbooks.add_to_team(store, "ops", [BOB])
    await playbooks.grant(store, NAME, "user:zoe", "contributor", owner="ada")
    await write(store, "zoe", rewriting(Add(content="Name the unit of every number", id=FIRST)))
    await playbooks.propose(store, FULL, [FIRST], learner="zoe")
    if relation:
        await playbooks.grant(store, NAME, "user:bob" if by == "user" else "team:ops", relation, owner="ada")
    before = await playbooks.get_playbook(store, NAME, "ada")
    try:
        await call(store, playbook_id)
        error = None
    except AceError as raised:
        error = raised
    held = RELATIONS[relation]
    if held >= needed:
        assert error is None
        return
    assert type(error) is (PlaybookForbidden if held else PlaybookNotFound)
    after = await playbooks.get_playbook(store, NAME, "ada")
    assert (after.entry, after.snapshot) == (before.entry, before.snapshot)
