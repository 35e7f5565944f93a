"""What `playbook stats` and `playbook get ID` print: figures of a playbook, and one bullet as a strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ace_graph.cli.options import Which
from ace_graph.cli.playbook_view import as_text, bullet_json
from ace_graph.cli.store_access import on_playbook
from ace_graph.cli.terminal import console, print_json, printable
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.clock import utc_now
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.turn import TurnRecord
from ace_graph.memory.views.kinds import kind_of
from ace_graph.memory.views.strategy import content_of, entry_of
from ace_graph.playbooks.worth import Worth, active_bullets, bullet_named, figures_of, read_worth

__all__ = ["get", "stats", "strategies_json", "worth_of"]


def stats(url: str | None, which: Which, *, as_json: bool) -> None:
    """Print counts, the means of strength and confidence, and how the playbook was used."""
    found = figures_of(_worth(url, which), utc_now()).model_dump(mode="json")
    figures: dict[str, object] = {"learner": which.learner, **found}
    if as_json:
        print_json(figures)
        return
    for name, value in figures.items():
        console().print(f"{name.replace('_', ' ')}: {as_text(value)}", soft_wrap=True)


def get(url: str | None, which: Which, bullet_id: str, *, as_json: bool) -> None:
    """Print one bullet as a strategy, with the trajectories behind it.

    Raises ChangeRefused for an unknown id.
    """
    found = _worth(url, which, lambda snapshot: [bullet_named(snapshot, bullet_id)])
    snapshot, turns = found.snapshot, found.turns
    bullet = bullet_named(snapshot, bullet_id)
    entry = entry_of(bullet, found.evidence, utc_now())
    if as_json:
        print_json(
            {
                "version": snapshot.version.n,
                "kind": kind_of(bullet),
                "importance": bullet.importance,
                **entry.model_dump(mode="json"),
                "trajectories": [_trajectory(turn) for turn in turns],
                "bullet": bullet_json(bullet),
            }
        )
        return
    out = console()
    for name, value in (("kind", kind_of(bullet)), *entry):
        if value not in (None, ()):
            shown = ", ".join(entry.examples) if name == "examples" else as_text(value)
            out.print(f"{name.replace('_', ' ')}: {printable(shown)}", soft_wrap=True)
    for turn in turns:
        told = f"{turn.verdict} {turn.completed_at or turn.started_at:%Y-%m-%d} {turn.turn_id}: {turn.task}"
        out.print(f"  {printable(told)}", soft_wrap=True)


def _worth(
    url: str | None, which: Which, chosen: Callable[[Snapshot], Iterable[Bullet]] = active_bullets
) -> Worth:
    return on_playbook(url, which, lambda store, target: read_worth(store, target, which.learner, chosen))


def worth_of(found: Worth) -> dict[str, object]:
    """Return how the playbook was used, and what was done to make it what it is."""
    return {**found.effectiveness.model_dump(mode="json"), **found.metadata.model_dump(mode="json")}


def strategies_json(found: Worth) -> dict[str, object]:
    """Return the active bullets as strategies in three categories, and what the playbook was worth."""
    content = content_of(found.snapshot, found.turns, utc_now())
    return {
        "strategies": {
            category: [entry.model_dump(mode="json") for entry in entries]
            for category, entries in (
                ("helpful", content.helpful),
                ("harmful", content.harmful),
                ("neutral", content.neutral),
            )
        },
        "metadata": found.metadata.model_dump(mode="json"),
        "effectiveness": found.effectiveness.model_dump(mode="json"),
    }


def _trajectory(turn: TurnRecord) -> dict[str, object]:
    shown = {"task", "agent", "task_type", "status", "verdict", "score", "started_at", "completed_at"}
    return {"trajectory_id": turn.turn_id, **turn.model_dump(mode="json", include=shown)}
