"""Conversations move from SQLite to PostgreSQL and back: the messages, going on, what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ace_graph.agent.offline_tutor import OfflineTutor
from ace_graph.base import ConfigurationError, Settings
from ace_graph.server import Overrides
from ace_graph.server.conversations import (
    AcceptedTurn,
    Conversations,
    ConversationsCopied,
    copy_conversations,
    open_database,
)
from tests.server.serving import HandClock, Json, bearer, serving, settings_for

LATER = datetime(2027, 1, 1, tzinfo=UTC)


async def copied(source: str, target: str, *, verify_only: bool = False) -> ConversationsCopied:
    settings = Settings()
    async with open_database(source, settings, exists=True) as here, open_database(target, settings) as there:
        return await copy_conversations(here, there, LATER, verify_only=verify_only)


async def talked(place: str, memory: Path, *turns: tuple[str, str]) -> list[Json]:
    """Let learners say something in c1, and return what each reads in c1 then."""
    settings = settings_for(store=f"sqlite:///{memory}", conversations=place)
    async with serving(settings, Overrides(model=OfflineTutor())) as served:
        for learner, message in turns:
            reply = await served.post(message, "c1", learner)
            assert reply.status_code == 200, reply.text
        read = [
            await served.client.get("/api/conversations/c1", headers=bearer(who)) for who in ("alice", "bob")
        ]
        return [each.json() for each in read]


async def test_conversations_go_on_in_postgresql_and_back(empty_postgres: str, tmp_path: Path) -> None:
    first, last, memory = str(tmp_path / "first.db"), str(tmp_path / "last.db"), tmp_path / "ace.db"
    before = await talked(
        first,
        memory,
        ("alice", "Call me Ann."),
        ("bob", "What is 1/2 + 1/3?"),
        ("alice", "What is 1/3 + 1/4?"),
    )
    assert [len(each["messages"]) for each in before] == [4, 2]
    missing = await copied(first, empty_postgres, verify_only=True)
    assert (missing.conversations, len(missing.problems)) == (2, 2)
    assert await copied(first, empty_postgres) == ConversationsCopied(2, 0, 2)
    assert await copied(first, empty_postgres) == ConversationsCopied(2, 2, 0)
    assert await copied(first, empty_postgres, verify_only=True) == ConversationsCopied(2, 2, 0)
    assert await talked(empty_postgres, memory) == before
    after = await talked(empty_postgres, memory, ("alice", "What is 2/5 + 1/5?"))
    assert after[0]["messages"][:4] == before[0]["messages"]
    assert await copied(empty_postgres, last) == ConversationsCopied(2, 0, 2)
    assert await talked(last, memory) == after


async def test_what_was_said_since_is_brought_over(tmp_path: Path) -> None:
    source, target, memory = str(tmp_path / "source.db"), str(tmp_path / "target.db"), tmp_path / "ace.db"
    await talked(source, memory, ("alice", "Call me Ann."), ("bob", "Call me Bob."))
    await copied(source, target)
    now = await talked(source, memory, ("alice", "What is 1/2 + 1/3?"))
    assert (await copied(source, target)) == ConversationsCopied(2, 1, 1)
    assert [each["messages"] for each in await talked(target, memory)] == [each["messages"] for each in now]


async def test_a_conversation_of_the_target_is_left_alone(tmp_path: Path) -> None:
    source, target, memory = str(tmp_path / "source.db"), str(tmp_path / "target.db"), tmp_path / "ace.db"
    await talked(target, memory, ("alice", "Call me Ann."))
    there = await talked(target, memory)
    await talked(source, memory, ("alice", "Call me Al."), ("bob", "Call me Bob."))
    result = await copied(source, target)
    (problem,) = result.problems
    assert (problem.learner_id, problem.conversation_id, result.copied) == ("alice", "c1", 1)
    assert "is another conversation there" in problem.why
    assert (await talked(target, memory))[0] == there[0]
    async with open_database(target, Settings()) as database:
        await database.execute(
            "UPDATE ace_conversations SET used_at = ? WHERE learner_id = ?", (LATER.isoformat(), "bob")
        )
    since = (await copied(source, target)).problems
    assert [each.why for each in since if each.learner_id == "bob"] == [
        "was used there since it was copied: keep what is there"
    ]


async def test_what_stopped_servers_left_comes_along(tmp_path: Path) -> None:
    settings, turn = Settings(), AcceptedTurn("r1", "c1", "alice", '{"message": "x"}', thread_id="r1")
    clock = HandClock()
    async with open_database(str(tmp_path / "source.db"), settings) as source:
        conversations = Conversations(source, clock, "one")
        await conversations.accept(turn)
        await source.execute(
            "INSERT INTO ace_unsaved (turn_id, learner_id, unsaved_json) VALUES (?, ?, ?)",
            ("r2", "alice", "{}"),
        )
        async with open_database(str(tmp_path / "target.db"), settings) as target:
            with pytest.raises(ConfigurationError, match="turns are under way"):
                await copy_conversations(source, target, clock.now())
            assert (await copy_conversations(source, target, LATER)).copied == 1
            for query in ("SELECT * FROM ace_runs", "SELECT * FROM ace_unsaved"):
                assert await target.execute(query, ()) == await source.execute(query, ()) != []


async def test_a_source_that_is_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no file"):
        await copied(str(tmp_path / "none.db"), str(tmp_path / "target.db"))
    assert not (tmp_path / "none.db").exists()
