"""`trajectory import`, as it is called."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.cli.commands import Commands
from tests.learning.transcript_samples import MESSAGES, lines, write_sample

KILLED = """
import asyncio, os
from pathlib import Path
from ace_graph import open_store
from ace_graph.learning import import_transcript, learner_by

async def main() -> None:
    async with open_store() as store:
        await import_transcript(store, Path("many.jsonl"), learner_by((), "ada"),
                                progress=lambda done, size: os._exit(9))

asyncio.run(main())
"""


def test_files_are_imported_and_what_is_wrong_is_said(ace: Commands) -> None:
    asyncio.run(write_sample("codex", Path("rollout.jsonl")))
    with Path("rollout.jsonl").open("a") as file:
        file.write('{"half')
    Path("other.txt").write_text("hello")
    done = ace("trajectory", "import", "rollout.jsonl", "other.txt", "--learner", "ada")
    assert done.code == 1
    assert done.out.splitlines()[0] == "rollout.jsonl: 1 exchange, 1 imported, 0 known before"
    assert "read as codex: session files of Codex CLI" in done.out
    assert "rollout.jsonl, line 14: it is cut off" in done.out
    assert "other.txt: no conversation was found" in done.err
    (listed,) = json.loads(ace.ok("trajectory", "list", "--agent", "codex", "-l", "ada", "--json").out)
    assert (listed["learning"], len(listed["steps"])) == ("pending", 2)


@pytest.mark.slow
def test_an_import_that_was_killed_goes_on(ace: Commands) -> None:
    texts = [f"What is {n} + 1?" for n in range(150)]
    asked = ({"messages": [{"role": "user", "content": text}, MESSAGES[-1]]} for text in texts)
    Path("many.jsonl").write_text(lines(asked))
    assert ace.process(KILLED).code == 9
    again = ace.ok("trajectory", "import", "many.jsonl", "--learner", "ada", "--no-learn", "--json").json
    assert (again["known"], again["imported"], again["pending"]) == (100, 50, 0)
    listed = json.loads(ace.ok("trajectory", "list", "-l", "ada", "-n", "500", "--json").out)
    assert sorted(each["task"] for each in listed) == sorted(texts)


def test_a_wrong_map_or_format_is_wrong_usage(ace: Commands) -> None:
    Path("talk.jsonl").write_text(lines(MESSAGES))
    for wrong in (("--map", "ada"), ("--format", "word")):
        assert ace("trajectory", "import", "talk.jsonl", *wrong).code == 2
    mapped = ace.ok("trajectory", "import", "talk.jsonl", "--map", "u9=ada")
    assert "2 of nobody who is named by --map" in mapped.out
