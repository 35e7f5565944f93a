"""What one answer costs, in counts: jobs of the databases' threads, and questions for work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ace_graph.memory.stores.sql import SQLiteStore, SQLiteThread
from ace_graph.server import Overrides
from ace_graph.server.conversations import SQLiteConversations
from tests.server.serving import HandClock, Served, serving, settings_for, until
from tests.server.test_chat import LESSON, model


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the jobs of the threads of the conversations and of the memory."""
    counted = Counter[str]()

    def count(of: type, method: str, name: str) -> None:
        original: Callable[..., object] = getattr(of, method)

        def calls(*args: Any, **given: Any) -> object:  # Any: passed on
            counted[name] += 1
            return original(*args, **given)

        monkeypatch.setattr(of, method, calls)

    count(SQLiteConversations, "_run", "conversations")
    count(SQLiteThread, "run", "memory")
    count(SQLiteStore, "claim", "claims")
    return counted


async def learned(served: Served, commits: int) -> None:
    """Wait until the learner's memory has had so many commits, without a question to the store."""

    def committed() -> bool:
        known = served.app.state.services.snapshots.get("alice")
        return known is not None and known.access.access_clock == commits

    await until(committed)


async def test_an_answer_and_its_learning_are_nine_jobs_of_databases(
    tmp_path: Path, jobs: Counter[str]
) -> None:
    settings = settings_for(tmp_path, learning="background")
    scripted = model("5/6", "7/12", lesson=LESSON)
    async with serving(settings, Overrides(model=scripted), clock=HandClock()) as served:
        await served.ask("What is 1/2 + 1/3?", "c1")
        await learned(served, 2)
        jobs.clear()
        await served.ask("What is 1/3 + 1/4?", "c1")
        await learned(served, 4)
        # The turn is accepted, its conversation read, its lease checked, its answer kept, its row deleted;
        # the memory is loaded, the turn committed, its item claimed, its lesson committed.
        assert jobs == {"conversations": 5, "memory": 4, "claims": 1}
