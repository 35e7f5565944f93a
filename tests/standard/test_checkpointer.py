"""LangGraph's conformance suite for the server's checkpointer, as far as it keeps checkpoints.

It drops pending writes on purpose: a turn that another server continues begins from its stored request, and
a checkpoint is written only with the answer (`ace_graph.server.conversations.checkpointer`). So the tests
of the suite that look for pending writes fail, each of them and no other one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate

from ace_graph.server.conversations import (
    PostgresConversations,
    SQLiteConversations,
    TurnCheckpointer,
    open_postgres,
    open_sqlite,
)

DROPPED = {
    "put": set[str](),
    "get_tuple": {"test_get_tuple_pending_writes"},
    "list": {"test_list_includes_pending_writes"},
    "delete_thread": {"test_delete_thread_removes_writes"},
}
"""The capabilities that the checkpointer has, and the tests of each that look for pending writes."""

Open = Callable[[], Awaitable[SQLiteConversations | PostgresConversations]]


async def failures(open_database: Open, capability: str) -> set[str]:
    """Return which tests of a capability fail with the checkpointer on a database of the server's."""

    async def checkpointers() -> AsyncGenerator[BaseCheckpointSaver[str]]:
        database = await open_database()
        try:
            yield TurnCheckpointer(database.saver, translated=database.translated)
        finally:
            await database.close()

    report = await validate(checkpointer_test(name="turns")(checkpointers), capabilities={capability})
    result = report.results[capability]
    assert result.tests_passed > 0
    return {each.partition(":")[0] for each in result.failures or ()}


@pytest.mark.parametrize("capability", DROPPED)
@pytest.mark.parametrize("where", ["in the process", "in a file"])
async def test_only_pending_writes_are_dropped(tmp_path: Path, where: str, capability: str) -> None:
    path = tmp_path / "talk.db" if where == "in a file" else None
    assert await failures(lambda: open_sqlite(path), capability) == DROPPED[capability]


@pytest.mark.parametrize("capability", DROPPED)
async def test_only_pending_writes_are_dropped_on_postgresql(postgres: str, capability: str) -> None:
    assert await failures(lambda: open_postgres(postgres), capability) == DROPPED[capability]
