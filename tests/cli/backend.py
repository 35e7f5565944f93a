"""`ace-graph run` as a backend sees it: payloads go in, lines come out.

Does not: hold a test.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from pydantic import JsonValue

from tests.cli.commands import Commands, Done, Json

LEARNED = '{"messages": [{"role": "user", "content": "Call me Ann. I prefer pictures."}]}'


def payload(text: JsonValue, mode: str | None = None, **scratch: JsonValue) -> str:
    fields: dict[str, JsonValue] = {"messages": [{"role": "user", "content": text}], "scratch": scratch}
    return json.dumps({**fields, "mode": mode} if mode else fields)


class Backend:
    """Sends payloads. What is caught is the file descriptors, for that is what `run` protects."""

    def __init__(self, ace: Commands, caught: pytest.CaptureFixture[str]) -> None:
        self._ace = ace
        self._caught = caught

    def send(self, payload: str | bytes, *args: str) -> Done:
        """Send a payload to a new graph; the store's file is all that two payloads share."""
        self._caught.readouterr()
        done = self._ace("run", *args, stdin=payload)
        assert done.out == "", "the line goes past whatever libraries print"
        caught = self._caught.readouterr()
        return Done(done.code, caught.out, caught.err + done.err)

    def ask(self, payload: str | bytes) -> Json:
        """Send a payload that must be answered."""
        return answered(self.send(payload))


def answered(done: Done) -> Json:
    assert done.code == 0, done.err
    assert done.out.count("\n") == 1
    return json.loads(done.out)


def stored(ace: Commands) -> list[tuple[object, ...]]:
    """Every row of every table."""
    with closing(sqlite3.connect(ace.database)) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return [row for table in sorted(tables) for row in connection.execute(f"SELECT * FROM {table}")]
