"""Every command that takes a playbook against a table: what it does for somebody else, right by right."""

from __future__ import annotations

import asyncio

import pytest

from ace_graph import open_store, playbooks
from ace_graph.memory import Right
from ace_graph.memory.delta import Add, Pin, Quarantine, Reset
from ace_graph.playbooks import open_playbook
from ace_graph.testing.conformance import rewriting, write
from tests.cli.commands import Commands, all_commands
from tests.consolidation.planted import PARAPHRASES, bullets
from tests.plugins.heavy import some_heavy

BELONGS = Right.OWN + 1
"""More than a right that can be granted: only whose playbook it is."""

FIRST, SECOND = "gen-00001", "gen-00002"
NAMED: dict[str, tuple[int, tuple[str, ...]]] = {
    "playbook show": (Right.READ, ()),
    "playbook show --details": (Right.READ, ()),
    "playbook show --archived": (Right.READ, ()),
    "playbook stats": (Right.READ, ()),
    "playbook search": (Right.READ, ("gzip",)),
    "playbook history": (Right.READ, ()),
    "playbook export": (Right.READ, ()),
    "playbook audit": (Right.READ, ()),
    "playbook diff": (Right.READ, ("0", "1")),
    "playbook diff --data=rows.jsonl": (Right.READ, ("1.0", "1.1")),
    "playbook add": (Right.WRITE, ("Use /v9",)),
    "playbook edit": (Right.WRITE, (FIRST, "Use /v9")),
    "playbook edit --vote=helpful": (Right.WRITE, (FIRST,)),
    "playbook edit --quarantine=doubtful": (Right.WRITE, (FIRST,)),
    "playbook edit --release": (Right.WRITE, (FIRST,)),
    "playbook edit --unpin": (Right.WRITE, (FIRST,)),
    "playbook edit --pin": (BELONGS, (FIRST,)),
    "playbook edit --scope=user": (Right.OWN, ()),
    "playbook remove": (Right.WRITE, (FIRST,)),
    f"playbook remove --replaced-by={SECOND}": (Right.WRITE, (FIRST,)),
    "playbook remove --all": (Right.WRITE, ()),
    "playbook merge": (Right.WRITE, (FIRST, SECOND)),
    "playbook merge --never": (BELONGS, (FIRST, SECOND)),
    "playbook import": (Right.WRITE, ("advice.md",)),
    "playbook import --one-version": (Right.WRITE, ("advice.md",)),
    "playbook delete": (Right.OWN, ()),
    "playbook rollback": (BELONGS, ("1",)),
    f"playbook rollback --bullet={FIRST}": (BELONGS, ()),
    "playbook rescreen": (BELONGS, ()),
    "playbook curate": (BELONGS, ("x",)),
    "playbook dream": (Right.PROPOSE, ()),
    "playbook dream --accept": (BELONGS, ()),
    "playbook dream --refuse": (BELONGS, ()),
    "playbook consolidate": (BELONGS, ()),
    "playbook consolidate undo": (BELONGS, ()),
}
SHARED: dict[str, tuple[int, tuple[str, ...]]] = {
    "share proposals": (Right.READ, ()),
    "share propose": (Right.PROPOSE, ("gen-00001",)),
    "share accept": (Right.WRITE, ("x",)),
    "share refuse": (Right.WRITE, ("x",)),
    "share withdraw": (Right.WRITE, ("--by", "zoe")),
    "share grant": (Right.OWN, ("--to", "user:zoe")),
    "share leave": (Right.READ, ()),
    "share show-use": (Right.READ, ()),
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


def _is_of_a_playbook(command: str, options: set[str]) -> bool:
    """Whether a command takes --name, or shares a playbook."""
    return "--name" in options or (command.startswith("share ") and not command.startswith("share team"))


def test_the_tables_have_every_command_of_a_playbook() -> None:
    named = {" ".join(command.split()[:2]) for command in (*NAMED, *SHARED)}
    assert {
        command for command, options in all_commands().items() if _is_of_a_playbook(command, options)
    } == named


HIDDEN = {"playbook edit --unpin", "playbook edit --release"}
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
                await write(store.playbooks, target.key, reset)
            if command in HIDDEN:
                hide = Pin(bullet_id=FIRST) if "pin" in command else Quarantine(bullet_id=FIRST, why="so")
                await write(store.playbooks, target.key, rewriting(hide))
            await playbooks.grant(store, name, "user:zoe", "contributor", owner="ada")
            proposal = await playbooks.propose(store, f"ada/{name}", [FIRST], learner="zoe")
            waiting.append(proposal.proposal_id)
            if command == "share withdraw":
                await playbooks.accept(store, name, proposal.proposal_id, owner="ada")
            if relation != "stranger":
                await playbooks.grant(store, name, "user:bob", relation, owner="ada")
    return waiting


@pytest.mark.parametrize("relation", some_heavy(HELD, {"owner", "stranger"}.__contains__))
def test_a_command_does_what_the_right_allows(ace: Commands, relation: str) -> None:
    (ace.folder / "advice.md").write_text("- Use /v9\n")
    (ace.folder / "rows.jsonl").write_text('{"context": "How?", "target": "so"}\n')
    waiting = asyncio.run(_prepare(f"sqlite:///{ace.database}", relation))
    wrong, held = dict[str, str](), HELD[relation]
    for place, (command, (needed, more)) in enumerate((NAMED | SHARED).items()):
        theirs = f"ada/api {place}"
        which = ("--name", theirs, "--as", "bob") if command in NAMED else (theirs, "--learner", "bob")
        if held >= needed and "--data" in command:
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
