"""The commands `ace-graph learner ...`: list the learners, export everything about one, or delete it.

What a command needs is imported when it is called, so that `--help` answers at once.
"""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ace_graph.cli.app import print_notice
from ace_graph.cli.options import Json, StoreUrl

if TYPE_CHECKING:
    from ace_graph.memory.stores.base import Store
    from ace_graph.memory.stores.listing import ListedLearner
    from ace_graph.settings import Settings

__all__ = ["learner_commands"]

learner_commands = typer.Typer(
    no_args_is_help=True, help="List the learners; export or delete everything that is stored about one."
)

LearnerId = Annotated[str, typer.Argument(metavar="ID", help="The learner.")]


@learner_commands.command("list")
def list_(
    search: Annotated[
        str, typer.Option("--search", "-s", metavar="TEXT", help="Only those with this in their id.")
    ] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="Learners a page.")] = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="ID", help="Begin after this learner: the next page.")
    ] = "",
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """List the learners in the order of their ids, with the date of the last turn.

    \b
    ace-graph learner list
    ace-graph learner list --search ad
    ace-graph learner list --after ada --json
    """
    from ace_graph.cli.store_access import on_store
    from ace_graph.cli.terminal import console, print_json, printable
    from ace_graph.memory.stores.listing import ListedLearner, list_learners

    async def read(opened: Store) -> tuple[list[ListedLearner], str | None]:
        found, place = list[ListedLearner](), after
        while True:
            page = await list_learners(opened, search=search, limit=limit - len(found), after=place)
            found += page.learners
            if page.next is None or len(found) == limit:
                return found, page.next
            place = page.next

    found, following = on_store(store, read)
    if as_json:
        print_json({"learners": [_summary_json(each) for each in found], "next": following})
        return
    out = console()
    for each in found:
        out.print(f"{_summary_text(each)} {printable(each.learner_id)}", soft_wrap=True)
    if not found:
        whose = f" with {printable(search)} in the id" if search else ""
        place = f" comes after {printable(after)}" if after else " is stored"
        print_notice(f"no learner{whose}{place}")
    elif following is not None:
        same = f" --search {shlex.quote(printable(search))}" if search else ""
        print_notice(
            f"there are more: ace-graph learner list{same} --after {shlex.quote(printable(following))}"
        )


@learner_commands.command("export")
def export_(
    learner: LearnerId,
    file: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Instead of stdout.")
    ] = None,
    store: StoreUrl = None,
) -> None:
    """Write everything that is stored about a learner, as JSON: playbook, history, turns, conversations.

    \b
    ace-graph learner export ada -o ada-everything.json
    """
    from ace_graph.cli.store_access import on_store
    from ace_graph.server.conversations.exporting import export_chunks
    from ace_graph.server.conversations.open import open_existing_conversations
    from ace_graph.telemetry import audit

    async def write(opened: Store) -> bool:
        """Write everything; return whether there was anything."""
        found = await opened.export(learner)
        async with open_existing_conversations(_settings(store)) as conversations:
            with file.open("wb") if file else nullcontext(typer.get_binary_stream("stdout")) as out:
                async for piece in export_chunks(found, conversations):
                    out.write(piece)
            stored = bool(found.playbooks) or not found.snapshot.absent
            return stored or bool(conversations and await conversations.of(learner))

    found = on_store(store, write)
    audit("export", learner, found=found)
    if not found:
        print_notice(f"nothing is stored about learner {learner}")


@learner_commands.command()
def forget(
    learner: LearnerId,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask; without a terminal it never asks.")
    ] = False,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Delete everything stored about a learner, for good; conversations with the web backend, too."""
    from ace_graph.cli.store_access import on_store
    from ace_graph.cli.terminal import print_json, printable
    from ace_graph.server.conversations.open import forget_conversations
    from ace_graph.telemetry import audit

    if not yes and not as_json and sys.stdin.isatty():
        typer.confirm(f"Delete everything stored about {printable(learner)}?", abort=True)

    async def delete(opened: Store) -> bool:
        conversations = await forget_conversations(_settings(store), learner)
        return await opened.forget(learner) or conversations > 0

    was_there = on_store(store, delete)
    audit("forget", learner, found=was_there)
    if as_json:
        print_json({"learner": learner, "forgotten": was_there})
    else:
        done = "Deleted everything stored" if was_there else "Nothing was stored"
        print(f"{done} about learner {printable(learner)}.")


def _settings(store: str | None) -> Settings:
    """Return the settings, with the store that `--store` names."""
    from ace_graph.cli.environment import load_settings

    settings = load_settings()
    return settings if store is None else settings.model_copy(update={"store": store})


def _summary_text(each: ListedLearner) -> str:
    if each.stored is None:
        return f"{'no turn':<16}  {'playbooks only':<14}"
    last = each.stored.last_turn
    return f"{'no turn' if last is None else f'{last:%Y-%m-%d %H:%M}':<16}  version {each.stored.version:<6}"


def _summary_json(each: ListedLearner) -> dict[str, object]:
    stored = each.stored
    if stored is None:
        absent = dict.fromkeys(("version", "last_turn", "created_at", "changed_at"))
        return {"learner": each.learner_id, **absent}
    moments = {
        "last_turn": stored.last_turn,
        "created_at": stored.created_at,
        "changed_at": stored.changed_at,
    }
    written = {name: None if moment is None else moment.isoformat() for name, moment in moments.items()}
    return {"learner": each.learner_id, "version": stored.version, **written}
