"""LangGraph's conformance suite for the server's checkpointer, as far as it keeps checkpoints.

It drops pending writes on purpose: a turn that another server continues begins from its stored request, and
a checkpoint is written only with the answer (`ace_graph.server.conversations.checkpointer`). So the tests
of the suite that look for pending writes fail, each of them and no other one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver

from ace_graph.server.conversations.checkpointer import TurnCheckpointer

DROPPED = {
    "put": set[str](),
    "get_tuple": {"test_get_tuple_pending_writes"},
    "list": {"test_list_includes_pending_writes"},
    "delete_thread": {"test_delete_thread_removes_writes"},
}
"""The capabilities that the checkpointer has, and the tests of each that look for pending writes."""


async def _turns() -> AsyncGenerator[BaseCheckpointSaver[str]]:
    yield TurnCheckpointer(InMemorySaver())


@pytest.mark.parametrize("capability", DROPPED)
async def test_only_pending_writes_are_dropped(capability: str) -> None:
    report = await validate(checkpointer_test(name="turns")(_turns), capabilities={capability})
    result = report.results[capability]
    failed = {each.partition(":")[0] for each in result.failures or ()}
    assert failed == DROPPED[capability], result.failures
    assert result.tests_passed > 0
