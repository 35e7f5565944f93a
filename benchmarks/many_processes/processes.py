"""The servers and workers: `ace-graph serve` and `ace-graph worker`, killed in turn and started again."""

from __future__ import annotations

import asyncio
import random
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Program", "all_work", "kill_on", "running", "servers_and_workers"]

_COMMAND = Path(sys.executable).with_name("ace-graph")
_LOOK_SECONDS = 0.1
_START_SECONDS = 180
_END_SECONDS = 60


@dataclass
class Program:
    """A server or a worker, which is started again after each kill. `ready` is in its log once it works."""

    name: str
    arguments: Sequence[str]
    ready: str
    url: str = ""
    kills: int = 0
    log: Path = Path()
    process: Process | None = None

    async def start(self, folder: Path, environment: Mapping[str, str]) -> None:
        """Start it; its log is a new file in the folder."""
        self.log = folder / f"{self.name}-{self.kills}.log"
        with self.log.open("wb") as log:
            self.process = await asyncio.create_subprocess_exec(
                _COMMAND, *self.arguments, cwd=folder, env=environment, stdout=DEVNULL, stderr=log
            )

    @property
    def works(self) -> bool:
        """Whether it has said that it is ready."""
        return self.ready in self.log.read_text()

    @property
    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return self.process is not None and self.process.returncode is not None

    async def kill(self) -> None:
        """End it at once, with SIGKILL. Raises RuntimeError where it had ended by itself."""
        assert self.process is not None
        if self.ended:
            raise RuntimeError(
                f"{self.name} ended with {self.process.returncode}: {self.log.read_text()[-2000:]}"
            )
        self.process.kill()
        await self.process.wait()
        self.kills += 1

    async def end(self) -> None:
        """End it in order."""
        if self.process is None or self.process.returncode is not None:
            return
        self.process.terminate()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


def servers_and_workers(servers: int, workers: int) -> list[Program]:
    """Return programs to start; each server has a port that stays the same."""
    ports = _free_ports(servers)
    made = [
        Program(f"server-{n}", ("serve", "--port", str(port)), "listening on ", f"http://127.0.0.1:{port}")
        for n, port in enumerate(ports)
    ]
    return made + [Program(f"worker-{n}", ("worker",), "at work") for n in range(workers)]


@asynccontextmanager
async def running(
    programs: Sequence[Program], folder: Path, environment: Mapping[str, str]
) -> AsyncGenerator[None]:
    """Start all programs, wait until they work, and end them after the block. Raises RuntimeError."""
    try:
        for program in programs:
            await program.start(folder, environment)
        await all_work(programs)
        yield
    finally:
        for program in programs:
            await program.end()


async def all_work(programs: Sequence[Program]) -> None:
    """Wait until every program works. Raises RuntimeError with the log of one that does not."""
    for program in programs:
        for _ in range(int(_START_SECONDS / _LOOK_SECONDS)):
            if program.works or program.ended:
                break
            await asyncio.sleep(_LOOK_SECONDS)
        if not program.works:
            raise RuntimeError(f"{program.name} did not start: {program.log.read_text()[-2000:]}")


async def kill_on(
    programs: Sequence[Program],
    folder: Path,
    environment: Mapping[str, str],
    *,
    seconds: float,
    worker_every: int,
) -> None:
    """Kill a server every so many seconds, and start it again; with every n-th one a worker, too.

    The next one is killed only when all work again, so that where starting takes long, somebody still serves.
    Until it is cancelled.
    """
    chosen, kills = random.Random(1), 0
    servers = [each for each in programs if each.url]
    workers = [each for each in programs if not each.url]
    while True:
        await asyncio.sleep(seconds)
        await all_work(programs)
        kills += 1
        for kind in (servers, workers) if kills % worker_every == 0 else (servers,):
            program = chosen.choice(kind)
            await program.kill()
            await program.start(folder, environment)


def _free_ports(count: int) -> list[int]:
    bound = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in bound]
    for each in bound:
        each.close()
    return ports
