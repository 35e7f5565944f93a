"""Many turns through the web backend under small limits: does what is stored stay flat?

    python dev/growth.py [--turns 2000] [--store URL]

Every turn is three hours after the one before, on a clock of its own. Three learners change their name, ask
and change conversations; now and then a task of a program's own fails. The server cleans by itself. In the
second half nothing may be larger than in the first, failures aside: records, deltas, conversations, the bytes
of both files. At the end every failure is there, the history folds to the state, and a commit from the
beginning is refused; or it exits 1.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast
from uuid import uuid4

import httpx
import jwt
from fastapi import FastAPI
from pydantic import SecretStr

from ace_graph import execute_with_learning
from ace_graph.agent.offline_tutor import OfflineTutor
from ace_graph.base.errors import CommitTooOld
from ace_graph.base.settings import Settings
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.turn import TurnRecord
from ace_graph.server import Overrides, create_app
from ace_graph.server.conversations.cleaning import count_conversations
from ace_graph.server.services import Services
from ace_graph.testing.invariants import check

SECRET = "a secret of a long run, long enough for HS256"  # noqa: S105  of this run only
HOURS = 3.0
MESSAGES = ("Actually, call me Mina{n}.", "What is 1/2 + 1/3?", "12 * 5", "thanks")
SLACK = 1.15
"""How much larger the second half may be: cleaning comes in rounds."""


class TurnedClock:
    """Time that passes when somebody turns it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._waiting: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        """The date."""
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        """Seconds since it was made."""
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        """Wait until it was turned so far."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((self.seconds + seconds, ended))
        await ended

    async def turn(self, seconds: float) -> None:
        """Let time pass, second by second where somebody waits for it."""
        until = self.seconds + seconds
        while True:
            self._waiting = [each for each in self._waiting if not each[1].done()]
            following = min((at for at, _ in self._waiting), default=until)
            self.seconds = min(until, max(following, self.seconds))
            for at, ended in self._waiting:
                if at <= self.seconds and not ended.done():
                    ended.set_result(None)
            await asyncio.sleep(0)
            if self.seconds >= until:
                return


@dataclass
class Run:
    """The sizes after each turn, and what must still be there at the end."""

    sizes: list[dict[str, int]] = field(default_factory=list[dict[str, int]])
    failures: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def limits(url: str, folder: Path) -> Settings:
    """Small limits, so that a run of a few hundred turns meets all of them."""
    given: Mapping[str, object] = {
        "store": url,
        "jwt_secret": SecretStr(SECRET),
        "learning": "inline",
        "conversations": str(folder / "conversations.db"),
        "trace_days": 0.5,
        "record_days": 1,
        "history_kept": 5,
        "conversation_days": 2,
        "conversations_kept": 3,
        "conversation_messages": 12,
        "max_bullets": 20,
        "server_rate": 100_000,
    }
    return Settings.model_validate({**Settings().model_dump(), **given})


async def measured(services: Services, failures: int) -> dict[str, int]:
    """What is stored by now; the records of failures stay, so they do not count."""
    store, database = services.store, services.conversations.database
    stored, conversations = await store.sizes(), await count_conversations(database)
    return {
        "turns": stored.turns - failures,
        "deltas": stored.deltas,
        "memory_bytes": stored.bytes or 0,
        "conversations": conversations,
        "conversation_bytes": await database.size(),
    }


async def one_turn(client: httpx.AsyncClient, number: int, learner: str, expires: datetime) -> None:
    """A learner says something in the conversation of these days."""
    token = jwt.encode({"sub": learner, "exp": expires}, SECRET, algorithm="HS256")
    message = MESSAGES[number % len(MESSAGES)].format(n=number)
    body = {"message": message, "conversationId": f"lesson-{number // 9}"}
    reply = await client.post("/api/ai/chat", json=body, headers={"Authorization": f"Bearer {token}"})
    reply.raise_for_status()


async def one_failure(services: Services, learner: str, clock: TurnedClock) -> str:
    """A task of a program's own that fails; its trajectory stays."""
    _, name = await execute_with_learning(
        lambda: (None, "failure"),
        "Fetch the invoices",
        store=services.store,
        learner_id=learner,
        auto_reflect=False,
        clock=clock.now,
        settings=services.settings,
    )
    return name


