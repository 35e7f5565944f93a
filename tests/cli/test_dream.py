"""`ace-graph playbook dream`: the diff, and what a person or a rule decides about it."""

from __future__ import annotations

import asyncio

import pytest

from ace_graph.memory.stores.sql import SQLiteStore
from tests.cli.commands import Commands
from tests.consolidation.planted import OTHERS, PARAPHRASES
from tests.learning.dreamed_runs import HARMFUL, PAGES, live


@pytest.fixture
def lived(ace: Commands) -> Commands:
    """A memory of six bullets, and seven runs."""

    async def work() -> None:
        async with SQLiteStore(ace.database) as store:
            await live(store, "local")

    asyncio.run(work())
    return ace


def _ids(lived: Commands) -> dict[str, str]:
    items = lived.ok("playbook", "dream", "--json").json["items"]
    return {item["kind"]: item["item_id"] for item in items}


def _contents(lived: Commands) -> list[str]:
    return sorted(bullet["content"] for bullet in lived.bullets())


def test_the_diff_names_evidence_loss_and_replay_and_changes_nothing(lived: Commands) -> None:
    before = lived.bullets()
    ids = _ids(lived)
    out = lived.ok("playbook", "dream").out
    assert out.splitlines() == [
        "learner local: 7 runs, 3 changes to decide",
        f"+ {ids['add']}  {PAGES}",
        "    3 runs taught it (run-0 run-1 run-2)",
        "    loses name Invoice, name Service",
        "    questions of other turns: found 1 of 1 before, 1 after",
        f"= {ids['merge']}  {PARAPHRASES[2]}",
        f"    [gen-00003] {PARAPHRASES[2]}",
        f"    [gen-00002] {PARAPHRASES[1]}",
        f"    [gen-00001] {PARAPHRASES[0]}",
        "    they say the same",
        "    questions of other turns: found 1 of 1 before, 1 after",
        f"- {ids['archive']}  {HARMFUL}",
        "    did more harm than good (+0/-2)",
        "    questions of other turns: found 1 of 1 before, 1 after",
        "ace-graph playbook dream --accept takes all; with ids, those; --refuse, --edit ITEM=TEXT",
    ]
    assert lived.bullets() == before


def test_items_are_accepted_and_taken_back_by_the_undo_of_consolidations(lived: Commands) -> None:
    before, ids = lived.bullets(), _ids(lived)
    done = lived.ok("playbook", "dream", "--accept", ids["add"], ids["archive"], "--json").json
    assert (done["accepted"], done["open"]) == ([ids["add"], ids["archive"]], [ids["merge"]])
    assert _contents(lived) == sorted((*PARAPHRASES, *OTHERS, PAGES))
    told = lived.ok("playbook", "dream", "--accept")
    assert "1 item accepted, 0 open" in told.out
    assert "takes it back" in told.err
    assert _contents(lived) == sorted((PARAPHRASES[2], *OTHERS, PAGES))
    lived.ok("playbook", "consolidate", "undo")
    assert lived.bullets() == before


def test_an_item_is_taken_with_another_text(lived: Commands) -> None:
    ids, text = _ids(lived), "Ask the Invoice Service for ten pages"
    lived.ok("playbook", "dream", "--edit", f"{ids['add']}={text}")
    assert _contents(lived) == sorted((*PARAPHRASES, *OTHERS, HARMFUL, text))
    refused = lived("playbook", "dream", "--edit", f"{ids['archive']}=no")
    assert (refused.code, "has no text to edit" in refused.err) == (2, True)


def test_what_is_refused_is_left_and_not_shown_again(lived: Commands) -> None:
    before, ids = lived.bullets(), _ids(lived)
    lived.ok("playbook", "dream", "--refuse", ids["merge"])
    assert [bullet["content"] for bullet in lived.bullets()] == [each["content"] for each in before]
    assert set(_ids(lived)) == {"add", "archive"}
    lived.ok("playbook", "dream", "--refuse")
    nothing = lived("playbook", "dream", "--accept")
    assert (nothing.code, nothing.out) == (1, "")
    assert "playbook dream makes one" in nothing.err


def test_a_rule_accepts(lived: Commands) -> None:
    ids = _ids(lived)
    done = lived.ok("playbook", "dream", "--accept", "--at-least", "3", "--json").json
    assert done["accepted"] == [ids["merge"]]


def test_what_has_changed_meanwhile_is_left_out_and_said(lived: Commands) -> None:
    ids = _ids(lived)
    lived.ok("playbook", "edit", "gen-00009", "Guess nothing")
    done = lived.ok("playbook", "dream", "--accept", ids["archive"])
    assert "0 items accepted, 3 open" in done.out
    assert f"left out: {HARMFUL}: gen-00009 has changed since, or is gone: dream again" in done.err
    assert "Guess nothing" in _contents(lived)


@pytest.mark.parametrize(
    "wrong",
    [
        ("some-item",),
        ("--at-least", "3"),
        ("--accept", "--refuse"),
        ("--refuse", "--edit", "a=b"),
        ("--edit", "a"),
        ("--accept", "--at-least", "1"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_said(ace: Commands, wrong: tuple[str, ...]) -> None:
    done = ace("playbook", "dream", *wrong)
    assert (done.code, done.out) == (2, "")


def test_without_history_there_is_nothing_to_decide(ace: Commands) -> None:
    assert ace.ok("playbook", "dream").out == "learner local: 0 runs, 0 changes to decide\n"
    assert ace("playbook", "dream", "--accept").code == 1


def test_to_a_playbook_of_another_lessons_are_proposed(lived: Commands) -> None:
    lived.ok("playbook", "create", "api", "--learner", "ada")
    lived.ok("share", "grant", "api", "--to", "user:local", "--as", "contributor", "--learner", "ada")
    out = lived.ok("playbook", "dream", "--name", "ada/api").out
    assert out.startswith("ada/api: proposed to its owner; id ")
    assert PAGES in lived.ok("share", "proposals", "api", "--learner", "ada").out
    assert lived("playbook", "dream", "--name", "ada/api", "--accept").code == 1
