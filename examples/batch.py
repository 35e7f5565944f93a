"""What do ten runs have in common? Record them, find what their reflections share, curate what is frequent.

    python examples/batch.py

It needs no key and no network: the replies of the reflector are in this file, one for each run. On the
command line the last two steps are `ace-graph reflect --batch` and `ace-graph playbook curate ID...`.
"""

from __future__ import annotations

import asyncio
import json

from ace_graph import batch_reflect, curate, execute_with_learning, open_store, playbooks
from ace_graph.memory.stores.store import Store
from ace_graph.testing import ScriptedModel

BOT = "bot"
# What each run was about, how it ended, and what the reflector said about it, in different wordings.
RUNS = [
    ("orders, page 1", "failure", "Check the rate limit before you call the API"),
    ("orders, page 2", "failure", "Check the rate limits before you call the API."),
    ("customers", "success", "Ask for gzip: the customer list is ten times smaller"),
    ("invoices", "failure", "Check the rate limit before you call the API"),
    ("orders, page 3", "success", "Follow the next link instead of counting pages"),
    ("refunds", "failure", "Send an Idempotency-Key with every refund"),
    ("refunds again", "success", "Send an Idempotency-Key with every refund"),
    ("products", "success", "Follow the next link instead of counting pages"),
    ("stock", "failure", "Check the rate limit before you call the API"),
    ("prices", "success", "Prices come in cents, as whole numbers"),
]


async def record(store: Store, task: str, status: str, lesson: str) -> None:
    """Run a task that ends with this status, and store the reflection on it."""
    reply = json.dumps({"lessons": [{"content": lesson, "section": "api"}]})

    async def call_api() -> tuple[None, str]:
        return None, status

    await execute_with_learning(
        call_api,
        f"Call the shop API: {task}",
        store=store,
        learner_id=BOT,
        agent="shop",
        task_type="api_call",
        auto_curate=False,  # the playbook gets only what is frequent
        learning="inline",
        model=ScriptedModel(reflector=[reply]),
    )


async def main() -> None:
    """Record ten runs, then reflect on them together and curate."""
    async with open_store("memory://") as store:
        for task, status, lesson in RUNS:
            await record(store, task, status, lesson)
        found = await batch_reflect(store, BOT, agent="shop", task_type="api_call")
        if found.status == "not_enough":
            raise SystemExit(f"{found.found} runs, {found.needed} are needed")
        for each in found.patterns:
            print(f"{each.pattern.frequency} of {found.found}  {each.pattern.text}")
        frequent = [each.memory_id for each in found.patterns if each.pattern.frequency >= 2]
        await playbooks.create(store, "shop_api", owner=BOT)
        changed = await curate(store, BOT, frequent, "shop_api")
        print(
            f"shop_api {changed.version.label}: {len(changed.added)} of {len(found.patterns)} lessons taken"
        )
        again = await curate(store, BOT, frequent, "shop_api")
        print(f"the same once more: {again.status}")
        held = (await playbooks.get_playbook(store, "shop_api", BOT)).playbook.bullets()
        for bullet in sorted(held, key=lambda each: each.content):
            print(f"shop_api: {bullet.content} ({bullet.evidence_count} runs)")


if __name__ == "__main__":
    asyncio.run(main())
