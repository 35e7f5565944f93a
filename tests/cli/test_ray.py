"""Work on two Ray nodes: the results of one process, whatever dies on the way; and what is refused before."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest

from ace_graph.memory.delta import Reset
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import GeminiRequest, GeminiServer
from ace_graph.testing.conformance import rewriting, write
from tests.cli.adaptation_runs import Answer, Json, provider, start, write_rows
from tests.cli.commands import Commands
from tests.cli.ray_nodes import RayNodes, ray_nodes
from tests.consolidation.planted import ALIKE, OTHERS, PARAPHRASES, bullets
from tests.plugins.sizes import PATIENT

ROWS = 8
_BARE = "Answer the question."
"""In the prompt of the first control alone."""
_CONSOLIDATE = "<task>consolidate</task>"
_TIME = re.compile(r'"\d{4}-\d\d-\d\dT[^"]*"')


@dataclass
class Held:
    """Answers by fixed rules; holds requests with `marker` in them back until told to answer."""

    marker: str = _BARE
    answer: Answer = provider
    held: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    released: threading.Event = field(default_factory=threading.Event)
    asked: int = 0

    def __post_init__(self) -> None:
        self.released.set()

    def __call__(self, request: GeminiRequest) -> str | int:
        if self.marker in request.text:
            self.asked += 1
            self.held.release()
            self.released.wait()
        return self.answer(request)

    def hold(self) -> None:
        """Count anew, and answer no request with the marker until `released` is set."""
        self.asked, self.held = 0, threading.Semaphore(0)
        self.released.clear()

    def wait_for(self, count: int) -> None:
        """Wait until so many requests are held back."""
        for _ in range(count):
            assert self.held.acquire(timeout=PATIENT)


@pytest.fixture
def model(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    held = Held()
    with GeminiServer(held) as server:
        monkeypatch.setenv("GEMINI_API_KEY", "any")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        yield held
        held.released.set()


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayNodes]:
    """Two nodes, for the tests of this file.

    Only one of them is not `long`: it has the bytes of one process, too, though a node is killed in it.
    """
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed: pip install '.[ray]'")
    folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))  # the path of a socket in it must be short
    with ray_nodes(folder) as started:
        yield started
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def nodes(cluster: RayNodes) -> RayNodes:
    """Both nodes; one that the test before has killed is replaced only now."""
    cluster.replace_the_killed()
    return cluster


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


@pytest.mark.long
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
    command = (
        "adapt",
        "compare",
        "mode=cot",
        "mode=react",
        "--data",
        "rows.jsonl",
        "--task",
        "formula",
        "--json",
    )
    here = ace.ok(*command)
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    there = ace.program(*command, "--on", "ray")
    assert there.code == 0, there.err
    assert there.out == here.out


@pytest.mark.long
def test_a_killed_node_costs_a_retry_and_a_killed_run_resumes(
    ace: Commands, model: Held, nodes: RayNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(ace.folder / "rows.jsonl", ROWS)
    ace.ok(*adapting("run"))
    (ace.folder / "run").rename(ace.folder / "here")
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)

    model.hold()
    first = start(ace.folder, *adapting("run"), "--on", "ray")
    model.wait_for(2)  # one row at a time in a process, one processor on a node: both nodes have one
    first.kill()
    first.communicate()
    model.released.set()
    begun = (ace.folder / "run" / "steps.jsonl").read_bytes()
    assert begun.count(b"\n") == ROWS, "the samples that were learned from, and no more"

    model.hold()
    second = start(ace.folder, *adapting("run"), "--resume", "--on", "ray")
    model.wait_for(2)
    nodes.kill_one()
    model.released.set()
    _, told = second.communicate(timeout=PATIENT)

    assert second.returncode == 0, told
    assert (ace.folder / "run" / "steps.jsonl").read_bytes().startswith(begun)
    assert written(ace.folder / "run") == written(ace.folder / "here")
    assert model.asked == ROWS + 1, "the row that the killed node had is asked again, and no other"


LEARNERS = ("ada", "ben", "cem", "dan", "eve", "fay")


def consolidating(request: GeminiRequest) -> str:
    return json.dumps({"content": "Check, look at, the rate limit of the service"})


def plant(database: Path) -> None:
    """Store for every learner what rules merge, what a model has to judge, and what stays."""

    async def write_all() -> None:
        async with SQLiteStore(database) as store:
            for learner in LEARNERS:
                planted = bullets(*PARAPHRASES, *OTHERS, *ALIKE)
                await write(store, learner, rewriting(Reset(bullets=planted)))

    asyncio.run(write_all())


def memories(ace: Commands, database: str, learners: Sequence[str]) -> list[tuple[list[Json], list[Json]]]:
    """Every learner's bullets and commits, without times: there must be some of both."""
    found: list[tuple[list[Json], list[Json]]] = []
    for learner in learners:
        of = ("--json", "--learner", learner, "--store", f"sqlite:///{database}")
        shown, history = (ace.ok("playbook", listed, *of).out for listed in ("show", "history"))
        stored = _without_times(shown)["bullets"], _without_times(history)["versions"]
        assert all(stored), f"{learner} has {len(stored[0])} bullets of {len(stored[1])} commits"
        found.append(stored)
    return found


def _without_times(printed: str) -> Json:
    return json.loads(_TIME.sub('"a time"', printed))


