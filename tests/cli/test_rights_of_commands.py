"""Every command that takes a playbook against a table: what it does for somebody else, right by right."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from ace_graph import open_store, playbooks
from ace_graph.cli.main import app
from ace_graph.memory.delta.operations import Add, Pin, Quarantine, Reset
from ace_graph.memory.sharing.right import Right
from ace_graph.playbooks import open_playbook
from ace_graph.testing.conformance.writing import rewriting, write
from tests.cli.commands import Commands
from tests.consolidation.planted import PARAPHRASES, bullets

BELONGS = Right.OWN + 1
"""More than a right that can be granted: only whose playbook it is."""

FIRST, SECOND = "gen-00001", "gen-00002"
NAMED: dict[str, tuple[int, tuple[str, ...]]] = {
    "playbook show": (Right.READ, ()),
    "playbook get": (Right.READ, ()),
    "playbook stats": (Right.READ, ()),
    "playbook search": (Right.READ, ("gzip",)),
    "playbook history": (Right.READ, ()),
    "playbook archived": (Right.READ, ()),
    "playbook versions": (Right.READ, ()),
    "playbook export": (Right.READ, ()),
    "playbook diff": (Right.READ, ("0", "1")),
    "playbook compare": (Right.READ, ("1.0", "1.1", "--data", "rows.jsonl")),
    "playbook add": (Right.WRITE, ("Use /v9",)),
    "playbook edit": (Right.WRITE, (FIRST, "Use /v9")),
    "playbook remove": (Right.WRITE, (FIRST,)),
    "playbook tag": (Right.WRITE, (FIRST, "helpful")),
    "playbook quarantine": (Right.WRITE, (FIRST, "doubtful")),
    "playbook release": (Right.WRITE, (FIRST,)),
    "playbook merge": (Right.WRITE, (FIRST, SECOND)),
    "playbook supersede": (Right.WRITE, (FIRST, SECOND)),
    "playbook unpin": (Right.WRITE, (FIRST,)),
    "playbook clear": (Right.WRITE, ()),
    "playbook update": (Right.WRITE, ("advice.md",)),
    "playbook import": (Right.WRITE, ("advice.md",)),
    "playbook about": (Right.OWN, ("--scope", "user")),
    "playbook delete": (Right.OWN, ()),
    "playbook pin": (BELONGS, (FIRST,)),
    "playbook restore": (BELONGS, (FIRST,)),
    "playbook rollback": (BELONGS, ("1",)),
    "playbook rescreen": (BELONGS, ()),
    "playbook curate": (BELONGS, ("x",)),
    "consolidate": (BELONGS, ()),
    "consolidate undo": (BELONGS, ()),
    "consolidate distinct": (BELONGS, (FIRST, SECOND)),
}
SHARED: dict[str, tuple[int, tuple[str, ...]]] = {
    "share proposals": (Right.READ, ()),
    "share propose": (Right.PROPOSE, ("gen-00001",)),
    "share accept": (Right.WRITE, ("x",)),
    "share refuse": (Right.WRITE, ("x",)),
    "share withdraw": (Right.WRITE, ("--by", "zoe")),
    "share grant": (Right.OWN, ("--to", "user:zoe")),
    "share leave": (Right.READ, ()),
    "share revoke": (Right.OWN, ("--from", "user:zoe")),
    "share list": (Right.OWN, ()),
    "share collect": (Right.OWN, ()),
}
HELD = {
    "stranger": Right.NONE,
    "viewer": Right.READ,
    "contributor": Right.PROPOSE,
    "editor": Right.WRITE,
    "owner": Right.OWN,
}


def _commands(group: TyperGroup, *parents: str) -> Iterator[str]:
    """The commands that take --name, and those of share."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _commands(command, *parents, name)
        options = {option for each in command.params for option in each.opts}
        if "--name" in options or parents == ("share",):
            yield " ".join((*parents, name))


def test_the_tables_have_every_command_of_a_playbook() -> None:
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    assert sorted(_commands(root)) == sorted([*NAMED, *SHARED])


HIDDEN = {"playbook unpin", "playbook release"}
"""What is about bullets that nobody but whose playbook it is sees: in quarantine, or pinned."""

ALIKE = {"playbook merge"}
"""What needs bullets that say the same."""


async def _prepare(path: str, relation: str) -> list[str]:
    """Make a playbook for each command; return what proposals are called there."""
    waiting = list[str]()
    async with open_store(path) as store:
        for who, text in (("bob", "Retry after 429"), ("zoe", "Name the unit of every number")):
            await write(store, who, rewriting(Add(content=text, section="general")))
        for place, command in enumerate(NAMED | SHARED):
            name = f"api {place}"
            await playbooks.create(store, name, ["Use /v1", "Use gzip for large bodies"], owner="ada")
            await playbooks.update_playbook(store, ["Send the key in a header"], name, owner="ada")
            target = await open_playbook(store, name, "ada")
            if command in ALIKE:
                reset = rewriting(Reset(bullets=bullets(*PARAPHRASES)))
                await write(target.store, target.key, reset)
            if command in HIDDEN:
                hide = Pin(bullet_id=FIRST) if "pin" in command else Quarantine(bullet_id=FIRST, why="so")
                await write(target.store, target.key, rewriting(hide))
            await playbooks.grant(store, name, "user:zoe", "contributor", owner="ada")
            proposal = await playbooks.propose(store, f"ada/{name}", [FIRST], learner="zoe")
            waiting.append(proposal.proposal_id)
            if command == "share withdraw":
                await playbooks.accept(store, name, proposal.proposal_id, owner="ada")
            if relation != "stranger":
                await playbooks.grant(store, name, "user:bob", relation, owner="ada")
    return waiting


@pytest.mark.parametrize("relation", HELD)
def test_a_command_does_what_the_right_allows(ace: Commands, relation: str) -> None:
    (ace.folder / "advice.md").write_text("- Use /v9\n")
    (ace.folder / "rows.jsonl").write_text('{"context": "How?", "target": "so"}\n')
    waiting = asyncio.run(_prepare(f"sqlite:///{ace.database}", relation))
    wrong, held = dict[str, str](), HELD[relation]
    for place, (command, (needed, more)) in enumerate((NAMED | SHARED).items()):
        theirs = f"ada/api {place}"
        which = ("--name", theirs, "--as", "bob") if command in NAMED else (theirs, "--learner", "bob")
        if held >= needed and command == "playbook compare":
            continue  # it would ask a model
        more = tuple(waiting[place] if each == "x" else each for each in more)
        first = () if command in NAMED else which
        done = ace(*command.split(), *first, *more, *(which if command in NAMED else ()))
        told = done.err.splitlines()[-1] if done.err else ""
        missing = f"ace-graph: there is no playbook '{theirs}': playbook list shows yours"
        if held is Right.NONE:
            right = (done.code, told, done.out) == (1, missing, "")
        elif held < needed:
            right = done.code == 1 and ("you may read" in told or "only the owner" in told) and not done.out
        else:
            right = done.code == (1 if command in HIDDEN else 0) and "you may" not in told
        if not right:
            wrong[command] = f"{done.code} {told} {done.out[:80]}"
    assert wrong == {}
