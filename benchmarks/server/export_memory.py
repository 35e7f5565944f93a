"""A learner with 200 MB of conversations takes them out of the web backend: what it costs the server.

    python -m benchmarks.server.export_memory [--megabytes 200]

It starts `ace-graph serve` with the offline tutor, tells it conversations of 0.9 MB each, starts it anew, and
exports them through HTTP while it asks for /healthz all the time. It exits 1 where the server's resident
memory grew by more than 30 MB, or a health check took more than 200 ms. What it printed: docs/deploy.md.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import jwt

SECRET = secrets.token_hex(32)
MESSAGES, CHARS = 9, 100_000
MOST_GROWTH_MB = 30.0
MOST_SECONDS = 0.2
IDLE_SECONDS = 10.0


def main() -> int:
    """Run it, print the figures, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=200)
    count = -(-parser.parse_args().megabytes * 1_000_000 // (MESSAGES * CHARS))
    with tempfile.TemporaryDirectory(prefix="ace-export-") as name:
        folder = Path(name)
        with server(folder) as (client, _):
            for n in range(count):
                talk(client, n)
        with server(folder) as (client, process):
            client.get("/api/playbook").raise_for_status()
            before = Watch(str(client.base_url), process.pid)
            time.sleep(IDLE_SECONDS)
            before.end()
            watch = Watch(str(client.base_url), process.pid)
            size, seconds = export(client, count)
            watch.end()
    grown = watch.most_mb - watch.first_mb
    print(f"{count} conversations, {size / 1e6:.0f} MB in {seconds:.1f} s; load {os.getloadavg()[0]:.1f}")
    print(
        f"resident memory {watch.first_mb:.0f} MB before, at most {watch.most_mb:.0f} MB: {grown:.0f} MB more"
    )
    print(f"{watch.checks} health checks, the slowest {watch.slowest * 1000:.0f} ms")
    print(f"{before.checks} before the export, the slowest {before.slowest * 1000:.0f} ms")
    return 1 if grown > MOST_GROWTH_MB or watch.slowest > MOST_SECONDS else 0


def talk(client: httpx.Client, n: int) -> None:
    """Begin a conversation that has a long history."""
    history = [
        {"role": "assistant" if m % 2 else "user", "content": (f"{n} {m} " + "word " * (CHARS // 5))[:CHARS]}
        for m in range(MESSAGES)
    ]
    asked = {"message": "What is 1/2 + 1/3?", "conversationId": f"c{n}", "conversationHistory": history}
    client.post("/api/ai/chat", json=asked).raise_for_status()


def export(client: httpx.Client, count: int) -> tuple[int, float]:
    """Return how many bytes came, and in how many seconds; the document is complete."""
    began, size, end = time.monotonic(), 0, b""
    with client.stream("GET", "/api/learner/export") as response:
        response.raise_for_status()
        conversations = 0
        for piece in response.iter_bytes():
            size += len(piece)
            conversations += piece.count(b'{"id": "c')
            end = (end + piece)[-200:]
    if not end.endswith(b"]}\n") or conversations < count - 1:  # one may lie across two pieces
        raise SystemExit(f"the export is not whole: {conversations} conversations, ends with {end!r}")
    return size, time.monotonic() - began


class Watch:
    """Asks for /healthz, and looks at the size of a process, until it is told to end."""

    def __init__(self, url: str, pid: int) -> None:
        self.first_mb = self.most_mb = resident_mb(pid)
        self.slowest, self.checks = 0.0, 0
        self._url, self._pid = url, pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """Stop looking."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        with httpx.Client(base_url=self._url, trust_env=False, timeout=60) as client:
            client.get("/healthz")
            while not self._stop.wait(0.01):
                began = time.monotonic()
                client.get("/healthz").raise_for_status()
                self.slowest = max(self.slowest, time.monotonic() - began)
                self.checks += 1
                self.most_mb = max(self.most_mb, resident_mb(self._pid))


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    raise SystemExit("the server has ended")


@contextmanager
def server(folder: Path) -> Generator[tuple[httpx.Client, subprocess.Popen[str]]]:
    """Run a server in `folder` until the block ends; yield a client of a learner."""
    ours = {
        "ACE_MODEL": "offline",
        "ACE_JWT_SECRET": SECRET,
        "ACE_MEMORY_FILE": str(folder / "ace.db"),
        "ACE_CONVERSATIONS": str(folder / "conversations.db"),
        "ACE_SERVER_RATE": "1000000",
        "ACE_LOG_FORMAT": "json",
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ACE_", "NEO4J_"))}
    command = [str(Path(sys.executable).with_name("ace-graph")), "serve", "--port", "0"]
    token = jwt.encode({"sub": "ada", "exp": time.time() + 3600}, SECRET, algorithm="HS256")
    with subprocess.Popen(
        command, cwd=folder, env={**kept, **ours}, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            url = address(process)
            headers = {"Authorization": f"Bearer {token}"}
            with httpx.Client(base_url=url, headers=headers, timeout=120, trust_env=False) as client:
                yield client, process
        finally:
            process.terminate()


def address(process: subprocess.Popen[str]) -> str:
    """Return where the server listens; what it logs afterwards is read and dropped."""
    assert process.stderr is not None
    for line in process.stderr:
        if "listening on " in line:
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return str(json.loads(line)["message"]).rpartition(" ")[2]
    raise SystemExit("the server did not start")


if __name__ == "__main__":
    sys.exit(main())
