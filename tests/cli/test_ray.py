"""Work on two Ray nodes: the results of one process, whatever dies on the way; and what is refused before."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest

from ace_graph.memory.delta.operations import Reset
from ace_graph.memory.stores.sqlite.store import SQLiteStore
from ace_graph.testing import GeminiServer
from ace_graph.testing.conformance.writing import rewriting, write
from ace_graph.testing.gemini_server import GeminiRequest
from tests.cli.adaptation_runs import Json, provider, start, write_rows
from tests.cli.commands import Commands
from tests.cli.ray_nodes import RayNodes, ray_nodes
from tests.consolidation.planted import OTHERS, PARAPHRASES, bullets

ROWS = 8
_BARE = "Answer the question."
"""In the prompt of the first control alone."""


@dataclass
class Held:
    """Answers by fixed rules; holds the requests of the first control back until told to answer."""

    held: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    released: threading.Event = field(default_factory=threading.Event)
    bare: int = 0

    def __post_init__(self) -> None:
        self.released.set()

    def __call__(self, request: GeminiRequest) -> str | int:
        if _BARE in request.text:
            self.bare += 1
            self.held.release()
            self.released.wait()
        return provider(request)


@pytest.fixture
def model(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    held = Held()
    with GeminiServer(held) as server:
        monkeypatch.setenv("GEMINI_API_KEY", "any")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        yield held
        held.released.set()


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed: pip install 'ace-graph[ray]'")
    folder = Path(tempfile.mkdtemp(prefix="ray"))  # the path of a socket in it must be short
    with ray_nodes(folder) as started:
        yield started
    shutil.rmtree(folder, ignore_errors=True)


def adapting(out: str) -> tuple[str, ...]:
    rows = ("--task", "formula", "--data", "rows.jsonl", "--concurrency", "1", "--seed", "3")
    return ("adapt", "online", *rows, "--out", out)


def written(folder: Path) -> tuple[Json, list[Json]]:
    """What a run has written, without timings and in the order of the data."""
    found: Json = json.loads((folder / "results.json").read_text())
    del found["timing"]
    steps: list[Json] = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    for step in steps:
        del step["seconds"]
        if "commit" in step:
            del step["commit"]  # it has the time of the run
    steps.sort(key=lambda step: (step["phase"], step["number"]))
    return found, steps


@pytest.mark.heavy
def test_two_nodes_give_the_results_of_one_process(ace: Commands, model: Held, nodes: RayNodes) -> None:
    write_rows(ace.folder / "rows.jsonl", ROWS)
    here = ace.ok(*adapting("run"))
    (ace.folder / "run").rename(ace.folder / "here")
    there = ace.program(*adapting("run"), "--on", nodes.client)
    assert there.code == 0, there.err
    assert there.out == here.out
    assert written(ace.folder / "run") == written(ace.folder / "here")
    assert "ace-graph: Ray: 2 nodes, 2 processors" in there.err
    assert f"no_playbook: {ROWS} of {ROWS}, accuracy" in there.err


@pytest.mark.long
def test_a_comparison_on_two_nodes_prints_the_same_bytes(
    ace: Commands, model: Held, nodes: RayNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(ace.folder / "rows.jsonl", ROWS)
    command = ("compare", "mode=cot", "mode=react", "--data", "rows.jsonl", "--task", "formula", "--json")
    here = ace.ok(*command)
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    there = ace.program(*command, "--on", "ray")
    assert there.code == 0, there.err
    assert there.out == here.out


@pytest.mark.heavy
def test_a_killed_node_costs_a_retry_and_a_killed_run_resumes(
    ace: Commands, model: Held, nodes: RayNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(ace.folder / "rows.jsonl", ROWS)
    ace.ok(*adapting("run"))
    (ace.folder / "run").rename(ace.folder / "here")
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    model.bare, model.held = 0, threading.Semaphore(0)
    model.released.clear()

    first = start(ace.folder, *adapting("run"), "--on", "ray")
    for _ in range(2):  # one row at a time in a process, one processor on a node: both nodes have one
        assert model.held.acquire(timeout=120)
    first.kill()
    first.communicate()
    model.released.set()
    begun = (ace.folder / "run" / "steps.jsonl").read_bytes()
    assert begun.count(b"\n") == ROWS, "the samples that were learned from, and no more"

    model.bare, model.held = 0, threading.Semaphore(0)
    model.released.clear()
    second = start(ace.folder, *adapting("run"), "--resume", "--on", "ray")
    for _ in range(2):
        assert model.held.acquire(timeout=120)
    nodes.kill_one()
    model.released.set()
    _, told = second.communicate(timeout=240)
    nodes.add_one()

    assert second.returncode == 0, told
    assert (ace.folder / "run" / "steps.jsonl").read_bytes().startswith(begun)
    assert written(ace.folder / "run") == written(ace.folder / "here")
    assert model.bare == ROWS + 1, "the row that the killed node had is asked again, and no other"


LEARNERS = ("ada", "ben", "cem", "dan", "eve", "fay")


@pytest.mark.heavy
def test_a_pass_over_learners_gives_the_bytes_of_one_process(
    ace: Commands, nodes: RayNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def plant() -> None:
        async with SQLiteStore(ace.database) as store:
            for learner in LEARNERS:
                await write(store, learner, rewriting(Reset(bullets=bullets(*PARAPHRASES, *OTHERS))))

    asyncio.run(plant())
    shutil.copy(ace.database, ace.folder / "other.db")
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    consolidating = ("consolidate", "--all", "--resume", "pass-1", "--json", "--store")
    here = ace.ok(*consolidating, "sqlite:///ace.db")
    there = ace.program(*consolidating, "sqlite:///other.db", "--on", "ray")
    assert there.code == 0, there.err
    assert there.out == here.out
    assert [each["learner"] for each in there.json["consolidated"]] == list(LEARNERS)
    assert {each["merged"] for each in there.json["consolidated"]} == {3}
    again = ace.ok(*consolidating, "sqlite:///other.db")
    assert again.json["consolidated"] == [], "nobody is consolidated twice"


@pytest.mark.long
def test_nodes_learn_what_a_worker_would_have_learned(
    ace: Commands, nodes: RayNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_MODEL", "offline")
    monkeypatch.setenv("ACE_LEARNING", "background")
    for learner in LEARNERS:
        said = ("What is 3/4 + 1/6?", "The answer is 4/10.", "That's wrong, it should be 11/12.")
        roles = ("user", "assistant", "user")
        messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=True)]
        ace.ok("run", stdin=json.dumps({"messages": messages, "scratch": {"learner_id": learner}}))
    shutil.copy(ace.database, ace.folder / "other.db")
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    here = ace.ok("worker", "--once")
    learned = [ace.bullets(learner) for learner in LEARNERS]
    monkeypatch.setenv("ACE_MEMORY_FILE", "other.db")
    there = ace.program("worker", "--once", "--on", "ray")
    assert there.code == 0, there.err
    assert there.err.splitlines()[-1] == here.err.splitlines()[-1] == "ace-graph: worker: learned 6"
    assert [ace.bullets(learner) for learner in LEARNERS] == learned


def test_a_store_in_memory_is_refused(ace: Commands) -> None:
    for command in (("playbook", "rescreen", "--all"), ("consolidate", "--all")):
        refused = ace(*command, "--store", "memory://", "--on", "ray")
        assert refused.code == 2
        assert "a store in memory belongs to one process" in refused.err


def test_a_missing_extra_is_named(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    refused = ace("consolidate", "--all", "--on", "ray")
    assert refused.code == 1
    assert "pip install 'ace-graph[ray]'" in refused.err


@pytest.mark.parametrize("on", ["spark", "ray://", "ray://head", "ray://head:x", "ray:10001", "ray://a b:1"])
def test_what_names_no_cluster_is_refused(ace: Commands, on: str) -> None:
    refused = ace("consolidate", "--all", "--on", on)
    assert refused.code == 2
    assert "names no cluster" in refused.err


def test_a_cluster_for_one_playbook_or_an_endless_worker_is_refused(ace: Commands) -> None:
    assert "add --all" in ace("consolidate", "--on", "ray").err
    assert "add --all" in ace("playbook", "rescreen", "--on", "ray").err
    assert "add --once" in ace("worker", "--on", "ray").err


def test_an_address_where_nothing_listens_is_told(ace: Commands) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        on = f"ray://127.0.0.1:{closed.getsockname()[1]}"
        refused = ace("consolidate", "--all", "--on", on)
    assert refused.code == 1
    assert f"no Ray cluster answers at {on} (Connection refused)" in refused.err


@pytest.mark.long
def test_an_address_that_says_nothing_is_told(ace: Commands) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        on = f"ray://127.0.0.1:{silent.getsockname()[1]}"
        refused = ace.program("consolidate", "--all", "--on", on)
    assert refused.code == 1
    assert f"no Ray cluster can be used at {on}" in refused.err.splitlines()[-1]
