"""Two Ray nodes on this machine, for tests; `tests/plugins/ray_nodes.py` is the program behind them.

Does not: hold a test.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["RayNodes", "ray_nodes"]

_PROGRAM = Path(__file__).resolve().parents[1] / "plugins" / "ray_nodes.py"


class RayNodes:
    """A running cluster: `address` is for RAY_ADDRESS, `client` for `--on`."""

    def __init__(self, process: subprocess.Popen[str], told: Path) -> None:
        self._process, self._told, self._killed = process, told, False
        self.address, self.client = self._reply()

    def kill_one(self) -> None:
        """Kill the second node and every process on it."""
        self._say("kill")
        self._killed = True

    def replace_the_killed(self) -> None:
        """Start another node where one was killed."""
        if self._killed:
            self._say("add")
            self._killed = False

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        self._reply()

    def _reply(self) -> tuple[str, str]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"Ray ended: {self._told.read_text('utf-8')[-3_000:]}"
        address, client = line.split()
        return address, client


@contextmanager
def ray_nodes(folder: Path) -> Generator[RayNodes]:
    """Start two nodes, with what they write in `folder`, whose path must be short."""
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": str(folder)}
    told = folder / "stderr.txt"
    with (
        told.open("w") as errors,
        subprocess.Popen(
            [sys.executable, str(_PROGRAM)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            yield RayNodes(process, told)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
