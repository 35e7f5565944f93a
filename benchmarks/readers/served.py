"""`python -m benchmarks.readers.served`: does a server answer others while it reads what is hard to read?

It starts `ace-graph serve` with the offline tutor. For every family of hard texts a hundred messages of
99,000 characters are sent in a row by one learner, and for every kind of playbook one body of a megabyte,
while somebody else asks /healthz and /readyz, reads a playbook and chats, all the time. The first row sends
short messages, to compare with. Writes a table to benchmarks/faults/RESULTS_READERS.md and exits with 1 where
one of the other requests took 200 ms longer than the longest of the first row.

--messages sends fewer, --families takes fewer texts, --store another store than SQLite.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
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
_WORDS = tuple(
    f"{first}{second}" for first in "bcdfghjklmnprstvw" for second in ("and", "ell", "ine", "oft", "ump")
)


def _words(count: int, seed: int) -> str:
    chosen = random.Random(seed)  # the same texts in each run
    return " ".join(chosen.choice(_WORDS) for _ in range(count))


_BODIES: dict[str, list[str]] = {
    "a body of ligatures": ["\ufdfa" * 1_990] * 170,
    "a body of long bullets": [_words(380, seed)[:1_900] for seed in range(510)],
    "a body of alike bullets": [f"{_words(200, seed % 9)} {_words(20, seed)}"[:990] for seed in range(960)],
}
"""The bullets of a playbook of about 1 MB that a PUT replaces another with."""


@dataclass(frozen=True)
class Row:
    """What one family of requests did: how long they took, and how many ms each of the others waited."""

    family: str
    count: int
    failed: int
    seconds: float
    others: Mapping[str, Sequence[float]]

    def passed(self, calm: Row) -> bool:
        """Whether all were answered, and nobody else waited 200 ms longer than in the calm row."""
        longest = (max(waits) - max(calm.others[name]) for name, waits in self.others.items())
        return not self.failed and max(longest) < MOST_MS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, write the page, and say whether all is well."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.readers.served")
    parser.add_argument("--messages", type=int, default=100, help="messages of each family")
    parser.add_argument("--families", nargs="*", help="part of a family's name; without one: all")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--store", help="its URL; without one: SQLite in a new folder")
    given = parser.parse_args(arguments)
    rows = asyncio.run(_all(given.messages, given.families or [""], given.store))
    page = _page(rows, "SQLite" if given.store is None else given.store.partition(":")[0])
    given.page.write_text(page)
    print(page)
    return not all(row.passed(rows[0]) for row in rows)


async def _all(messages: int, wanted: Sequence[str], store: str | None) -> list[Row]:
    rows = list[Row]()

    async def measure(family: str, count: int, ask: Callable[[], Awaitable[httpx.Response]]) -> None:
        if not rows or any(part in family for part in wanted):
            rows.append(await _family(client, family, count, ask))
            print(_line(rows[-1]), file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        async with (
            _serving(Path(folder), store) as url,
            httpx.AsyncClient(base_url=url, timeout=600) as client,
        ):
            for _ in range(10):
                await _chat(client, "other", "What is 1/2 + 1/3?")
            for family, unit in _FAMILIES.items():
                text = (unit * SIZE)[:SIZE]
                await measure(family, messages, partial(_chat, client, family, f"What is it? {text}"))
            for kind, texts in _BODIES.items():
                await measure(kind, 1, partial(_replace, client, kind, texts))
    return rows


async def _family(
    client: httpx.AsyncClient, family: str, count: int, ask: Callable[[], Awaitable[httpx.Response]]
) -> Row:
    done, other = asyncio.Event(), bearer("other")
    calls: dict[str, Callable[[], Awaitable[httpx.Response]]] = {
        "/healthz": lambda: client.get("/healthz"),
        "/readyz": lambda: client.get("/readyz"),
        "read": lambda: client.get("/api/playbook", headers=other),
        "chat": lambda: _chat(client, "other", "What is 2 + 3?"),
    }
    waiting = {name: asyncio.create_task(_again_and_again(call, done)) for name, call in calls.items()}
    began = time.perf_counter()
    replies = [await ask() for _ in range(count)]
    seconds = time.perf_counter() - began
    await asyncio.sleep(max(0, 2 - seconds))  # a few of the other requests at least
    done.set()
    failed = sum(reply.status_code not in (200, 422) for reply in replies)
    return Row(family, count, failed, seconds, {name: await task for name, task in waiting.items()})


async def _replace(client: httpx.AsyncClient, kind: str, texts: Sequence[str]) -> httpx.Response:
    """Replace a new named playbook by these bullets."""
    headers = bearer("hostile")
    made = await client.post("/api/playbooks", json={"name": kind.replace(" ", "-")}, headers=headers)
    bullets = [{"section": "strategies", "content": text} for text in texts]
    body = json.dumps({"bullets": bullets}, ensure_ascii=False).encode()
    address = f"/api/playbooks/{made.raise_for_status().json()['playbookId']}"
    return await client.put(address, content=body, headers={**headers, "Content-Type": "application/json"})


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
async def _serving(folder: Path, store: str | None) -> AsyncGenerator[str]:
    """Start `ace-graph serve` on a free port, and end it."""
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {
        "ACE_MODEL": "offline",
        "ACE_STORE": store or f"sqlite:///{folder / 'ace.db'}",
        "ACE_CONVERSATIONS": store or f"sqlite:///{folder / 'conversations.db'}",
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


def _page(rows: Sequence[Row], store: str) -> str:
    head = [
        "# Messages that are hard to read",
        "",
        f"Messages of {SIZE:,} characters at `ace-graph serve` (offline tutor, {store}), one after the",
        "other, and playbooks of a megabyte, while another learner asks /healthz and /readyz, reads a",
        "playbook and chats, again and again. Their columns have the median and the longest wait. The first",
        "row sends short messages.",
        "Made by `python -m benchmarks.readers.served`.",
        "",
        *(f"- {line}" for line in describe_machine()),
        f"- load average at the end: {load_now():.0f}; with more than 1, compare with the first row",
        "",
        "| what is sent | number | failed | seconds | /healthz ms | /readyz ms | read ms | chat ms |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    return "\n".join([*head, *map(_line, rows), ""])


def _line(r: Row) -> str:
    waits = " | ".join(f"{median(waits):.0f}, {max(waits):.0f}" for waits in r.others.values())
    return f"| {r.family} | {r.count} | {r.failed} | {r.seconds:.1f} | {waits} |"


if __name__ == "__main__":
    sys.exit(main())
