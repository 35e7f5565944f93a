"""Servers to measure: started as processes, asked for their processor time, and ended."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from benchmarks.server.server_process import Kind, Options

__all__ = ["Server", "Wanted", "running"]

ROOT = Path(__file__).resolve().parents[2]
_START_SECONDS = 300
"""langmem and mem0 store what they are to know before."""
_LOG_END = 2_000


@dataclass(frozen=True)
class Wanted:
    """A server to start. `python`: which interpreter runs it, where it is not this one."""

    name: str
    kind: Kind
    store: str = ""
    options: Options = field(default_factory=Options)
    python: str = sys.executable


@dataclass(frozen=True)
class Server:
    """A running server."""

    wanted: Wanted
    url: str
    process: Process

    @property
    def name(self) -> str:
        return self.wanted.name

    def cpu_seconds(self) -> float:
        """Return the processor time it has taken; 0.0 where the system does not tell."""
        stat = Path(f"/proc/{self.process.pid}/stat")
        if not stat.exists():
            return 0.0
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def stop(self) -> None:
        """End it in order: it closes its connections first."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            async with asyncio.timeout(20):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


@asynccontextmanager
async def running(wanted: list[Wanted], folder: Path) -> AsyncGenerator[list[Server]]:
    """Start servers and end them after the block. Raises RuntimeError with its log where one can't start."""
    servers: list[Server] = []
    try:
        for one in wanted:
            servers.append(await _started(one, folder))
        yield servers
    finally:
        for server in servers:
            await server.stop()


async def _started(wanted: Wanted, folder: Path) -> Server:
    log = folder / f"{wanted.kind}-{uuid4().hex[:8]}.log"
    quiet = {"LANGSMITH_TRACING": "false", "MEM0_TELEMETRY": "false", "MEM0_DIR": str(folder / "mem0")}
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            wanted.python, "-m", "benchmarks.server.server_process",
            wanted.kind, wanted.store, str(folder), wanted.options.model_dump_json(),
            stdin=PIPE, stdout=PIPE, stderr=errors, cwd=ROOT, env={**os.environ, **quiet},
        )  # fmt: skip
    try:
        async with asyncio.timeout(_START_SECONDS):
            line = await process.stdout.readline() if process.stdout else b""
    except TimeoutError:
        line = b""
    if not line.strip().isdigit():
        if process.returncode is None:
            process.kill()
        raise RuntimeError(f"{wanted.name} did not start: {log.read_text()[-_LOG_END:].strip()}")
    return Server(wanted, f"http://127.0.0.1:{int(line)}", process)
