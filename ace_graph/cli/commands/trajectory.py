"""The commands `ace-graph trajectory ...`: record work of your own, and look at what was recorded.

Does not: learn. A worker does, or `ace-graph reflect`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from ace_graph.cli.options import DEFAULT_LEARNER, Json, Learner, StoreUrl

__all__ = ["trajectory"]

trajectory = typer.Typer(
    no_args_is_help=True, help="Record what your own programs did, step by step; list what was recorded."
)

Id = Annotated[str, typer.Argument(metavar="ID", help="The trajectory.")]
Agent = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Who did it.")]
Type = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="What kind of task it is.")]
Values = Annotated[str | None, typer.Option(metavar="JSON", help="A JSON object of your own values.")]
Time = Annotated[datetime | None, typer.Option(metavar="TIME", help="Completed then, UTC, like 2026-01-31.")]


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
    from ace_graph.cli.commands import trajectory_run

    trajectory_run.start(store, learner, task, agent, type_, parent, id_, as_json=as_json)


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
    from ace_graph.cli.commands import trajectory_run

    trajectory_run.log(store, learner, id_, kind, text, metadata, as_json=as_json)


@trajectory.command()
def complete(
    id_: Id,
    status: Annotated[str, typer.Argument(metavar="STATUS", help="success, failure or partial.")],
    score: Annotated[float | None, typer.Option(help="From 0 to 1.")] = None,
    error: Annotated[str | None, typer.Option(metavar="TEXT", help="What went wrong.")] = None,
    answer: Annotated[str, typer.Option(metavar="TEXT", help="What came of it.")] = "",
    metrics: Values = None,
    cited: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A bullet that was followed; may come again.")
    ] = None,
    learn: Annotated[bool, typer.Option(help="Leave work for a worker.")] = True,
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """End a trajectory. Its first outcome stays."""
    from ace_graph.cli.commands import trajectory_run

    asked = trajectory_run.Ending(status, score, error, answer, metrics, tuple(cited or ()), learn)
    trajectory_run.complete(store, learner, id_, asked, as_json=as_json)


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
    skip: Annotated[int, typer.Option(min=0, help="Leave out the first so many.")] = 0,
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """List trajectories, the newest first; those of the graph's own turns are among them."""
    from ace_graph.cli.commands import trajectory_view

    wanted = trajectory_view.Wanted(failed, agent, type_, status, since, until, limit, skip)
    trajectory_view.list_trajectories(store, learner, wanted, as_json=as_json)


@trajectory.command()
def show(id_: Id, learner: Learner = DEFAULT_LEARNER, as_json: Json = False, store: StoreUrl = None) -> None:
    """Show one trajectory: its outcome, its steps, what was learned from it."""
    from ace_graph.cli.commands import trajectory_view

    trajectory_view.show(store, learner, id_, as_json=as_json)


@trajectory.command()
def delete(
    id_: Id, learner: Learner = DEFAULT_LEARNER, as_json: Json = False, store: StoreUrl = None
) -> None:
    """Delete what a trajectory says. Its parts, and what was learned from it, stay."""
    from ace_graph.cli.commands import trajectory_run

    trajectory_run.delete(store, learner, id_, as_json=as_json)


@trajectory.command()
def trim(
    days: Annotated[float, typer.Option(min=0, help="Older than so many days.")] = 30,
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Drop old steps of what was reflected on; outcomes and evidence stay."""
    from ace_graph.cli.commands import trajectory_run

    trajectory_run.trim(store, learner, days, as_json=as_json)