@pytest.mark.slow
def test_a_node_killed_in_a_pass_over_learners_changes_nothing(
    ace: Commands, model: Held, nodes: RayNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.marker, model.answer = _CONSOLIDATE, consolidating
    plant(ace.database)
    shutil.copy(ace.database, ace.folder / "other.db")
    command = ("playbook", "consolidate", "--all", "--with-model", "--resume", "pass-1", "--json", "--store")
    here = ace.ok(*command, "sqlite:///ace.db")
    assert [each["learner"] for each in here.json["consolidated"]] == list(LEARNERS)
    assert [len(each["groups"]) for each in here.json["consolidated"]] == [2] * len(LEARNERS)
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)

    model.hold()
    there = start(ace.folder, *command, "sqlite:///other.db", "--on", "ray")
    model.wait_for(2)  # one learner at a time on a node: both nodes have one
    nodes.kill_one()
    model.released.set()
    out, told = there.communicate(timeout=PATIENT)

    assert there.returncode == 0, told
    assert out == here.out
    assert model.asked == len(LEARNERS) + 1, "what the killed node asked is asked again, and nothing else"
    assert memories(ace, "other.db", LEARNERS) == memories(ace, "ace.db", LEARNERS)
    again = ace.ok(*command, "sqlite:///other.db")
    assert again.json["consolidated"] == [], "nobody is consolidated twice"


PUPILS = tuple(f"pupil-{n}" for n in range(12))
_SUM = re.compile(r"it should be (\d+)/12")


def lesson_of(sum_of_twelfths: str) -> str:
    return f"Bring fraction {sum_of_twelfths} to the common denominator before you add"


def reflecting_on_sums(request: GeminiRequest) -> str:
    found = _SUM.search(request.text)
    assert found is not None, request.text
    return json.dumps({"reasoning": "r", "lessons": [{"content": lesson_of(found[1]), "section": "sums"}]})


@pytest.mark.long
def test_nodes_learn_what_a_worker_would_have_learned(
    ace: Commands, model: Held, nodes: RayNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.answer = reflecting_on_sums
    monkeypatch.setenv("ACE_LEARNING", "background")
    monkeypatch.setenv("ACE_MODEL", "offline")  # it answers the turns; Gemini reflects on them
    for number, learner in enumerate(PUPILS, 11):
        said = ("What is 3/4 + 1/6?", "The answer is 4/10.", f"That's wrong, it should be {number}/12.")
        roles = ("user", "assistant", "user")
        messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=True)]
        ace.ok("run", stdin=json.dumps({"messages": messages, "scratch": {"learner_id": learner}}))
    monkeypatch.delenv("ACE_MODEL")
    shutil.copy(ace.database, ace.folder / "other.db")
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    working = ("worker", "--once", "--concurrency", "1", "--store")
    here = ace.ok(*working, "sqlite:///ace.db")
    there = ace.program(*working, "sqlite:///other.db", "--on", "ray")
    assert there.code == 0, there.err
    assert there.err.splitlines()[-1] == here.err.splitlines()[-1] == "ace-graph: worker: learned 12"
    assert "ace-graph: worker: 12 of 12" in there.err, "the nodes leave nothing to the command's process"
    learned = memories(ace, "other.db", PUPILS)
    assert learned == memories(ace, "ace.db", PUPILS)
    contents = [[bullet["content"] for bullet in shown] for shown, _ in learned]
    assert contents == [[lesson_of(str(number))] for number in range(11, 11 + len(PUPILS))]


def test_a_store_in_memory_is_refused(ace: Commands) -> None:
    for command in (("playbook", "rescreen", "--all"), ("playbook", "consolidate", "--all")):
        refused = ace(*command, "--store", "memory://", "--on", "ray")
        assert refused.code == 2
        assert "a store in memory belongs to one process" in refused.err


def test_a_missing_extra_is_named(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    refused = ace("playbook", "consolidate", "--all", "--on", "ray")
    assert refused.code == 1
    assert "pip install '.[ray]'" in refused.err


@pytest.mark.parametrize("on", ["spark", "ray://", "ray://head", "ray://head:x", "ray:10001", "ray://a b:1"])
def test_what_names_no_cluster_is_refused(ace: Commands, on: str) -> None:
    refused = ace("playbook", "consolidate", "--all", "--on", on)
    assert refused.code == 2
    assert "names no cluster" in refused.err


def test_a_cluster_for_one_playbook_or_an_endless_worker_is_refused(ace: Commands) -> None:
    assert "--on needs --all" in ace("playbook", "consolidate", "--on", "ray").err
    assert "--on needs --all" in ace("playbook", "rescreen", "--on", "ray").err
    assert "--on needs --once" in ace("worker", "--on", "ray").err


def test_an_address_where_nothing_listens_is_told(ace: Commands) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        on = f"ray://127.0.0.1:{closed.getsockname()[1]}"
        refused = ace("playbook", "consolidate", "--all", "--on", on)
    assert refused.code == 1
    assert f"no Ray cluster answers at {on} (Connection refused)" in refused.err


@pytest.mark.long
def test_an_address_that_says_nothing_is_told(ace: Commands) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        on = f"ray://127.0.0.1:{silent.getsockname()[1]}"
        refused = ace.program("playbook", "consolidate", "--all", "--on", on)
    assert refused.code == 1
    assert f"no Ray cluster can be used at {on}" in refused.err.splitlines()[-1]
