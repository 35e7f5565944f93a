"""A folder of its own for every test of the command line, and two ways to call a command in it.

Does not: replace the program's parts. The store is a real SQLite file, the model the offline tutor.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ace_graph.cli.main import app
from ace_graph.settings import variable_names

OTHERS = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TERM", "XDG_DATA_HOME")
Json = dict[str, Any]  # Any: what a command printed, whose shape the tests check


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Json:
        """What was printed, as one JSON object."""
        return json.loads(self.out)


class Commands:
    """Calls `ace-graph` in the test's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "ace.db"

    def __call__(self, *args: str | Path, stdin: str | bytes | None = None) -> Done:
        """Call a command in this process."""
        done = CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Done(done.exit_code, done.stdout, done.stderr)

    def ok(self, *args: str | Path, stdin: str | bytes | None = None) -> Done:
        """Call a command that must succeed."""
        done = self(*args, stdin=stdin)
        assert done.code == 0, done.err
        return done

    def bullets(self, learner: str = "local") -> list[Json]:
        """Return what is stored of a learner."""
        return self.ok("playbook", "show", "--json", "--learner", learner).json["bullets"]

    def program(self, *args: str, stdin: str | bytes = "", **environment: str) -> Done:
        """Run the program as a process of its own."""
        done = subprocess.run(
            [sys.executable, "-c", "from ace_graph.cli.main import app; app(prog_name='ace-graph')", *args],
            input=stdin if isinstance(stdin, bytes) else stdin.encode(),
            cwd=self.folder,
            env={**os.environ, **environment},
            capture_output=True,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def ace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Commands]:
    """The commands, in an empty folder with an empty environment."""
    for name in (*variable_names(), *OTHERS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    monkeypatch.setenv("ACE_MEMORY_FILE", str(tmp_path / "ace.db"))
    monkeypatch.chdir(tmp_path)
    logger = logging.getLogger("ace_graph")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield Commands(tmp_path)
    logger.handlers, logger.level, logger.propagate = before
