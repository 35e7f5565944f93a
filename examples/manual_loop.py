"""The loop by hand: record a run that fails, reflect on it, take the lesson into a playbook, run again.

    python examples/manual_loop.py

Use this where `execute_with_learning` does not fit: start, steps and outcome may come from different
processes. It needs no key and no network; `learn_pending` without `model=` asks the model of the settings.
"""

from __future__ import annotations

import asyncio

from ace_graph import (
    Completion,
    Store,
    complete_trajectory,
    curate,
    learn_pending,
    log_step,
    open_store,
    playbooks,
    start_trajectory,
)
from ace_graph.learning.trajectories import get_trajectory
from ace_graph.testing import ScriptedModel

BOT = "bot"
LESSON = "Ask for at most 200 rows of the export at once: the gateway cuts off after 30 seconds"
REPLIES = [
    f'{{"root_cause_analysis": "5,000 rows took longer than the gateway waits", '
    f'"lessons": [{{"content": "{LESSON}", "section": "export"}}]}}',
    '{"lessons": []}',
]


def export(rows: int) -> int:
    """Stand in for a service that can't deliver much at once."""
    if rows > 200:
        raise TimeoutError("504 Gateway Timeout after 30 s")
    return rows


async def recorded_run(store: Store, rows: int) -> tuple[str, str | None]:
    """Export so many rows; return the trajectory's id, and the id of what is left to learn from it."""
    name = await start_trajectory(store, BOT, "Export the customers", agent="exporter", task_type="export")
    await log_step(store, BOT, name, "decision", f"ask for {rows} rows at once")
    try:
        received = export(rows)
    except TimeoutError as error:
        await log_step(store, BOT, name, "observation", str(error), {"rows": rows})
        failed = Completion(score=0.0, error=str(error), curates=False)
        return name, await complete_trajectory(store, BOT, name, "failure", failed)
    done = Completion(score=1.0, metrics={"rows": received}, curates=False)
    return name, await complete_trajectory(store, BOT, name, "success", done)


async def reflect(store: Store, name: str, pending_id: str | None, model: ScriptedModel) -> list[str]:
    """Learn from a completed run; return the ids of the reflections that are stored with it."""
    if pending_id is not None:
        await learn_pending(BOT, pending_id, store=store, model=model)
    turn = await get_trajectory(store, BOT, name)
    print(f"{turn.status}: {turn.error or 'all rows'}; steps: {len(turn.steps)}")
    for reflection in turn.reflections:
        print(f"  reflection: {'; '.join(reflection.failures) or 'nothing went wrong'}")
    return [reflection.reflection_id for reflection in turn.reflections]


async def main() -> None:
    """Fail, reflect, curate, read the playbook, succeed."""
    async with open_store("memory://") as store:
        model = ScriptedModel(reflector=REPLIES)
        await playbooks.create(store, "exports", owner=BOT, description="how our services export data")
        chosen = await reflect(store, *await recorded_run(store, 5_000), model)
        changed = await curate(store, BOT, chosen, "exports")
        print(f"playbook {changed.version.label}: {[bullet.text for bullet in changed.added]}")
        await reflect(store, *await recorded_run(store, await rows_by(store)), model)


async def rows_by(store: Store) -> int:
    """Stand in for an agent that reads the playbook: how many rows to ask for."""
    advice = await playbooks.get_playbook(store, "exports", BOT)
    return 200 if any("200 rows" in bullet.content for bullet in advice.playbook.bullets()) else 5_000


if __name__ == "__main__":
    asyncio.run(main())