async def grow(app: FastAPI, clock: TurnedClock, learners: list[str], turns: int) -> Run:
    """Take the turns, and measure after each."""
    services, run = cast("Services", app.state.services), Run()
    expires = datetime.now(UTC) + timedelta(days=9_000)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://growth", timeout=60) as client:
        for number in range(turns):
            learner = learners[number % len(learners)]
            await one_turn(client, number, learner, expires)
            if number % 40 == 7:
                run.failures.append((learner, await one_failure(services, learner, clock)))
            await clock.turn(HOURS * 3600)
            run.sizes.append(await measured(services, len(run.failures)))
            if (number + 1) % max(1, turns // 10) == 0:
                sys.stdout.write(f"{number + 1:>6} turns  {run.sizes[-1]}\n")
                sys.stdout.flush()
    return run


def grown(run: Run) -> list[str]:
    """A line for each size that was larger in the second half than in the first."""
    half, wrong = len(run.sizes) // 2, list[str]()
    for what in run.sizes[0]:
        first, second = (max(each[what] for each in part) for part in (run.sizes[:half], run.sizes[half:]))
        if second > first * SLACK + 2:
            wrong.append(f"{what} grew from {first} to {second}")
    return wrong


async def lost(services: Services, learners: list[str], run: Run) -> list[str]:
    """A line for each failure that is gone, and for each invariant that broke."""
    wrong = list[str]()
    for learner in learners:
        kept = {turn.turn_id for turn in await services.store.turns(learner, 1_000_000)}
        wrong += [
            f"the failure {name} is gone" for of, name in run.failures if of == learner and name not in kept
        ]
        wrong += [f"{learner}: {problem}" for problem in await check(services.store, learner)]
    return wrong


async def applied_late(services: Services, learner: str, then: datetime) -> list[str]:
    """A line if a turn from the beginning, whose key is gone, is applied again."""
    record = TurnRecord(
        turn_id="late", attempt_id="a", task="x", mode="cot", status="success", started_at=then
    )
    delta = Delta(op_id=str(uuid4()), now=then, author="growth")
    try:
        await services.store.commit(learner, delta, await services.store.load(learner), record)
    except CommitTooOld:
        return []
    return ["a turn from before the keys that are kept was applied"]


async def run_growth(url: str, folder: Path, turns: int, learner_count: int = 3) -> list[str]:
    """Run it on the store at `url`; return what is wrong."""
    clock = TurnedClock()
    learners = [f"growth-{uuid4().hex[:8]}-{n}" for n in range(learner_count)]
    app = create_app(limits(url, folder), Overrides(model=OfflineTutor()), clock=clock)
    async with app.router.lifespan_context(app):
        began = clock.now()
        run = await grow(app, clock, learners, turns)
        services = cast("Services", app.state.services)
        wrong = [*grown(run), *await lost(services, learners, run)]
        return [*wrong, *await applied_late(services, learners[0], began)]


def main() -> int:
    """Reads the arguments and runs; returns the exit code."""
    parser = argparse.ArgumentParser(
        description="Many turns under small limits, and whether sizes stay flat."
    )
    parser.add_argument("--turns", type=int, default=2_000)
    parser.add_argument("--store", help="a store URL; without one a new SQLite file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = options.store or f"sqlite:///{folder}/ace.db"
        wrong = asyncio.run(run_growth(url, Path(folder), options.turns))
    sys.stdout.write(
        "".join(f"{line}\n" for line in wrong) or "Nothing grew, nothing that had to stay went.\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
