"""Two ways to call `ace-graph` in a test's folder: in this process, or as a process of its own.

Does not: hold a test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from ace_graph.cli import CommandGroup, app
from tests.cli.terminal import Terminal
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
        with CliRunner().isolation(input=stdin) as (out, err, _):
            code = _exit_code([str(arg) for arg in args])
            sys.stdout.flush()
            sys.stderr.flush()
            return Done(code, _text(out), _text(err))

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
        return self.process(PROGRAM, *args, stdin=stdin, **environment)

    def process(self, code: str, *args: str, stdin: str | bytes = "", **environment: str) -> Done:
        """Run `code` with arguments as a process of its own."""
        done = subprocess.run(
            cold_python("-c", code, *args) if code != PROGRAM else self._python("-c", code, *args),
            input=stdin if isinstance(stdin, bytes) else stdin.encode(),
            cwd=self.folder,
            env={**os.environ, **environment},
            capture_output=True,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def terminal(self, *args: str, **environment: str) -> Terminal:
        """Run the program as a process of its own, on a terminal that the test types on."""
        return Terminal(self.folder, self._python, *args, **environment)


@cache
def program() -> CommandGroup:
    """Return what a process calls, built once as there: that takes longer than most commands."""
    root = get_command(app)
    assert isinstance(root, CommandGroup)
    return root


def all_commands() -> dict[str, set[str]]:
    """Return every command, groups of them aside, with the names of its options."""
    tree = program().tree("").items()
    return {
        path.strip(): {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
        for path, command in tree
        if not isinstance(command, CommandGroup)
    }


def _exit_code(args: list[str]) -> int:
    try:
        program().main(args, prog_name="ace-graph")
    except SystemExit as end:
        return int(end.code or 0)
    raise AssertionError("a command ended without an exit code")


def _text(stream: BytesIO) -> str:
    return stream.getvalue().decode().replace("\r\n", "\n")
