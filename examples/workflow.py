"""A workflow of two tasks, with a hook: the learning starts when the workflow ends.

    python examples/workflow.py

`on_task` is called before and after each task. Here the hook prints how they went and collects what is left
to learn; the end of the workflow starts the learning. It needs no key and no network.
"""

from __future__ import annotations

import asyncio
import json

from ace_graph import Store, execute_with_learning, learn_pending, open_store
from ace_graph.learning import RunningTrajectory, TaskEvent
from ace_graph.testing import ScriptedModel

BOT = "bot"
LESSON = "Before a load, compare the columns of the file with those of the table"
NOTHING = '{"lessons": []}'
REPLIES = [NOTHING, json.dumps({"lessons": [{"content": LESSON, "section": "etl"}]}), NOTHING, NOTHING]


class Workflow:
    """The hook: it knows which tasks ran, and what is left to learn from them."""

    def __init__(self) -> None:
        self.left = list[str]()

    def __call__(self, event: TaskEvent) -> None:
        """Take note of a task that begins or has ended."""
        if event.phase == "ended":
            print(f"{event.task}: {event.status}")
            if event.pending_id is not None:
                self.left.append(event.pending_id)

    async def learn(self, store: Store, model: ScriptedModel) -> None:
        """Learn from all tasks of the workflow."""
        for pending_id in self.left:
            await learn_pending(BOT, pending_id, store=store, model=model)


def extract() -> tuple[int, str]:
    """Stand in for reading a file."""
    return 1_000, "success"


def load(trajectory: RunningTrajectory) -> tuple[int, str]:
    """Stand in for writing to a table, which fails at first."""
    if "compare the columns" not in trajectory.context:
        trajectory.log("observation", "the table has no column `vat`")
        return 0, "failure"
    return 1_000, "success"


async def run(store: Store, model: ScriptedModel) -> None:
    """Run both tasks as one workflow, and learn when it has ended."""
    hook = Workflow()
    _, parent = await execute_with_learning(
        extract, "Read the invoices", store=store, learner_id=BOT, on_task=hook
    )
    await execute_with_learning(
        load, "Load the invoices into the table", store=store, learner_id=BOT, parent_id=parent, on_task=hook
    )
    await hook.learn(store, model)


async def main() -> None:
    """Run the workflow twice: the second time it follows what the first one taught."""
    async with open_store("memory://") as store:
        model = ScriptedModel(reflector=REPLIES)
        await run(store, model)
        memory = await store.load(BOT)
        print(f"learned: {[bullet.content for bullet in memory.playbook.bullets()]}")
        await run(store, model)


if __name__ == "__main__":
    asyncio.run(main())
