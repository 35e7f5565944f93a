"""Two ways to call `ace-graph` in a test's folder: in this process, or as a process of its own.

Does not: hold a test.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from ace_graph.cli.main import app
from tests.plugins.warm_python import WarmPython, cold_python

PROGRAM = "from ace_graph.cli.main import app; app(prog_name='ace-graph')"
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

    def __init__(self, folder: Path, python: WarmPython = cold_python) -> None:
        self._python = python
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
            self._python("-c", PROGRAM, *args),
            input=stdin if isinstance(stdin, bytes) else stdin.encode(),
            cwd=self.folder,
            env={**os.environ, **environment},
            capture_output=True,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())
