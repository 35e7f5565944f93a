"""A playbook says some things twice: read the plan, merge, see what a merge would have lost, take it back.

    python examples/consolidate.py

It needs no key and no network: the replies of the model are in this file. On the command line these are
`ace-graph playbook consolidate` with `--dry-run` or `--with-model`, and `playbook consolidate undo`.
"""

from __future__ import annotations

import asyncio
import json

from ace_graph import Store, open_store, playbooks
from ace_graph.base.prompts import Prompts
from ace_graph.learning.consolidation_writer import model_writer
from ace_graph.playbooks.consolidation import Consolidation, consolidate, undo
from ace_graph.testing import ScriptedModel

BOT = "bot"
ADVICE = [
    "Check the rate limit of the shop before a call, 100 requests a minute",
    "Look at the rate limit of the shop before a call, 100 requests a minute",
    "Save the invoices of AWS as files every month",
    "Store the invoices of AWS as files every month",
    "Follow the next link instead of counting pages",
]
# The first text loses the number and is asked for again; both texts about the invoices lose the name.
REPLIES = [
    "Check or look at the rate limit of the shop before a call",
    "Check or look at the rate limit of the shop before a call, 100 requests a minute",
    "Save or store the invoices as files every month",
    "Save the invoices as files every month",
]


async def main() -> None:
    """Plan, consolidate, undo."""
    async with open_store("memory://") as store:
        await playbooks.create(store, "shop", ADVICE, owner=BOT)
        before = await contents(store)
        plan = await consolidate(store, "shop", BOT, dry_run=True)
        print(f"plan: {len(plan.for_model)} groups that only a model can judge")
        with ScriptedModel(consolidator=[json.dumps({"content": text}) for text in REPLIES]) as model:
            writer = model_writer(model, Prompts.load(), timeout=30)
            done = await consolidate(store, "shop", BOT, writer=writer)
        show(done)
        for text in await contents(store):
            print(f"  {text}")
        back = await undo(store, "shop", BOT, run_id=done.run_id)
        print(f"undone: {len(back.restored)} bullets are back; as before: {await contents(store) == before}")


def show(done: Consolidation) -> None:
    """Print what was merged, what was refused and why, and the sums."""
    for group in done.groups:
        print(f"merged: {len(group.ids)} bullets, none of their numbers or names is lost")
    for refused in done.refused:
        print(f"refused: {refused.why}")
    print(
        f"merged {done.merged} + preserved {len(done.preserved)} + untouched {done.untouched} = {done.total}"
    )


async def contents(store: Store) -> list[str]:
    """Return what the playbook says, in the order of the texts."""
    found = await playbooks.get_playbook(store, "shop", BOT)
    return sorted(bullet.content for bullet in found.playbook.bullets())


if __name__ == "__main__":
    asyncio.run(main())
