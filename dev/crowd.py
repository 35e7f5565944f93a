"""A crowd at the web backend, through HTTP: many learners at once, many writers on one, then many turns.

    python dev/crowd.py [--learners 1000] [--writers 20] [--turns 10000] [--store URL]

It starts `ace-graph serve` with the offline tutor and prints its size on the way. Afterwards every turn and
every fact that was told is there once, the invariant checker is content with every learner, and the server is
as big as it was after the first turns; or it exits 1. What it printed: benchmarks/faults/RESULTS_CROWD.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import jwt

from ace_graph import open_store
from ace_graph.memory.stores.store import Store
from ace_graph.testing.invariants import problems

SECRET = secrets.token_hex(32)
RUN = secrets.token_hex(4)
SAID = "Learner says: "
FACTS = ("my sister is called Mina", "the exam is about fractions", "I play the cello", "our cat is grey")
SOAKING = 40
CONVERSATIONS = 200
AT_ONCE = 50
PARTS = 10
MOST_GROWTH = 1.1
ROOM_MB = 10
ROOM_HANDLES = 8
WAIT_SECONDS = 600
LOG_CHARS = 4000
ESTABLISHED = "01"


@dataclass(frozen=True)
class Size:
    """What a server takes: resident memory, open files, connections; and the machine's load."""

    megabytes: int
    files: int
    clients: int
    others: int
    load: float

    def __str__(self) -> str:
        handles = f"{self.files:>4} files {self.clients:>4} clients {self.others:>4} other connections"
        return f"{self.megabytes:>5} MB {handles}  load {self.load:.1f}"


@dataclass
class Told:
    """How often each learner asked, and told each thing."""

    turns: Counter[str] = field(default_factory=Counter[str])
    facts: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def add(self, learner: str, fact: str | None) -> None:
        """Count a turn that was answered."""
        self.turns[learner] += 1
        if fact is not None:
            self.facts[learner, SAID + fact] += 1


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def bearer(learner: str) -> dict[str, str]:
    """Return a learner's headers."""
    claims = {"sub": learner, "exp": int(time.time()) + 24 * 3600}
    return {"Authorization": f"Bearer {jwt.encode(claims, SECRET, algorithm='HS256')}"}


