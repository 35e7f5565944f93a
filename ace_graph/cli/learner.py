"""The commands `ace-graph learner ...`: everything stored about a learner, as a file or gone for good.

Does not: ask before it forgets unless a person sits at the terminal.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ace_graph.cli.options import Json, StoreUrl

if TYPE_CHECKING:
    from ace_graph.memory.stores.base import LearnerExport

__all__ = ["learner_commands"]

learner_commands = typer.Typer(
    no_args_is_help=True, help="Everything stored about a learner: hand it out, or delete it."
)

LearnerId = Annotated[str, typer.Argument(metavar="ID", help="The learner.")]


@learner_commands.command("export")
def export_(
    learner: LearnerId,
    file: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Instead of stdout.")
    ] = None,
    store: StoreUrl = None,
) -> None:
    """Write everything that is stored about a learner, as JSON: playbook, history, turns.

    \b
    ace-graph learner export ada -o ada-everything.json
    """
    import json

    from ace_graph.cli.group import say
    from ace_graph.cli.playbook_files import write_text
    from ace_graph.cli.stored import on_store

    found = on_store(store, lambda opened: opened.export(learner))
    write_text(json.dumps(_document(found), ensure_ascii=False, indent=2) + "\n", file)
    if found.snapshot.absent:
        say(f"nothing is stored about learner {learner}")


@learner_commands.command()
def forget(
    learner: LearnerId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Delete everything stored about a learner, for good."""
    from ace_graph.cli.console import print_json, printable
    from ace_graph.cli.stored import on_store

    if not yes and not as_json and sys.stdin.isatty():
        typer.confirm(f"Delete everything stored about {printable(learner)}?", abort=True)
    was_there = on_store(store, lambda opened: opened.forget(learner))
    if as_json:
        print_json({"learner": learner, "forgotten": was_there})
    else:
        done = "Deleted everything stored" if was_there else "Nothing was stored"
        print(f"{done} about learner {printable(learner)}.")


def _document(found: LearnerExport) -> dict[str, object]:
    import json

    from ace_graph.memory.payload import dump_access, dump_effect, dump_playbook

    snapshot, history = found.snapshot, found.history
    return {
        "learner_id": found.learner_id,
        "version": None if snapshot.absent else snapshot.version.n,
        "playbook": json.loads(dump_playbook(snapshot.playbook)),
        "access": json.loads(dump_access(snapshot.access)),
        "history": {
            "base_version": history.base_n,
            "base": json.loads(dump_playbook(history.base)),
            "entries": [
                {
                    "version": entry.n,
                    "op_id": entry.op_id,
                    "at": entry.at.isoformat(),
                    "author": entry.author,
                    "reason": entry.reason,
                    "source": entry.source,
                    "report": entry.report.model_dump(mode="json"),
                    "effect": None if entry.effect is None else json.loads(dump_effect(entry.effect)),
                }
                for entry in history.entries
            ],
        },
        "turns": [turn.model_dump(mode="json") for turn in found.turns],
    }
