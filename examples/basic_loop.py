"""The loop in its simplest form: run a task, learn from how it went, run it again with what was learned.

    python examples/basic_loop.py

It needs no key and no network: the model is a script of two replies. Leave `model=` out, and the model of the
settings reflects (ACE_MODEL, GEMINI_API_KEY).
"""

from __future__ import annotations

import asyncio

from ace_graph import execute_with_learning, open_store
from ace_graph.learning.execution import RunningTrajectory
from ace_graph.testing import ScriptedModel

LESSON = "When fetching invoices, wait as long as Retry-After says between two pages"
REPLIES = [f'{{"lessons": [{{"content": "{LESSON}", "section": "api"}}]}}', '{"lessons": []}']


async def fetch_invoices(trajectory: RunningTrajectory) -> tuple[int, str]:
    """Stand in for an agent: it gets the advice of its memory, logs its steps, and says how it went."""
    waits = "Retry-After" in trajectory.context
    await trajectory.alog("action", "GET /invoices?page=1", {"status": 200})
    await trajectory.alog("action", "GET /invoices?page=2", {"status": 200 if waits else 429})
    return (100, "success") if waits else (50, "failure")


async def main() -> None:
    """Fetch twice, and print what the memory holds then."""
    async with open_store("memory://") as store:
        model = ScriptedModel(reflector=REPLIES)
        for run in (1, 2):
            invoices, _ = await execute_with_learning(
                fetch_invoices,
                "Fetch all invoices of last month",
                store=store,
                learner_id="bot",
                agent="crawler",
                task_type="api_call",
                learning="inline",
                model=model,
            )
            print(f"run {run}: {invoices} of 100 invoices")
        for turn in await store.turns("bot"):
            print(f"{turn.status}, with the advice {turn.injected}")
        for bullet in (await store.load("bot")).playbook.bullets():
            print(f"[{bullet.id}] {bullet.content}")


if __name__ == "__main__":
    asyncio.run(main())
