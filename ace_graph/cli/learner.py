"""The commands `ace-graph learner ...`: list the learners, export everything about one, or delete it."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ace_graph.base.telemetry import audit
from ace_graph.cli.command import STORE, Bounds, Call, CommandGroup, command
from ace_graph.cli.terminal import print_notice, printable
from ace_graph.memory.stores.listing import ListedLearner, list_learners

if TYPE_CHECKING:
    from ace_graph.memory.stores.store import Store

commands = typer.Typer(cls=CommandGroup, no_args_is_help=True)

LearnerId = Annotated[str, "ID", "The learner."]


@command(commands, *STORE, name="list")
def list_(
    call: Call,
    search: Annotated[str, "--search -s TEXT", "Only ids that contain this."] = "",
    limit: Annotated[int, "--limit -n", "Learners per page.", Bounds(1, 10_000)] = 100,
    after: Annotated[str, "--after ID", "Continue after this learner."] = "",
) -> None:
    """List the learners in the order of their ids, with the date of the last turn.

    \b
    ace-graph learner list
    ace-graph learner list --search ad
    ace-graph learner list --after ada --json
    """

    async def read(store: Store) -> tuple[list[ListedLearner], str | None]:
        listed, place = list[ListedLearner](), after
        while True:
            page = await list_learners(store, search=search, limit=limit - len(listed), after=place)
            listed += page.learners
            if page.next is None or len(listed) == limit:
                return listed, page.next
            place = page.next

    listed, following = call.on_store(read)
    call.answer(
        {"learners": [_summary_json(each) for each in listed], "next": following},
        [f"{_summary_text(each)} {each.learner_id}" for each in listed],
    )
    if call.as_json:
        return
    if not listed:
        whose = f" with {search} in the id" if search else ""
        print_notice(f"no learner{whose}{f' comes after {after}' if after else ' is stored'}")
    elif following is not None:
        same = f" --search {shlex.quote(printable(search))}" if search else ""
        print_notice(
            f"there are more: ace-graph learner list{same} --after {shlex.quote(printable(following))}"
        )


def _summary_text(each: ListedLearner) -> str:
    if each.stored is None:
        return f"{'no turn':<16}  {'playbooks only':<14}"
    last = each.stored.last_turn
    return f"{'no turn' if last is None else f'{last:%Y-%m-%d %H:%M}':<16}  version {each.stored.version:<6}"


def _summary_json(each: ListedLearner) -> dict[str, object]:
    fields = ("version", "last_turn", "created_at", "changed_at")
    return {"learner": each.learner_id, **{name: getattr(each.stored, name, None) for name in fields}}


@command(commands, "store", name="export")
def export_(
    call: Call,
    learner: LearnerId,
    file: Annotated[Path | None, "--output -o FILE", "Instead of stdout."] = None,
) -> None:
    """Write everything that is stored about a learner, as JSON: playbook, history, turns, conversations.

    \b
    ace-graph learner export ada -o ada-everything.json
    """
    from ace_graph.server.conversations.open import open_existing_conversations
    from ace_graph.server.conversations.repository import export_chunks

    settings = call.settings()

    async def write(store: Store) -> bool:
        exported = await store.export(learner)
        async with open_existing_conversations(settings) as conversations:
            with file.open("wb") if file else nullcontext(typer.get_binary_stream("stdout")) as out:
                async for piece in export_chunks(exported, conversations):
                    out.write(piece)
            stored = bool(exported.playbooks) or not exported.snapshot.absent
            return stored or bool(conversations and await conversations.of(learner))

    was_there = call.on_store(write, settings)
    audit("export", learner, found=was_there)
    if not was_there:
        print_notice(f"nothing is stored about learner {learner}")


@command(commands, *STORE)
def forget(
    call: Call,
    learner: LearnerId,
    yes: Annotated[bool, "--yes -y", "Do not ask; without a terminal it never asks."] = False,
) -> None:
    """Delete everything stored about a learner, for good; conversations with the web backend, too."""
    from ace_graph.server.conversations.open import forget_conversations

    if not yes and not call.as_json and sys.stdin.isatty():
        typer.confirm(f"Delete everything stored about {printable(learner)}?", abort=True)
    settings = call.settings()

    async def delete(store: Store) -> bool:
        conversations = await forget_conversations(settings, learner)
        return await store.forget(learner) or conversations > 0

    was_there = call.on_store(delete, settings)
    audit("forget", learner, found=was_there)
    done = "Deleted everything stored" if was_there else "Nothing was stored"
    call.answer({"learner": learner, "forgotten": was_there}, f"{done} about learner {learner}.")
