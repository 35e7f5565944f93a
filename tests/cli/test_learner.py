"""`ace-graph learner`: everything about one learner, handed out or deleted."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.commands import Commands


def _talk(ace: Commands, learner: str) -> None:
    ace.ok("chat", "--learner", learner, stdin="Call me Ann.\nWhat is 1/2 + 1/3?\n")


def test_an_export_holds_playbook_history_and_turns(ace: Commands) -> None:
    _talk(ace, "ann")
    _talk(ace, "ben")
    ace.ok("learner", "export", "ann", "-o", "ann.json")
    found = json.loads(Path("ann.json").read_text("utf-8"))
    assert found["learner_id"] == "ann"
    assert [bullet["content"] for bullet in found["playbook"]["bullets"]] == ["Learner says: Call me Ann"]
    assert {turn["task"] for turn in found["turns"]} == {"Call me Ann.", "What is 1/2 + 1/3?"}
    assert [entry["version"] for entry in found["history"]["entries"] if entry["report"]["added"]] == [1]
    assert found["access"]["access_clock"] == 2
    assert len(found["access"]["recent_turns"]) == 2


def test_forgetting_deletes_everything_of_one_learner_for_good(ace: Commands) -> None:
    _talk(ace, "ann")
    _talk(ace, "ben")
    assert ace.ok("learner", "forget", "ann", "--json").json == {"learner": "ann", "forgotten": True}
    empty = ace.ok("learner", "export", "ann")
    found = json.loads(empty.out)
    assert (found["version"], found["turns"], found["history"]["entries"]) == (None, [], [])
    assert found["playbook"]["bullets"] == []
    assert "nothing is stored" in empty.err
    assert len(ace.bullets("ben")) == 1


def test_forgetting_nobody_is_done_at_once(ace: Commands) -> None:
    assert ace.ok("learner", "forget", "nobody").out == "Nothing was stored about learner nobody.\n"


def test_a_person_at_a_terminal_is_asked_first(ace: Commands) -> None:
    ace.ok("playbook", "add", "Draw it", "--learner", "ann")
    with ace.terminal("learner", "forget", "ann") as terminal:
        terminal.expect("Delete everything stored about ann?")
        terminal.type("n\r")
        assert terminal.end() == 1
    assert len(ace.bullets("ann")) == 1
    with ace.terminal("learner", "forget", "ann", "--yes") as terminal:
        terminal.expect("Deleted everything")
        assert terminal.end() == 0
    assert ace.bullets("ann") == []


def test_owners_of_playbooks_without_a_memory_are_listed(ace: Commands) -> None:
    ace.ok("playbook", "add", "Draw a picture first", "--learner", "ben")
    for learner in ("ada", "ben", "cleo"):
        ace.ok("playbook", "create", "maths", "--learner", learner)
    listed = ace.ok("learner", "list", "--json").json
    assert [(each["learner"], each["version"]) for each in listed["learners"]] == [
        ("ada", None),
        ("ben", 1),
        ("cleo", None),
    ]
    pages: list[str] = []
    after: str | None = ""
    while after is not None:
        page = ace.ok("learner", "list", "--limit", "1", "--after", after, "--json").json
        pages += [each["learner"] for each in page["learners"]]
        after = page["next"]
    assert pages == ["ada", "ben", "cleo"]
    assert "playbooks only" in ace.ok("learner", "list").out.splitlines()[0]


def test_learners_are_found_by_a_part_of_their_id(ace: Commands) -> None:
    for learner in ("Ada", "bob", "madam"):
        ace.ok("playbook", "add", "Draw a picture first", "--learner", learner)
    ace.ok("playbook", "create", "maths", "--learner", "adele")
    found = ace.ok("learner", "list", "--search", "AD", "--json").json
    assert [each["learner"] for each in found["learners"]] == ["Ada", "adele", "madam"]
    assert found["next"] is None
    first = ace.ok("learner", "list", "--search", "ad", "--limit", "2")
    assert [line.split()[-1] for line in first.out.splitlines()] == ["Ada", "adele"]
    assert "ace-graph learner list --search ad --after adele" in first.err
    assert ace.ok("learner", "list", "--search", "ad", "--after", "adele").out.split()[-1] == "madam"
    nobody = ace.ok("learner", "list", "--search", "xyz")
    assert (nobody.out, "no learner with xyz in the id is stored" in nobody.err) == ("", True)
