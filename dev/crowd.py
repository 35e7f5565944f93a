"""A crowd at the web backend, through HTTP: many learners at once, many writers on one, then many turns.

    python dev/crowd.py [--learners 1000] [--writers 20] [--turns 10000] [--store URL]

It starts `ace-graph serve` with the offline tutor. Afterwards every fact that was told is there once, and the
server's memory, file handles and connections are where they were after the first turns; or it exits 1.

Does not: time anything; benchmarks/server does.
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
from pathlib import Path

import httpx
import jwt

SECRET = secrets.token_hex(32)
AT_ONCE = 50
MOST_GROWTH = 1.25
ROOM_MB = 40
WAIT_SECONDS = 600


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def bearer(learner: str) -> dict[str, str]:
    """Return a learner's headers."""
    claims = {"sub": learner, "exp": int(time.time()) + 24 * 3600}
    return {"Authorization": f"Bearer {jwt.encode(claims, SECRET, algorithm='HS256')}"}


async def ask(client: httpx.AsyncClient, learner: str, message: str, conversation: str) -> None:
    """Ask, and ask again when the server says that it is busy."""
    body = {"message": message, "conversationId": conversation}
    while True:
        reply = await client.post("/api/ai/chat", json=body, headers=bearer(learner))
        if reply.status_code not in (429, 503):
            reply.raise_for_status()
            return
        await asyncio.sleep(float(reply.headers["retry-after"]))


async def facts(client: httpx.AsyncClient, learner: str) -> dict[str, int]:
    """Return what is remembered of a learner's own words, and how often each was told."""
    reply = await client.get("/api/playbook", headers=bearer(learner))
    reply.raise_for_status()
    told = reply.json()["bullets"]
    return {b["content"]: b["seen"] for b in told if b["content"].startswith("Learner says: ")}


async def crowd(client: httpx.AsyncClient, learners: int) -> list[str]:
    """Every learner tells one fact of their own, all at once; return what is wrong."""
    names = [f"crowd-{n}" for n in range(learners)]
    await asyncio.gather(*(ask(client, n, f"Remember that I am {n}.", f"of-{n}") for n in names))
    kept = [await facts(client, name) for name in names]
    wanted = [{f"Learner says: I am {name}": 1} for name in names]
    return [
        f"{name}: {found}" for name, found, right in zip(names, kept, wanted, strict=True) if found != right
    ]


async def writers(client: httpx.AsyncClient, number: int) -> list[str]:
    """Writers of one learner tell a fact each, in conversations of their own; return what is wrong."""
    words = [f"my word {n} is {secrets.token_hex(4)}" for n in range(number)]
    asked = (ask(client, "one", f"Remember that {word}.", f"w-{n}") for n, word in enumerate(words))
    await asyncio.gather(*asked)
    found, wanted = await facts(client, "one"), {f"Learner says: {word}": 1 for word in words}
    return [] if found == wanted else [f"writers: {len(found)} of {number} facts, {found}"]


async def soak(client: httpx.AsyncClient, turns: int, pid: int) -> list[str]:
    """Ask so many questions of a few learners and conversations; return what has grown."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(n: int) -> None:
        async with places:
            await ask(client, f"soak-{n % 40}", f"What is {n} + 1/2?", f"s-{n % 200}")

    warm = max(turns // 10, min(turns, 500))
    await asyncio.gather(*(one(n) for n in range(warm)))
    before = size(pid)
    say(f"after {warm} turns: {before}")
    await asyncio.gather(*(one(n) for n in range(warm, turns)))
    after = size(pid)
    say(f"after {turns} turns: {after}")
    grown = [] if after["handles"] <= before["handles"] + AT_ONCE else ["file handles"]
    more = after["megabytes"] > before["megabytes"] * MOST_GROWTH + ROOM_MB
    return [*(f"{what} grew: {before} -> {after}" for what in grown), *(["memory grew"] if more else [])]


def size(pid: int) -> dict[str, int]:
    """Return a process's resident memory and its open files and connections (Linux)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    megabytes = pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000
    return {"megabytes": megabytes, "handles": len(list(Path(f"/proc/{pid}/fd").iterdir()))}


async def run(url: str, pid: int, options: argparse.Namespace) -> list[str]:
    """Return everything that is wrong."""
    limits = httpx.Limits(max_connections=400)
    async with httpx.AsyncClient(base_url=url, timeout=600, limits=limits, trust_env=False) as client:
        wrong = await crowd(client, options.learners)
        say(f"{options.learners} learners at once: {len(wrong)} wrong")
        wrong += await writers(client, options.writers)
        say(f"{options.writers} writers on one learner: {len(wrong)} wrong in all")
        wrong += await soak(client, options.turns, pid)
        metrics = (await client.get("/metrics")).text.splitlines()
    under_way = next(line for line in metrics if line.startswith("ace_turns_under_way "))
    return wrong if under_way.endswith(" 0.0") else [*wrong, under_way]


def main() -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(description="A crowd at the web backend.")
    for name, default in (("learners", 1000), ("writers", 20), ("turns", 10_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--store", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w+") as log:
        process = subprocess.Popen(  # noqa: S603  our own program
            [Path(sys.executable).with_name("ace-graph"), "serve", "--port", "0"],
            cwd=folder,
            env=_environment(Path(folder), options.store),
            stderr=log,
        )
        try:
            wrong = asyncio.run(run(_address(process, Path(folder) / "log"), process.pid, options))
        finally:
            process.terminate()
            process.wait(60)
    for line in wrong[:20]:
        say(line)
    return 1 if wrong else 0


def _environment(folder: Path, store: str | None) -> dict[str, str]:
    ours = {
        "ACE_MODEL": "offline",
        "ACE_JWT_SECRET": SECRET,
        "ACE_STORE": store or f"sqlite:///{folder / 'ace.db'}",
        "ACE_CONVERSATIONS": str(folder / "conversations.db"),
        "ACE_SERVER_RATE": "1000000",
        "ACE_SERVER_TURNS": "1000",
        "ACE_SERVER_TIMEOUT": "600",
        "LANGSMITH_TRACING": "false",
    }
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
