"""The small MCP server as a configuration: a program to start, or one that runs and serves HTTP.

Does not: hold a test.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.plugins.warm_python import WarmPython

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("mcp_server.py")
Entry = dict[str, object]


def stdio(python: WarmPython, **more: object) -> Entry:
    """The entry that starts the server as a process."""
    command, *args = python("-m", "tests.tools.mcp_server")
    return {"command": command, "args": args, "cwd": str(ROOT), **more}


class HttpPeer:
    """A server process that speaks HTTP. `log` is what it printed, complete once it has ended."""

    def __init__(self, *options: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), "http", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/mcp"
        self.log = ""

    def entry(self, **more: object) -> Entry:
        return {"type": "http", "url": self.url, **more}

    def end(self) -> None:
        """End the process, as when its machine is switched off."""
        if self._process.poll() is None:
            self._process.terminate()
            self.log = self._process.communicate()[0]


@contextmanager
def http_peer(*options: str) -> Generator[HttpPeer]:
    """Run the server over HTTP for the block."""
    peer = HttpPeer(*options)
    try:
        yield peer
    finally:
        peer.end()


def process_of(said: str) -> int:
    """The server's process id, which `triangle_area` tells."""
    found = re.search(r"by process (\d+)", said)
    assert found, said
    return int(found[1])


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
