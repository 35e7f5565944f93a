"""The commands `ace-graph learner ...`: list the learners, export everything about one, or delete it.

What a command needs is imported when it is called, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ace_graph.cli.app import print_notice
from ace_graph.cli.options import Json, StoreUrl

if TYPE_CHECKING:
    from ace_graph.memory.stores.base import LearnerSummary, Store
    from ace_graph.settings import Settings

__all__ = ["learner_commands"]

learner_commands = typer.Typer(
    no_args_is_help=True, help="List the learners; export or delete everything that is stored about one."
)

LearnerId = Annotated[str, typer.Argument(metavar="ID", help="The learner.")]


@learner_commands.command("list")
def list_(
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
    ace-graph learner list --after ada --json
    """
    from ace_graph.cli.store_access import on_store
    from ace_graph.cli.terminal import console, print_json, printable
    from ace_graph.errors import ConfigurationError
    from ace_graph.memory.stores.base import can_clean
    from ace_graph.memory.stores.playbooks import keeps_playbooks

    async def read(opened: Store) -> tuple[tuple[LearnerSummary, ...], tuple[str, ...]]:
        if not can_clean(opened):
            raise ConfigurationError(f"the store {opened.name} can't list its learners")
        learners = await opened.learners(limit + 1, after)
        owners = await opened.playbooks.owners(limit + 1, after) if keeps_playbooks(opened) else ()
        return learners, owners

    learners, owners = on_store(store, read)
    known = {each.learner_id: each for each in learners}
    complete = len(learners) <= limit  # beyond the last one that was read there may be more of them
    names = {*known, *(o for o in owners if complete or o <= learners[-1].learner_id)}
    found = [known.get(name) or _OwnerOnly(name) for name in sorted(names)]
    page = found[:limit]
    following = page[-1].learner_id if len(found) > limit else None
    if as_json:
        print_json({"learners": [_summary_json(each) for each in page], "next": following})
        return
    out = console()
    for each in page:
        out.print(f"{_summary_text(each)} {printable(each.learner_id)}", soft_wrap=True)
    if not page:
        print_notice("no learner is stored" if not after else f"no learner comes after {printable(after)}")
    elif following is not None:
        print_notice(f"there are more: ace-graph learner list --after {printable(following)}")


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
    from ace_graph.server.conversations.open import open_existing_conversations
    from ace_graph.server.routes.learner_export import export_chunks
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


@dataclass(frozen=True)
class _OwnerOnly:
    """A learner of whom there are named playbooks and no memory."""

    learner_id: str


def _summary_text(each: LearnerSummary | _OwnerOnly) -> str:
    if isinstance(each, _OwnerOnly):
        return f"{'no turn':<16}  {'playbooks only':<14}"
    last = "no turn" if each.last_turn is None else f"{each.last_turn:%Y-%m-%d %H:%M}"
    return f"{last:<16}  version {each.version:<6}"


def _summary_json(each: LearnerSummary | _OwnerOnly) -> dict[str, object]:
    if isinstance(each, _OwnerOnly):
        absent = dict.fromkeys(("version", "last_turn", "created_at", "changed_at"))
        return {"learner": each.learner_id, **absent}
    moments = {"last_turn": each.last_turn, "created_at": each.created_at, "changed_at": each.changed_at}
    written = {name: None if moment is None else moment.isoformat() for name, moment in moments.items()}
    return {"learner": each.learner_id, "version": each.version, **written}
