"""Memories by scope: own, of a team, shared; what a scope shows and takes is what the rights allow anyway."""

from __future__ import annotations

import pytest

from ace_graph import complete_trajectory, memories, playbooks, remember, search_memories, start_trajectory
from ace_graph.base import PlaybookForbidden, PlaybookNotFound, UsageError
from ace_graph.memory.delta import Add
from ace_graph.memory.stores import Store
from ace_graph.playbooks import Caller
from ace_graph.testing.conformance import contents

SCOPES = (None, "user", "tenant", "global")


async def _stored(store: Store) -> None:
    """Ada's memory and playbooks; playbooks of others for her team, for her, and for nobody."""
    await remember(store, "ada", "Pages have 50 rows")
    await playbooks.create(store, "notes", ["Pages of notes are short"], owner="ada", scope="user")
    await playbooks.create(store, "house", ["Pages of the house are long"], owner="ada", scope="tenant")
    await playbooks.create(store, "world", ["Pages of the world are round"], owner="ada", scope="global")
    await playbooks.create(store, "team", ["Pages of the team are blue"], owner="bob")
    await playbooks.create(store, "friend", ["Pages of a friend are green"], owner="bob")
    await playbooks.create(store, "secret", ["Pages of a secret are black"], owner="bob", scope="global")
    await playbooks.add_to_team(store, "ops", ["ada"])
    await playbooks.grant(store, "team", "team:ops", "editor", owner="bob")
    await playbooks.grant(store, "friend", "user:ada", owner="bob")


async def _seen(store: Store, scope: str | None, learner: Caller | str = "ada") -> set[str]:
    listed = {each.playbook for each in await memories(store, learner, "fact", scope=scope)}
    listed |= {each.playbook for each in await memories(store, learner, scope=scope)}
    found = {each.playbook for each in await search_memories(store, learner, "PAGES", scope=scope)}
    assert found == listed
    return found


async def test_a_scope_reads_own_team_or_shared_playbooks(store: Store) -> None:
    await _stored(store)
    assert [await _seen(store, scope) for scope in SCOPES] == [
        {"default"},
        {"default", "ada/notes"},
        {"ada/house", "bob/team"},
        {"ada/world", "bob/team", "bob/friend"},
    ]
    assert await search_memories(store, "ada", "pages blue", scope="user") == ()
    (one,) = await search_memories(store, "ada", "pages", 1, scope="global")
    assert one.playbook == "ada/world"


async def test_no_right_is_widened(store: Store) -> None:
    await _stored(store)
    assert [await _seen(store, scope, "eve") for scope in SCOPES] == [set()] * 4
    assert await _seen(store, "tenant", Caller("ada")) == {"ada/house"}, "teams are those of the caller"
    await playbooks.update_playbook(
        store, [Add(content="Pages of mine are red", pinned=True)], "team", owner="bob"
    )
    texts = [each.content for each in await memories(store, "ada", scope="tenant")]
    assert "Pages of mine are red" not in texts, "the core does not leave its owner"
    await playbooks.revoke(store, "friend", "user:ada", owner="bob")
    await playbooks.leave(store, "bob/team", owner="ada")
    assert await _seen(store, "tenant") == {"ada/house"}
    assert await _seen(store, "global") == {"ada/world"}


async def test_a_memory_goes_where_its_scope_and_the_right_allow(store: Store) -> None:
    await _stored(store)
    await playbooks.delete(store, (await playbooks.get_playbook(store, "house", "ada")).entry.playbook_id)
    await remember(store, "ada", "Retry after 429", scope="tenant")
    held = await playbooks.get_playbook(store, "team", "bob")
    assert contents(held.snapshot) == ["Pages of the team are blue", "Retry after 429"]
    await remember(store, "ada", "Close the file", scope="global", playbook="world")
    assert "Close the file" in contents((await playbooks.get_playbook(store, "world", "ada")).snapshot)
    with pytest.raises(UsageError, match="one of ada/world, bob/team"):
        await remember(store, "ada", "Close the file", scope="global")
    with pytest.raises(UsageError, match="can't write to any playbook of the scope tenant"):
        await remember(store, "eve", "Close the file", scope="tenant")
    with pytest.raises(PlaybookForbidden):
        await remember(store, "ada", "Close the file", scope="global", playbook="bob/friend")
    with pytest.raises(PlaybookNotFound):
        await remember(store, "ada", "Close the file", scope="global", playbook="bob/secret")
    assert (await store.load("eve")).absent


async def test_an_agent_labels_what_it_remembers(store: Store) -> None:
    await remember(store, "ada", "Pages have 50 rows", scope="agent", agent="crawler")
    await remember(store, "ada", "Totals are rounded down", agent="accountant")
    run = await start_trajectory(store, "ada", "Fetch", agent="crawler")
    await start_trajectory(store, "ada", "Add up", agent="accountant")
    await complete_trajectory(store, "ada", run, "success")
    found = await memories(store, "ada", scope="agent", agent="crawler")
    assert [each.content for each in found] == ["Pages have 50 rows"]
    assert [each.id for each in await memories(store, "ada", "trajectory", agent="crawler")] == [run]
    assert len(await memories(store, "ada", "fact")) == 2
    found = await search_memories(store, "ada", "rounded", agent="accountant")
    assert [each.content for each in found] == ["Totals are rounded down"]


async def test_what_is_no_scope_is_refused(store: Store) -> None:
    for scope in ("agent", "team", ""):
        with pytest.raises(UsageError, match="scope"):
            await memories(store, "ada", scope=scope)
        with pytest.raises(UsageError, match="scope"):
            await search_memories(store, "ada", "x", scope=scope)
        with pytest.raises(UsageError, match="scope"):
            await remember(store, "ada", "Name the unit", scope=scope)
    with pytest.raises(UsageError, match="leave the scope out"):
        await memories(store, "ada", "trajectory", scope="tenant")
    with pytest.raises(UsageError, match="no learner given"):
        await memories(store, Caller(None))
    assert (await store.load("ada")).absent
