"""LangGraph's server with the memory in PostgreSQL, as LangGraph's own client uses it."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from langgraph_sdk import get_client

from ace_graph import open_store
from tests.studio.client import Json
from tests.studio.server import dev_server

pytestmark = pytest.mark.slow


def _asked(text: str) -> Json:
    return {"messages": [{"role": "user", "content": text}]}


async def test_assistants_threads_and_crons_use_a_memory_in_postgresql(postgres: str, tmp_path: Path) -> None:
    with dev_server(tmp_path, ACE_STORE=postgres) as server:
        async with get_client(url=server.url) as client:
            ada = await client.assistants.create("ace_graph", context={"learner_id": "ada"})
            name = ada["assistant_id"]
            threads = [(await client.threads.create())["thread_id"] for _ in range(2)]
            told = cast("Json", await client.runs.wait(threads[0], name, input=_asked("Call me Ada.")))
            out = cast("Json", await client.runs.wait(threads[1], name, input=_asked("What is 12*5?")))
            state = await client.threads.get_state(threads[1])
            await client.crons.create(name, schedule="0 0 1 1 *", input=_asked("What is 1/2 + 1/3?"))
            (cron,) = await client.crons.search(assistant_id=name)
            await client.crons.delete(cron["cron_id"])
            left = await client.crons.search(assistant_id=name)
    assert out["result"]["injected"] == told["learning"]["added"]
    assert len(cast("Json", state["values"])["messages"]) == 2
    assert (cron["schedule"], left) == ("0 0 1 1 *", [])
    async with open_store(postgres) as store:
        held = (await store.load("ada")).playbook
    assert [bullet.id for bullet in held.bullets()] == told["learning"]["added"]
