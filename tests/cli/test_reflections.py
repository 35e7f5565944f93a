"""`reflect --batch` and `playbook curate`: find what many runs say, take it into a playbook."""

from __future__ import annotations

import asyncio
import json

import pytest

from ace_graph.memory.stores.sql import SQLiteStore
from tests.cli.commands import Commands
from tests.learning.reflected_runs import add_run, add_runs

FIRST = "Check the rate limit before you call the API"
AGAIN = "Check the rate limits before you call the API."
FIVE = [FIRST, AGAIN, FIRST, "Cache the schema in a file", "Log every response body"]


@pytest.fixture
def runs(ace: Commands) -> list[str]:
    """Five runs with a reflection each; the ids of these."""

    async def store_them() -> list[str]:
        async with SQLiteStore(ace.database) as store:
            return await add_runs(store, "local", FIVE)

    return asyncio.run(store_them())


@pytest.mark.parametrize(
    "arguments",
    [(), ("run-0", "--batch"), ("run-0", "--agent", "crawler"), ("--batch", "--min", "1")],
    ids=" ".join,
)
@pytest.mark.usefixtures("runs")
def test_one_run_or_a_batch_has_to_be_named(ace: Commands, arguments: tuple[str, ...]) -> None:
    done = ace("reflect", *arguments)
    assert (done.code, done.out) == (2, "")
    assert "ace-graph:" in done.err


@pytest.mark.usefixtures("runs")
def test_too_few_runs_are_said_to_be_too_few(ace: Commands) -> None:
    done = ace.ok("reflect", "--batch", "--min", "6")
    assert done.out == "Not enough: 5 completed runs, 6 are needed.\n"
    told = ace.ok("reflect", "--batch", "--agent", "nobody", "--json").json
    assert told == {"status": "not_enough", "found": 0, "needed": 5}
    assert ace.ok("reflect", "--batch", "--since", "2040-01-01", "--json").json["found"] == 0
    assert len(json.loads(ace.ok("trajectory", "list", "--json").out)) == 5, "nothing was written"


def test_what_a_batch_found_is_curated(ace: Commands, runs: list[str]) -> None:
    found = ace.ok("reflect", "--batch", "--agent", "crawler", "--type", "api_call", "--json").json
    (pattern,) = [each for each in found["patterns"] if each["frequency"] == 3]
    assert (pattern["text"], pattern["trajectory_ids"]) == (FIRST, ["run-0", "run-1", "run-2"])
    ace.ok("playbook", "create", "api_client")
    named = ("--name", "api_client")
    done = ace.ok("playbook", "curate", pattern["memory_id"], runs[3], *named, "--json").json
    assert (done["status"], done["label"], done["updated"], done["removed"]) == ("curated", "1.1", [], [])
    shown = ace.ok("playbook", "show", "--details", *named, "--json").json["bullets"]
    assert [(each["id"], each["content"]) for each in shown] == [
        (each["id"], each["text"]) for each in done["added"]
    ]
    assert {each["evidence_count"] for each in shown} == {3, 1}
    again = ace.ok("playbook", "curate", runs[3], pattern["memory_id"], *named)
    assert again.out == "version 2 (1.1): these reflections were curated before\n"
    refused = ace("playbook", "curate", "nowhere", *named)
    assert (refused.code, refused.out) == (1, "")
    assert "there is no reflection nowhere" in refused.err


def test_people_read_the_patterns_and_the_changes(ace: Commands, runs: list[str]) -> None:
    lines = ace.ok("reflect", "--batch").out.splitlines()
    assert lines[0].endswith(f"  3 of 5  strategy: {FIRST}")
    assert f"reflection {runs[0]}" in ace.ok("trajectory", "show", "run-0").out
    done = ace.ok("playbook", "curate", lines[0].split()[0]).out.splitlines()
    assert done[0].startswith("+ [")
    assert done[1:] == ["version 1 (1.0)"]


def test_a_person_takes_one_lesson_of_a_run(ace: Commands) -> None:
    async def store_it() -> str:
        async with SQLiteStore(ace.database) as store:
            return await add_run(store, "local", "run", FIRST, "Cache the schema in a file")

    reflection = asyncio.run(store_it())
    assert "    #2 strategy: Cache the schema in a file" in ace.ok("trajectory", "show", "run").out
    done = ace.ok("playbook", "curate", f"{reflection}#2", "--json").json
    assert [each["text"] for each in done["added"]] == ["Cache the schema in a file"]
    refused = ace("playbook", "curate", f"{reflection}#3")
    assert (refused.code, "has 2 lessons" in refused.err) == (1, True)


def test_what_is_outdated_is_named_with_the_command_that_removes_it(ace: Commands, runs: list[str]) -> None:
    old = ace.ok("playbook", "add", "Never cache the schema in a file", "--json").json["added"][0]
    done = ace.ok("playbook", "curate", runs[3])
    new = ace.bullets()[-1]["id"]
    assert f"says something else than {new}; playbook remove {old} --replaced-by {new}" in done.err
    ace.ok("playbook", "remove", old, "--replaced-by", new)
    assert ace.ok("playbook", "curate", runs[3], "--json").json["outdated"] == []


def test_runs_without_a_reflection_are_counted(ace: Commands, runs: list[str]) -> None:
    async def add() -> None:
        async with SQLiteStore(ace.database) as store:
            await add_run(store, "local", "silent", minute=9, reflected=False)

    assert len(runs) == 5
    asyncio.run(add())
    done = ace.ok("reflect", "--batch")
    assert "1 run not reflected on yet" in done.err
