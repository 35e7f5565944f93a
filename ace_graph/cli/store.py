"""The commands `ace-graph store ...`: what concerns a store as a whole.

What a command needs is imported when it is called, so that `--help` answers at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ace_graph.cli.options import Json, StoreUrl
from ace_graph.errors import UsageError

if TYPE_CHECKING:
    from ace_graph.copying.copy_store import Mode

__all__ = ["store_commands"]

store_commands = typer.Typer(no_args_is_help=True, help="Copy, back up and check a store as a whole.")


@store_commands.command()
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The store to read, as in --store.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The store to write.")],
    learner: Annotated[
        str | None,
        typer.Option("--learner", "-l", metavar="ID", help="This learner and their playbooks only."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be copied; write nothing.")
    ] = False,
    verify_only: Annotated[
        bool, typer.Option("--verify-only", help="Compare both stores; write nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Copy all learners, playbooks and teams into another store, in any direction; FROM stays as it is.

    \b
    ace-graph store copy sqlite:///ace.db postgresql://ace@db/ace
    ace-graph store copy sqlite:///ace.db postgresql://ace@db/ace --verify-only

    Stop what writes to either store. Each memory is written in one transaction, read back and compared.
    After an interruption, or to bring over what has changed since, run the same command again. Where TO has
    another memory of a learner, nothing is written. Exit code 1: something is missing or not the same.
    """
    from ace_graph.cli.store_copy import run_copy

    if dry_run and verify_only:
        raise UsageError("--dry-run says what would be copied, --verify-only what is not the same: use one")
    mode: Mode = "dry run" if dry_run else "verify" if verify_only else "copy"
    raise typer.Exit(run_copy(source, target, learner, mode, as_json=as_json))


@store_commands.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The SQLite file to make; it must not exist.")],
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Copy the store into a new SQLite file, and read that again: all learners, playbooks and teams.

    \b
    ace-graph store backup ace-2026-08-01.db
    ace-graph store check --store sqlite:///ace-2026-08-01.db

    Servers may go on: each memory is in the file as it was when it was read. The file is for its owner's
    eyes only, and is itself a store: `store copy sqlite:///FILE URL` brings it back. The conversations with
    the web backend are elsewhere (`store copy-conversations`). Exit code 1: the file lacks what is named.
    """
    from ace_graph.cli.store_copy import run_backup

    raise typer.Exit(run_backup(store, file, as_json=as_json))


@store_commands.command()
def check(as_json: Json = False, store: StoreUrl = None) -> None:
    """Read everything in a store, and name what is damaged; nothing is written.

    \b
    ace-graph store check
    ace-graph store check --store sqlite:///backup.db

    Exit code 1: something can't be read. What is damaged stays as it is, and the others can be used.
    """
    from ace_graph.cli.store_copy import run_check

    raise typer.Exit(run_check(store, as_json=as_json))


@store_commands.command("copy-conversations")
def copy_conversations(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="The place to read: a file, or postgresql://...")
    ],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="The place to write; both as in ACE_CONVERSATIONS.")
    ],
    verify_only: Annotated[
        bool, typer.Option("--verify-only", help="Compare both places; write nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Copy the conversations with the web backend from SQLite to PostgreSQL, or back; FROM stays as it is.

    \b
    ace-graph store copy-conversations ace-conversations.db postgresql://ace@db/ace

    Stop the servers before. Each conversation is read back and compared. After an interruption, or to bring
    over what has changed since, run the same command again. A conversation that was used in TO since stays
    as it is there. Exit code 1: something is missing or not the same.
    """
    from ace_graph.cli.store_copy_conversations import run_copy_conversations

    raise typer.Exit(run_copy_conversations(source, target, verify_only=verify_only, as_json=as_json))
