"""A folder of its own and an empty environment for every test of the command line.

Does not: replace the program's parts. The store is a real SQLite file or Neo4j, the model the offline tutor.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ace_graph.base import variable_names
from tests.cli.backend import Backend
from tests.cli.commands import Commands
from tests.plugins.neo4j_server import Neo4jServer
from tests.plugins.sizes import PATIENT
from tests.plugins.warm_python import WarmPython

OTHERS = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TERM")


@pytest.fixture
def ace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm_python: WarmPython) -> Iterator[Commands]:
    """The commands, in an empty folder with an empty environment."""
    for name in (*variable_names(), *OTHERS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    monkeypatch.setenv("ACE_MEMORY_FILE", str(tmp_path / "ace.db"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    before = set(os.environ)
    yield Commands(tmp_path, warm_python)
    for name in set(os.environ) - before:  # what a command took over from a .env
        del os.environ[name]


@pytest.fixture
def shared(ace: Commands, neo4j: Neo4jServer, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """The commands, with their memory in the Neo4j of the run."""
    monkeypatch.delenv("ACE_MEMORY_FILE")
    monkeypatch.setenv("NEO4J_URI", neo4j.uri)
    monkeypatch.setenv("ACE_STORE_TIMEOUT", str(PATIENT))
    for name in ("username", "password", "database"):
        value = getattr(neo4j, name)
        if value is not None:
            monkeypatch.setenv(f"NEO4J_{name.upper()}", value)
    return ace


@pytest.fixture
def backend(ace: Commands, capfd: pytest.CaptureFixture[str]) -> Backend:
    """What a backend in another language does with `ace-graph run`."""
    return Backend(ace, capfd)
