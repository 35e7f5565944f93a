"""The databases that the conformance suite runs on: two dictionaries and a SQLite file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ace_graph.memory.policy import Policy
from ace_graph.memory.stores.in_memory.store import InMemoryStore, Learners
from ace_graph.memory.stores.sqlite.store import SQLiteStore

__all__ = ["MemorySubject", "SQLiteSubject"]


class MemorySubject:
    """Stores that share their learners, as processes share a database."""

    def __init__(self) -> None:
        self._learners = Learners()

    def open(self, policy: Policy | None = None) -> InMemoryStore:
        return InMemoryStore(policy, learners=self._learners)


class SQLiteSubject:
    """Stores on one file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self, policy: Policy | None = None) -> SQLiteStore:
        return SQLiteStore(self.path, policy)

    async def read_content(self, learner_id: str) -> str | None:
        with closing(sqlite3.connect(self.path)) as connection:
            row = connection.execute(
                "SELECT memory_json FROM ace_playbooks WHERE user_id = ?", (learner_id,)
            ).fetchone()
        return None if row is None else row[0]

    async def write_content(self, learner_id: str, text: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(
                "UPDATE ace_playbooks SET memory_json = ? WHERE user_id = ?", (text, learner_id)
            )
