"""Lessons in other words are one, by their vectors, whichever way they are grouped and kept."""

from __future__ import annotations

import asyncio

import pytest

from ace_graph import playbooks
from ace_graph.agent.embeddings import StaticVectors, find_static_vectors
from ace_graph.learning import batch_reflect, curate
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.cli.commands import Commands
from tests.learning.reflected_runs import add_runs
from tests.server.serving import bearer, serving, settings_for

LIMIT = "Check the rate limit before you call the API"
TEN = [
    LIMIT,
    "Before you call the API, look up its rate limit",
    "Verify the API's rate limit before you call it",
    "Log every response body",
    LIMIT,
    "Inspect the rate limit of the API before a call",
    "Retry 3 times after an error",
    "Retry 5 times after an error",
    "Never check the rate limit before you call the API",
    "Log every response body",
]
GROUPS = {
    LIMIT: 5,
    "Log every response body": 2,
    "Retry 3 times after an error": 1,
    "Retry 5 times after an error": 1,
    "Never check the rate limit before you call the API": 1,
}
Groups = dict[str, int]


async def _python(ace: Commands, learner: str) -> tuple[Groups, Groups]:
    async with SQLiteStore(ace.database) as store:
        reflections = await add_runs(store, learner, TEN)
        found = await batch_reflect(store, learner)
        assert found.status == "reflected"
        await curate(store, learner, reflections)
        return {each.pattern.text: each.pattern.frequency for each in found.patterns}, await _kept(
            store, learner
        )


async def _http(ace: Commands, learner: str) -> tuple[Groups, Groups]:
    async with SQLiteStore(ace.database) as store:
        reflections = await add_runs(store, learner, TEN)
        async with serving(settings_for(), Overrides(model=ScriptedModel([]), store=store)) as served:
            client, headers = served.client, bearer(learner)
            found = await client.post("/api/trajectories/reflect", json={}, headers=headers)
            body = {"reflections": reflections}
            await client.post("/api/playbooks/default/curate", json=body, headers=headers)
        groups = {each["text"]: each["frequency"] for each in found.json()["patterns"]}
        return groups, await _kept(store, learner)


def _command_line(ace: Commands, learner: str) -> tuple[Groups, Groups]:
    async def prepared() -> list[str]:
        async with SQLiteStore(ace.database) as store:
            return await add_runs(store, learner, TEN)

    async def kept() -> Groups:
        async with SQLiteStore(ace.database) as store:
            return await _kept(store, learner)

    reflections = asyncio.run(prepared())
    found = ace.ok("reflect", "--batch", "--learner", learner, "--json").json
    ace.ok("playbook", "curate", *reflections, "--learner", learner)
    return {each["text"]: each["frequency"] for each in found["patterns"]}, asyncio.run(kept())


async def _kept(store: SQLiteStore, learner: str) -> Groups:
    bullets = (await store.load(learner)).playbook.bullets()
    return {bullet.content: bullet.evidence_count for bullet in bullets}


def test_python_http_and_the_command_line_make_the_same_groups(ace: Commands) -> None:
    expected = (GROUPS, GROUPS)
    assert asyncio.run(_python(ace, "ann")) == expected
    assert asyncio.run(_http(ace, "ben")) == expected
    assert _command_line(ace, "cem") == expected


def test_without_vectors_the_words_alone_group(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACE_EMBEDDINGS", "off")
    for groups, kept in (asyncio.run(_python(ace, "ann")), _command_line(ace, "cem")):
        assert (len(groups), len(kept)) == (8, 8)


async def test_an_update_of_a_playbook_groups_as_well() -> None:
    vectors = find_static_vectors()
    assert isinstance(vectors, StaticVectors)
    async with SQLiteStore() as store:
        async with serving(settings_for(), Overrides(model=ScriptedModel([]), store=store)) as served:
            client, headers = served.client, bearer("ann")
            made = await client.post("/api/playbooks", json={"name": "web"}, headers=headers)
            body = {"merge": True, "bullets": [{"content": text} for text in TEN]}
            await client.put(f"/api/playbooks/{made.json()['playbookId']}", json=body, headers=headers)
        await playbooks.create(store, "api", owner="ann")
        await playbooks.update_playbook(store, TEN, "api", owner="ann", embeddings=vectors)
        for name in ("web", "api"):
            bullets = list((await playbooks.get_playbook(store, name, "ann")).playbook.bullets())
            assert {bullet.content: bullet.seen for bullet in bullets} == GROUPS
            assert {"verify", "inspect"} <= set(bullets[0].keywords)
