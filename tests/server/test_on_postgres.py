"""A server with PostgreSQL alone: memory and conversations share one database."""

from __future__ import annotations

import asyncio

import pytest

from ace_graph.base import StoreUnavailable
from ace_graph.server import Overrides
from ace_graph.server.conversations import conversations_location, open_conversations
from tests.memory.stores.postgres.subject import PostgresSubject
from tests.server.serving import HandClock, serving, settings_for
from tests.server.test_chat import LESSON, model


async def test_a_server_keeps_everything_in_one_database(
    empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(store=empty_postgres, postgres_connections=3)
    assert conversations_location(settings) == empty_postgres, "beside the memory"
    async with serving(settings, Overrides(model=model("5/6", "7/12", lesson=LESSON))) as served:
        told = await served.ask("What is 1/2 + 1/3?", "c1")
        assert told["metadata"]["version"] == 1
        await served.ask("What is 1/3 + 1/4?", "c1")
        exported = (await served.client.get("/api/learner/export")).json()
        assert len(exported["conversations"][0]["messages"]) == 4
        assert (await served.client.get("/readyz")).status_code == 200
        subject = PostgresSubject(empty_postgres)
        ((used,),) = await subject.sql(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid()"
        )
        assert used <= 2 * 3
        gone = await served.client.delete("/api/learner")
        assert gone.json() == {"forgotten": True, "conversations": 1}
        assert await subject.sql("SELECT user_id FROM ace_learners") == []
        assert await subject.sql("SELECT learner_id FROM ace_conversations") == []


async def test_servers_that_start_at_once_make_the_tables_once(empty_postgres: str) -> None:
    settings = settings_for(store=empty_postgres, postgres_connections=2)

    async def start() -> None:
        async with open_conversations(settings, HandClock()) as conversations:
            assert await conversations.of("ada") == []

    await asyncio.gather(*(start() for _ in range(6)))


async def test_conversations_that_can_not_be_opened_name_their_setting() -> None:
    url = "postgresql://me:hunter2@127.0.0.1:9/ace"
    for settings, name in (
        (settings_for(store="memory://", conversations=url), "ACE_CONVERSATIONS"),
        (settings_for(store=url), "ACE_STORE"),
    ):
        with pytest.raises(StoreUnavailable, match=rf"connection refused.* {name} ") as raised:
            async with open_conversations(settings, HandClock()):
                pass
        assert "hunter2" not in str(raised.value)


async def test_a_server_works_behind_pgbouncer(pgbouncer: str) -> None:
    settings = settings_for(store=pgbouncer)
    async with serving(settings, Overrides(model=model("5/6", "7/12", lesson=LESSON))) as served:
        assert (await served.ask("What is 1/2 + 1/3?", "c1"))["metadata"]["version"] == 1
        assert (await served.ask("What is 1/3 + 1/4?", "c1"))["answer"] == "7/12"
        await served.client.delete("/api/learner")