def size(pid: int, port: int) -> Size:
    """Return the size of the server with this process and port (Linux)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    opened = Counter(_is_connection(entry) for entry in Path(f"/proc/{pid}/fd").iterdir())
    megabytes = pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000
    clients = sum(_is_client(line, port) for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines())
    return Size(megabytes, opened[False], clients, opened[True] - clients, os.getloadavg()[0])


def _is_connection(entry: Path) -> bool:
    try:
        return str(entry.readlink()).startswith("socket:")
    except FileNotFoundError:  # closed since it was listed
        return False


def _is_client(line: str, port: int) -> bool:
    fields = line.split()
    return fields[1].endswith(f":{port:04X}") and fields[3] == ESTABLISHED


class Crowd:
    """Clients of one server, and what they told it."""

    def __init__(self, client: httpx.AsyncClient, measure: Callable[[], Size]) -> None:
        self._client = client
        self._measure = measure
        self.told = Told()
        self.sizes: list[Size] = []

    async def ask(self, learner: str, conversation: str, question: str, fact: str | None = None) -> None:
        """Ask, and ask again when the server says that it is busy. Raises HTTPStatusError."""
        message = question if fact is None else f"Remember that {fact}."
        body = {"message": message, "conversationId": f"{RUN}-{conversation}"}
        while True:
            reply = await self._client.post("/api/ai/chat", json=body, headers=bearer(learner))
            if reply.status_code not in (429, 503):
                break
            await asyncio.sleep(float(reply.headers["retry-after"]))
        reply.raise_for_status()
        self.told.add(learner, fact)

    async def learners(self, number: int) -> None:
        """Every learner tells one fact of their own, all at once."""
        names = [f"{RUN}-crowd-{n}" for n in range(number)]
        await asyncio.gather(*(self.ask(name, f"of-{name}", "", f"I am {name}") for name in names))
        say(f"{number:>6} learners at once      {self._measure()}")

    async def writers(self, number: int) -> None:
        """Writers of one learner tell a fact each, in conversations of their own, all at once."""
        words = [f"my word {n} is {secrets.token_hex(4)}" for n in range(number)]
        await asyncio.gather(*(self.ask(f"{RUN}-one", f"w-{n}", "", word) for n, word in enumerate(words)))
        say(f"{number:>6} writers on one        {self._measure()}")

    async def soak(self, turns: int) -> None:
        """Ask and tell so many times, and keep the size after every tenth of them."""
        places, began, done = asyncio.Semaphore(AT_ONCE), time.monotonic(), 0

        async def one(n: int) -> None:
            async with places:
                fact = FACTS[n // (2 * SOAKING) % len(FACTS)] if n // SOAKING % 2 else None
                await self.ask(
                    f"{RUN}-soak-{n % SOAKING}", f"s-{n % CONVERSATIONS}", f"What is {n} + 1/2?", fact
                )

        for part in range(1, PARTS + 1):
            until = turns * part // PARTS
            await asyncio.gather(*(one(n) for n in range(done, until)))
            done = until
            self.sizes.append(self._measure())
            speed = done / (time.monotonic() - began)
            say(f"{done:>6} turns of {turns:<6} {speed:>4.0f}/s  {self.sizes[-1]}")

    async def under_way(self) -> list[str]:
        """Return what is wrong when a turn is still under way."""
        metrics = (await self._client.get("/metrics")).text.splitlines()
        line = next(line for line in metrics if line.startswith("ace_turns_under_way "))
        return [] if line.endswith(" 0.0") else [line]


def grown(before: Size, sizes: list[Size], after: Size) -> Iterable[str]:
    """Yield what has grown: memory and pooled connections since the first tenth of the turns, or files."""
    first, last = sizes[0].megabytes, max(sizes[-1].megabytes, after.megabytes)
    if last > first * MOST_GROWTH + ROOM_MB:
        yield f"memory grew: {first} -> {last} MB"
    if after.files > before.files + ROOM_HANDLES:
        yield f"open files grew: {before.files} -> {after.files}"
    if after.clients > before.clients:
        yield f"clients left, and {after.clients} of their connections are open"
    if after.others > sizes[0].others + ROOM_HANDLES:
        yield f"connections grew: {sizes[0].others} -> {after.others}"


async def stored(store: Store, told: Told) -> list[str]:
    """Return what is wrong with what is stored of everybody, once all work that was left is done."""
    for _ in range(WAIT_SECONDS):
        if not (await store.count_pending()).pending:
            break
        await asyncio.sleep(1)
    wrong: list[str] = []
    for learner, turns in told.turns.items():
        exported = await store.export(learner)
        wrong += [f"{learner}: {problem}" for problem in problems(exported)]
        if len(exported.turns) != turns:
            wrong.append(f"{learner}: asked {turns} times, {len(exported.turns)} turns are there")
        found = {bullet.content: bullet.seen for bullet in exported.snapshot.playbook.bullets()}
        wanted = {fact: times for (who, fact), times in told.facts.items() if who == learner}
        wrong += [] if found == wanted else [f"{learner}: told {wanted}, {found} is there"]
    counts = await store.count_pending()
    return wrong if not (counts.pending or counts.dead) else [*wrong, f"work was left: {counts}"]


async def run(url: str, pid: int, store: str, options: argparse.Namespace) -> list[str]:
    """Return everything that is wrong."""
    port = httpx.URL(url).port or 0

    def measure() -> Size:
        return size(pid, port)

    before = measure()
    say(f"{0:>6} turns                 {before}")
    limits = httpx.Limits(max_connections=400)
    async with httpx.AsyncClient(base_url=url, timeout=600, limits=limits, trust_env=False) as client:
        crowd = Crowd(client, measure)
        await crowd.learners(options.learners)
        await crowd.writers(options.writers)
        await crowd.soak(options.turns)
        wrong = await crowd.under_way()
    opened = open_store(store)
    async with opened:
        wrong += await stored(opened, crowd.told)
    after = measure()
    say(f"{'':>6} after all of them     {after}")
    told, facts = crowd.told.turns, crowd.told.facts.total()
    say(f"{told.total()} turns of {len(told)} learners, {facts} facts told: {len(wrong)} wrong")
    return [*wrong, *grown(before, crowd.sizes, after)]


def main() -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(description="A crowd at the web backend.")
    for name, default in (("learners", 1000), ("writers", 20), ("turns", 10_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--store", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w+") as log:
        store = options.store or f"sqlite:///{folder}/ace.db"
        process = subprocess.Popen(  # noqa: S603  our own program
            [Path(sys.executable).with_name("ace-graph"), "serve", "--port", "0"],
            cwd=folder,
            env=_environment(Path(folder), store),
            stderr=log,
        )
        try:
            url = _address(process, Path(folder) / "log")
            wrong = asyncio.run(run(url, process.pid, store, options))
        except httpx.HTTPError:
            say((Path(folder) / "log").read_text()[-LOG_CHARS:])
            raise
        finally:
            process.terminate()
            process.wait(60)
    for line in wrong[:20]:
        say(line)
    return 1 if wrong else 0


def _environment(folder: Path, store: str) -> dict[str, str]:
    ours = {
        "ACE_MODEL": "offline",
        "ACE_JWT_SECRET": SECRET,
        "ACE_STORE": store,
        "ACE_SERVER_RATE": "1000000",
        "ACE_SERVER_TURNS": "1000",
        "ACE_SERVER_TIMEOUT": "600",
        "LANGSMITH_TRACING": "false",
    }
    if not store.startswith("postgres"):  # there they are in the same database
        ours["ACE_CONVERSATIONS"] = str(folder / "conversations.db")
    return {**os.environ, **ours}


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    for _ in range(WAIT_SECONDS * 10):
        told = log.read_text()
        if "listening on " in told:
            return told.rpartition("listening on ")[2].split()[0]
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit(f"the server did not start:\n{log.read_text()}")


if __name__ == "__main__":
    sys.exit(main())
