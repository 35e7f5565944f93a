"""What a person or the host adds is given, by whatever way: it is shown without proof, and nobody's trial."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from ace_graph import ACEContext, build_ace_graph, remember
from ace_graph.agent.offline_tutor import OfflineTutor
from ace_graph.memory import BulletSource, proven
from ace_graph.memory.delta import Add
from ace_graph.memory.sharing import Trust, trust_of
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.server import Overrides
from tests.cli.commands import Commands
from tests.graph.conftest import CountingStore
from tests.server.serving import Served, bearer, serving, settings_for, token

TEXT = "Draw the fractions as bars"
PAGE = "/page/playbooks/default/add"


async def said_in_a_turn(store: SQLiteStore, served: Served, ace: Commands) -> None:
    graph = build_ace_graph(model=OfflineTutor(), store=store)
    said = HumanMessage(f"Remember that {TEXT}")
    await graph.ainvoke({"messages": [said]}, context=ACEContext(learner_id="alice"))


async def by_command(store: SQLiteStore, served: Served, ace: Commands) -> None:
    url = f"sqlite:///{ace.database}"
    await asyncio.to_thread(ace.ok, "playbook", "add", TEXT, "--learner", "alice", "--store", url)


async def over_http(store: SQLiteStore, served: Served, ace: Commands) -> None:
    done = await served.client.post("/api/playbook", json={"content": TEXT}, headers=bearer("alice"))
    assert done.status_code == 201


async def merged_over_http(store: SQLiteStore, served: Served, ace: Commands) -> None:
    body = {"bullets": [{"content": TEXT}], "merge": True}
    done = await served.client.put("/api/playbooks/default", json=body, headers=bearer("alice"))
    assert done.status_code == 200


async def on_the_page(store: SQLiteStore, served: Served, ace: Commands) -> None:
    headers = {"cookie": f"ace_session={token('alice')}", "origin": str(served.client.base_url)}
    done = await served.client.post(PAGE, data={"content": TEXT}, headers=headers)
    assert "said=added" in done.headers["location"]


async def by_a_call(store: SQLiteStore, served: Served, ace: Commands) -> None:
    await remember(store, "alice", TEXT, kind="strategy")


WAYS = (said_in_a_turn, by_command, over_http, merged_over_http, on_the_page, by_a_call)


@pytest.mark.parametrize("way", WAYS)
async def test_what_a_person_or_the_host_adds_is_given(
    way: Callable[[SQLiteStore, Served, Commands], Awaitable[None]], tmp_path: Path
) -> None:
    ace, store = Commands(tmp_path), SQLiteStore(tmp_path / "ace.db")
    async with serving(settings_for(tmp_path), Overrides(model=OfflineTutor())) as served:
        await way(store, served, ace)
    [bullet] = (await store.load("alice")).playbook.bullets()
    assert TEXT in bullet.content
    assert proven(bullet)
    assert trust_of(bullet) is Trust.GIVEN


@pytest.mark.parametrize("source", BulletSource)
async def test_an_agent_and_who_writes_anothers_playbook_give_nothing(source: BulletSource) -> None:
    """Their texts are on trial, as lessons are."""
    store = CountingStore()
    await store.seed("alice", Add(content=TEXT, sources=(source,)))
    [bullet] = (await store.load("alice")).playbook.bullets()
    on_trial = source in (BulletSource.AGENT, BulletSource.EDITOR)
    assert proven(bullet) is not on_trial
    assert (trust_of(bullet) is Trust.GIVEN) is not on_trial
