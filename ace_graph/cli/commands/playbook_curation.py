"""The commands that curate a playbook by hand, bring back, merge, replace, vote: their arguments and help.

Does not: do the work, or import what does before a command is called, so that help answers at once.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ace_graph.cli.commands.playbook import BulletId, playbook
from ace_graph.cli.options import DEFAULT_LEARNER, Json, Learner, StoreUrl

__all__ = ["archived", "merge", "playbook", "restore", "supersede", "tag"]


class Vote(StrEnum):
    """The three counters, as a choice."""

    helpful = "helpful"
    harmful = "harmful"
    neutral = "neutral"


@playbook.command()
def archived(
    learner: Learner = DEFAULT_LEARNER,
    limit: Annotated[int, typer.Option(min=0, help="Bullets shown.")] = 50,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """The bullets that are no longer in the playbook, the latest first: since when, and why."""
    from ace_graph.cli.commands import playbook_history

    playbook_history.archive(store, learner, as_json=as_json, limit=limit)


@playbook.command()
def restore(
    bullet_id: BulletId, learner: Learner = DEFAULT_LEARNER, as_json: Json = False, store: StoreUrl = None
) -> None:
    """Bring back one bullet that `archived` lists, as it was; `rollback` brings back a whole version."""
    from ace_graph.cli.commands import playbook_history

    playbook_history.restore(store, learner, bullet_id, as_json=as_json)


@playbook.command()
def merge(
    bullet_ids: Annotated[list[str], typer.Argument(metavar="ID ID...", help="Two bullets or more.")],
    learner: Learner = DEFAULT_LEARNER,
    text: Annotated[str | None, typer.Option(help="What the one bullet is to say.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also where they don't say the same: you answer for it.")
    ] = False,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Make one bullet of several that say the same; the best one stays, with the votes of all.

    \b
    ace-graph playbook merge les-00001 les-00004
    ace-graph playbook merge les-00001 les-00002 --force --text "Name the unit of every result."
    """
    from ace_graph.cli.commands import playbook_edit

    playbook_edit.merge(store, learner, bullet_ids, text, force=force, as_json=as_json)


@playbook.command()
def supersede(
    bullet_id: BulletId,
    by: Annotated[str, typer.Argument(metavar="BY", help="The id of the bullet that takes its place.")],
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Archive a bullet because another one corrects it; later votes on it are refused."""
    from ace_graph.cli.commands import playbook_edit

    playbook_edit.supersede(store, learner, bullet_id, by, as_json=as_json)


@playbook.command()
def tag(
    bullet_id: BulletId,
    vote: Annotated[Vote, typer.Argument(help="The counter that goes up.")],
    learner: Learner = DEFAULT_LEARNER,
    by: Annotated[int, typer.Option(min=1, help="By how much.")] = 1,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Vote on a bullet by hand, apart from any turn. What does more harm than good is not shown."""
    from ace_graph.cli.commands import playbook_edit

    playbook_edit.tag(store, learner, bullet_id, vote.value, by, as_json=as_json)
