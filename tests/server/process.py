"""`ace-graph serve` as a process of its own, which can be killed.

Does not: hold a test.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ace_graph.base import variable_names
from tests.plugins.sizes import PATIENT
from tests.plugins.warm_python import WarmPython, cold_python
from tests.server.serving import SECRET


class ServerProcess:
    """A running server; what it logs is in `lines`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._addresses: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        address = self._addresses.get(timeout=PATIENT)
        assert address is not None, self.lines
        self.url = address

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self._ended()

    def stop(self) -> int:
        """Tell it to stop, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self._ended()

    def _ended(self) -> int:
        code = self.process.wait(PATIENT)
        self._reader.join(PATIENT)
        if self.process.stderr is not None:
            self.process.stderr.close()
        return code

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            if "listening on " in line:
                self._addresses.put(line.rpartition("listening on ")[2].strip().rstrip('"}'))
        self._addresses.put(None)


def environment(folder: Path, **given: str) -> dict[str, str]:
    """Return this process's environment without our settings, with a secret and a memory in `folder`."""
    kept = {name: value for name, value in os.environ.items() if name not in variable_names()}
    ours = {
        "ACE_JWT_SECRET": SECRET,
        "ACE_MEMORY_FILE": str(folder / "ace.db"),
        "ACE_MODEL": "offline",
        "ACE_SERVER_RATE": "100000",
        "LANGSMITH_TRACING": "false",
    }
    return {**kept, **ours, **given}


@contextmanager
def server(
    folder: Path,
    python: WarmPython = cold_python,
    *,
    before: str = "",
    host: str = "127.0.0.1",
    **given: str,
) -> Generator[ServerProcess]:
    """Run a server on a free port in `folder` until the block ends; it runs the statements `before` first."""
    code = f"{before}\nfrom ace_graph.cli.main import app; app(prog_name='ace-graph')"
    process = subprocess.Popen(
        python("-c", code, "serve", "--host", host, "--port", "0"),
        cwd=folder,
        env=environment(folder, **given),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield ServerProcess(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENT)
        if process.stderr is not None and not process.stderr.closed:
            process.stderr.close()
