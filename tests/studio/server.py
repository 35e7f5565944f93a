"""A real `langgraph dev` in a process of its own, in an empty folder, with no key and no settings.

Does not: allow blocking calls; one that is made fails the run, and shows in the log.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.docs.blocks import clean_environment
from tests.plugins.sizes import PATIENT

ROOT = Path(__file__).resolve().parents[2]
LANGGRAPH = Path(sys.executable).with_name("langgraph")
ATTEMPTS, SECONDS_BETWEEN = 240, 0.25


@dataclass(frozen=True)
class DevServer:
    """A running server: its address, the folder it runs in, and where its user's data lies."""

    url: str
    folder: Path
    data: Path
    log_file: Path

    def log(self) -> str:
        """What it logged so far."""
        return self.log_file.read_text(encoding="utf-8", errors="replace")


@contextmanager
def dev_server(folder: Path, **more: str) -> Generator[DevServer]:
    """Run the server with the repository's langgraph.json, in this environment too, for the block."""
    shutil.copy(ROOT / "langgraph.json", folder)
    port = _free_port()
    server = DevServer(f"http://127.0.0.1:{port}", folder, folder / "data", folder / "server.log")
    with server.log_file.open("wb") as log:
        process = subprocess.Popen(
            [LANGGRAPH, "dev", "--no-browser", "--no-reload", f"--port={port}", "--n-jobs-per-worker=4"],
            cwd=folder,
            env={**_environment(server), **more},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_until_ready(process, server)
            yield server
        finally:
            process.terminate()
            process.wait(timeout=PATIENT)


def _environment(server: DevServer) -> dict[str, str]:
    kept = clean_environment(server.folder)
    del kept["ACE_MODEL"]  # nothing is configured: the offline tutor must be found by itself
    return {
        **kept,
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LOG_COLOR": "false",
        "NO_PROXY": "*",
        "PYTHONUNBUFFERED": "1",
        "XDG_DATA_HOME": str(server.data),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(process: subprocess.Popen[bytes], server: DevServer) -> None:
    """Ask until it answers, at most ATTEMPTS times; a server that ended is not asked again."""
    with httpx.Client(trust_env=False, timeout=PATIENT) as client:
        for _ in range(ATTEMPTS):
            try:
                if client.get(f"{server.url}/ok").is_success:
                    return
            except httpx.TransportError:
                pass
            try:
                process.wait(timeout=SECONDS_BETWEEN)
            except subprocess.TimeoutExpired:
                continue
            break
    raise AssertionError(f"langgraph dev did not get ready on {server.url}:\n{server.log()}")
