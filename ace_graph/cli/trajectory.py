"""The commands `ace-graph trajectory ...`: record work of your own, list and show what was recorded.

A worker learns from trajectories, or `ace-graph reflect`. What a command needs is imported when it is called,
so that `--help` answers at once.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ace_graph.cli.options import DEFAULT_LEARNER, Json, Learner, StoreUrl

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ace_graph.memory.turn import StepKind, TurnStatus

__all__ = ["trajectory"]

trajectory = typer.Typer(
    no_args_is_help=True, help="Record what your own programs did, step by step; list what was recorded."
)

Id = Annotated[str, typer.Argument(metavar="ID", help="The trajectory.")]
Agent = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Who did it.")]
Type = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="What kind of task it is.")]
Values = Annotated[str | None, typer.Option(metavar="JSON", help="A JSON object of your own values.")]
Time = Annotated[
    datetime | None, typer.Option(metavar="TIME", help="Completed on this day (UTC), such as 2026-01-31.")
]


@trajectory.command()
def start(
    task: Annotated[str, typer.Argument(metavar="TASK", help="What is to be done.")],
    agent: Agent = None,
    type_: Type = None,
    parent: Annotated[
        str | None, typer.Option(metavar="ID", help="The trajectory that this one is a part of.")
    ] = None,
    id_: Annotated[str | None, typer.Option("--id", metavar="ID", help="An id of your own.")] = None,
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Begin a trajectory and print its id.

    \b
    id=$(ace-graph trajectory start "Fetch the invoices" --agent crawler)
    ace-graph trajectory log "$id" action "GET /invoices" --metadata '{"page": 1}'
    ace-graph trajectory complete "$id" failure --error "429 after 3 retries"
    """
    from ace_graph.cli.store_access import on_trajectories
    from ace_graph.cli.terminal import print_json, printable
    from ace_graph.trajectories.recording import start_trajectory

    new_id = on_trajectories(
        store,
        lambda opened: start_trajectory(
            opened, learner, task, agent=agent or "host", task_type=type_, parent_id=parent, trajectory_id=id_
        ),
    )
    if as_json:
        print_json({"trajectory_id": new_id, "status": "in_progress"})
    else:
        print(printable(new_id))


@trajectory.command()
def log(
    id_: Id,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="decision, action or observation.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What was decided, done or seen.")],
    metadata: Values = None,
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Add a step."""
    from ace_graph.cli.store_access import on_trajectories
    from ace_graph.cli.terminal import counted, print_json
    from ace_graph.trajectories.recording import log_step

    values = _json_object(metadata, "--metadata")
    step = cast("StepKind", kind)  # log_step refuses other words
    turn = on_trajectories(store, lambda opened: log_step(opened, learner, id_, step, text, values))
    if as_json:
        print_json({"trajectory_id": id_, "steps": len(turn.steps)})
    else:
        print(f"{counted(len(turn.steps), 'step')}.")


@trajectory.command()
def complete(
    id_: Id,
    status: Annotated[str, typer.Argument(metavar="STATUS", help="success, failure or partial.")],
    score: Annotated[float | None, typer.Option(help="From 0 to 1.")] = None,
    error: Annotated[str | None, typer.Option(metavar="TEXT", help="What went wrong.")] = None,
    answer: Annotated[str, typer.Option(metavar="TEXT", help="What came of it.")] = "",
    metrics: Values = None,
    cited: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="A bullet that was followed; may be given several times."),
    ] = None,
    learn: Annotated[bool, typer.Option(help="Leave work for a worker.")] = True,
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """End a trajectory. Its first outcome stays."""
    from ace_graph.cli.environment import load_settings
    from ace_graph.cli.store_access import on_trajectories
    from ace_graph.cli.terminal import print_json
    from ace_graph.trajectories.recording import Completion, complete_trajectory

    completion = Completion(
        score=score,
        error=error,
        answer=answer,
        metrics=_json_object(metrics, "--metrics"),
        cited=tuple(cited or ()),
        learns=learn,
    )
    outcome = cast("TurnStatus", status)  # complete_trajectory refuses other words
    tracing = load_settings().tracing
    pending = on_trajectories(
        store, lambda opened: complete_trajectory(opened, learner, id_, outcome, completion, tracing=tracing)
    )
    if as_json:
        print_json({"trajectory_id": id_, "status": status, "pending": pending})
    else:
        print("Completed." if pending is None else "Completed; a worker will learn from it.")


@trajectory.command("list")
def list_(
    failed: Annotated[
        bool, typer.Option("--failed", help="Only what failed, or could not be learned from.")
    ] = False,
    agent: Agent = None,
    type_: Type = None,
    status: Annotated[
        str | None, typer.Option(metavar="STATUS", help="in_progress, success, failure or partial.")
    ] = None,
    since: Time = None,
    until: Time = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 50,
    skip: Annotated[int, typer.Option(min=0, help="Skip this many, the newest ones.")] = 0,
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """List trajectories, the newest first; those of the graph's own turns are among them."""
    from ace_graph.cli import trajectory_view

    wanted = trajectory_view.TrajectoryQuery(failed, agent, type_, status, since, until, limit, skip)
    trajectory_view.list_trajectories(store, learner, wanted, as_json=as_json)


@trajectory.command()
def show(id_: Id, learner: Learner = DEFAULT_LEARNER, as_json: Json = False, store: StoreUrl = None) -> None:
    """Show one trajectory: its outcome, its steps, what was learned from it."""
    from ace_graph.cli import trajectory_view

    trajectory_view.show(store, learner, id_, as_json=as_json)


@trajectory.command()
def delete(
    id_: Id, learner: Learner = DEFAULT_LEARNER, as_json: Json = False, store: StoreUrl = None
) -> None:
    """Delete what a trajectory says. Its parts, and what was learned from it, stay."""
    from ace_graph.cli.store_access import on_trajectories
    from ace_graph.cli.terminal import print_json
    from ace_graph.trajectories.recording import delete_trajectory

    on_trajectories(store, lambda opened: delete_trajectory(opened, learner, id_))
    if as_json:
        print_json({"trajectory_id": id_, "deleted": True})
    else:
        print("Deleted.")


@trajectory.command()
def trim(
    days: Annotated[float, typer.Option(min=0, help="Older than so many days.")] = 30,
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Drop old steps of what was reflected on; outcomes and evidence stay."""
    from ace_graph.cleaning.clean_memory import trim_trajectories
    from ace_graph.cli.store_access import on_trajectories
    from ace_graph.cli.terminal import print_json
    from ace_graph.memory.clock import utc_now

    done = on_trajectories(store, lambda opened: trim_trajectories(opened, learner, utc_now(), days))
    if as_json:
        print_json({"trimmed": list(done.trimmed), "unreflected": list(done.unreflected)})
        return
    trimmed = len(done.trimmed)
    print(f"Dropped the steps of {trimmed} {'trajectory' if trimmed == 1 else 'trajectories'}.")
    if done.unreflected:
        print(
            f"Kept {len(done.unreflected)}, because nobody has reflected on them yet: ace-graph worker --once"
        )


def _json_object(text: str | None, option: str) -> dict[str, JsonValue]:
    """Return the JSON object given for an option. Raises UsageError."""
    import json

    from ace_graph.errors import UsageError

    if text is None:
        return {}
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{option} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f'{option} is a JSON object, like {{"pages": 3}}')
    return cast("dict[str, JsonValue]", value)
