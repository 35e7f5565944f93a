"""`python -m benchmarks.readers.served`: does a server answer others while it reads what is hard to read?

It starts `ace-graph serve` with the offline tutor and SQLite. For every family of hard texts a hundred
messages of 99,000 characters are sent in a row by one learner, while somebody else asks /healthz and
chats, all the time. The first row sends short messages, to compare with. Writes a table to
benchmarks/faults/RESULTS_READERS.md and exits with 1 where one of the other requests took 200 ms or more.

--messages sends fewer, --families takes fewer texts.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socket import create_server
from statistics import median

import httpx

from benchmarks.machine import describe_machine, load_now
from tests.server.serving import SECRET, bearer

__all__ = ["main"]

PAGE = Path(__file__).resolve().parents[1] / "faults" / "RESULTS_READERS.md"
SIZE = 99_000
MOST_MS = 200.0
_FAMILIES = {
    "short messages": "",
    "opening quotation marks": "a“",
    "tabs": "\t",
    "line separators": "\u2028",
    "spaces": " ",
    "line breaks": "\n",
    "opening brackets": "[",
    "closing brackets": "]",
    "braces and quotes": '{"}',
    "digits": "1",
    "fractions": "1/2 ",
    "one letter": "a",
    "requests to remember": "remember that ",
    "feedback": "no, that's wrong, ",
    "a sentence": "Remember that I like apples. ",
    "Chinese": "漢",
    "Thai": "ไ",
    "vulgar fractions": "½",
    "combining accents": "e\u0301",
    "marks above and below": "\u0301\u0323",
}
"""What is repeated in the messages of each family."""


@dataclass(frozen=True)
class Row:
    """What one family of messages did: how long they took, and how many ms each of the others waited."""

    family: str
    messages: int
    failed: int
    seconds: float
    health: Sequence[float]
    chat: Sequence[float]

    @property
    def passed(self) -> bool:
        return max(*self.health, *self.chat) < MOST_MS and not self.failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, write the page, and say whether all is well."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.readers.served")
    parser.add_argument("--messages", type=int, default=100, help="messages of each family")
    parser.add_argument("--families", nargs="*", help="part of a family's name; without one: all")
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args(arguments)
    rows = asyncio.run(_all(given.messages, given.families or [""]))
    page = _page(rows)
    given.page.write_text(page)
    print(page)
    return not all(row.passed for row in rows)


async def _all(messages: int, wanted: Sequence[str]) -> list[Row]:
    rows = list[Row]()
    with tempfile.TemporaryDirectory() as folder:
        async with _serving(Path(folder)) as url, httpx.AsyncClient(base_url=url, timeout=120) as client:
            await _chat(client, "warm", "What is 1/2 + 1/3?")
            for family, unit in _FAMILIES.items():
                if any(part in family for part in wanted):
                    text = (unit * SIZE)[:SIZE]
                    rows.append(await _family(client, family, text, messages))
                    print(_line(rows[-1]), file=sys.stderr, flush=True)
    return rows


async def _family(client: httpx.AsyncClient, family: str, text: str, messages: int) -> Row:
    done = asyncio.Event()
    health = asyncio.create_task(_again_and_again(lambda: client.get("/healthz"), done))
    chats = asyncio.create_task(_again_and_again(lambda: _chat(client, "other", "What is 2 + 3?"), done))
    began = time.perf_counter()
    replies = [await _chat(client, family, f"What is it? {text}") for _ in range(messages)]
    seconds = time.perf_counter() - began
    done.set()
    failed = sum(reply.status_code != 200 for reply in replies)
    return Row(family, messages, failed, seconds, await health, await chats)


async def _again_and_again(ask: Callable[[], Awaitable[httpx.Response]], done: asyncio.Event) -> list[float]:
    """Ask until it is done; return how many milliseconds each wait took."""
    waits = list[float]()
    while not done.is_set():
        began = time.perf_counter()
        (await ask()).raise_for_status()
        waits.append((time.perf_counter() - began) * 1000)
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), 0.05)
    return waits


async def _chat(client: httpx.AsyncClient, learner: str, message: str) -> httpx.Response:
    return await client.post("/api/ai/chat", json={"message": message}, headers=bearer(learner))


@asynccontextmanager
async def _serving(folder: Path) -> AsyncGenerator[str]:
    """Start `ace-graph serve` on a free port, and end it."""
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {
        "ACE_MODEL": "offline",
        "ACE_STORE": f"sqlite:///{folder / 'ace.db'}",
        "ACE_CONVERSATIONS": f"sqlite:///{folder / 'conversations.db'}",
        "ACE_JWT_SECRET": SECRET,
        "ACE_SERVER_RATE": "100000",
        "ACE_LOG_LEVEL": "WARNING",
    }
    command = Path(sys.executable).with_name("ace-graph")
    process = await asyncio.create_subprocess_exec(
        command, "serve", "--port", str(port),
        env={**os.environ, **settings}, cwd=folder, stdout=PIPE, stderr=None,
    )  # fmt: skip
    try:
        await _ready(f"http://127.0.0.1:{port}", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


async def _ready(url: str, process: Process) -> None:
    async with httpx.AsyncClient(base_url=url) as client:
        for _ in range(600):
            if process.returncode is not None:
                break
            with suppress(httpx.HTTPError):
                if (await client.get("/readyz")).status_code == 200:
                    return
            await asyncio.sleep(0.1)
    raise RuntimeError("the server did not start")


def _page(rows: Sequence[Row]) -> str:
    head = [
        "# Messages that are hard to read",
        "",
        f"Messages of {SIZE:,} characters at `ace-graph serve` (offline tutor, SQLite), one after the other,",
        "while /healthz and a short chat of another learner are asked again and again. The last columns are",
        "the median and the longest that any of these took. The first row sends short messages instead.",
        "Made by `python -m benchmarks.readers.served`.",
        "",
        *(f"- {line}" for line in describe_machine()),
        f"- load average at the end: {load_now():.0f}; with more than 1, compare with the first row",
        "",
        "| messages of | number | failed | seconds | /healthz ms | longest | chat ms | longest |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    return "\n".join([*head, *map(_line, rows), ""])


def _line(r: Row) -> str:
    return (
        f"| {r.family} | {r.messages} | {r.failed} | {r.seconds:.1f} "
        f"| {median(r.health):.0f} | {max(r.health):.0f} | {median(r.chat):.0f} | {max(r.chat):.0f} |"
    )


if __name__ == "__main__":
    sys.exit(main())
