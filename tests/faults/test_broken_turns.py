"""A turn that is broken off anywhere leaves a whole turn or none, and is there once when it has gone on."""

from __future__ import annotations

from pathlib import Path

import pytest

from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.stores import open_store
from benchmarks.faults.aftermath import Aftermath
from benchmarks.faults.fault import POINTS, Boundary, Kind, Point
from benchmarks.faults.proxy import Wrong, proxied
from benchmarks.faults.report import report
from benchmarks.faults.trials import (
    Trial,
    cancelled_everywhere,
    connection_trial,
    killed,
    server_killed,
    struck,
)
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.heavy import some_heavy
from tests.plugins.neo4j_server import Neo4jServer
from tests.plugins.neo4j_source import VERSIONS
from tests.plugins.warm_python import WarmPython

pytestmark = pytest.mark.slow

ONCE, NEVER = Aftermath(1, 1, 1, 1), Aftermath(0, 0, 0, 0)


async def test_the_turn_without_a_fault_leaves_one_of_each() -> None:
    trial = await struck(SQLiteStore(), None, "raises")
    assert (trial.ended, trial.before, trial.after) == ("answered", ONCE, ONCE)


@pytest.mark.parametrize("kind", ["raises", "cancels"])
@pytest.mark.parametrize("point", POINTS)
async def test_an_error_or_a_cancellation_at_every_await(tmp_path: Path, point: Point, kind: Kind) -> None:
    async with open_store(f"sqlite:///{tmp_path}/ace.db") as store:
        trial = await struck(store, point, kind)
    assert trial.passed, trial
    if kind == "cancels":
        assert trial.ended == "cancelled"


@pytest.mark.parametrize("kind", ["raises", "cancels"])
@pytest.mark.parametrize("point", ["load", "before commit", "after commit"])
@pytest.mark.slow
@pytest.mark.heavy
async def test_the_same_on_neo4j(neo4j: Neo4jServer, point: Point, kind: Kind) -> None:
    async with Neo4jSubject(neo4j).open() as store:
        trial = await struck(store, point, kind)
    assert trial.passed, trial


@pytest.mark.parametrize("stride", some_heavy((12, 4), (12).__eq__))
async def test_a_cancellation_after_any_number_of_steps(stride: int) -> None:
    trials = [trial async for trial in cancelled_everywhere(SQLiteStore(), stride)]
    assert [trial for trial in trials if not trial.passed] == []
    assert len(trials) > 10
    assert {trial.ended for trial in trials} == {"cancelled", "answered"}


async def test_a_process_killed_at_every_await_and_node_boundary(
    tmp_path: Path, warm_python: WarmPython
) -> None:
    url = f"sqlite:///{tmp_path}/ace.db"
    trials = [trial async for trial in killed(url, lambda: open_store(url), tmp_path, warm_python)]
    assert [trial for trial in trials if not trial.passed] == []
    assert [trial.before for trial in trials] == [NEVER] * 11 + [ONCE] * 2, "stored by the commit, not before"


async def test_a_server_killed_around_its_answer(tmp_path: Path, warm_python: WarmPython) -> None:
    """Before the answer nothing is checkpointed and the turn begins anew; behind it, it is taken up."""
    around: tuple[Boundary, ...] = ("solver begins", "critic begins")
    url = f"sqlite:///{tmp_path}/ace.db"
    trials = await server_killed(url, tmp_path, *around, python=warm_python)
    assert [trial for trial in trials if not trial.passed] == []
    assert [trial.before for trial in trials] == [NEVER] * 4, "each in a first turn and in a later one"


@pytest.mark.parametrize("wrong", some_heavy(("cut before", "cut after"), "cut after".__eq__))
async def test_a_connection_to_postgres_that_breaks_at_every_message(postgres: str, wrong: Wrong) -> None:
    async with open_store(postgres) as direct, proxied(postgres) as proxy:
        trials: list[Trial] = []
        while (
            trial := await connection_trial(
                direct, lambda: open_store(proxy.uri), proxy, wrong, len(trials) + 1
            )
        ) is not None:
            trials.append(trial)
    assert [trial for trial in trials if not trial.passed] == []
    assert len(trials) >= 8, "a greeting, a login, the migrations, a load and a commit at least"


@pytest.mark.parametrize("neo4j", VERSIONS[:1], indirect=True)
@pytest.mark.parametrize("wrong", some_heavy(("cut before", "cut after", "delay"), "cut before".__eq__))
async def test_a_connection_that_breaks_at_every_message(neo4j: Neo4jServer, wrong: Wrong) -> None:
    async with Neo4jSubject(neo4j).open() as direct, proxied(neo4j.uri) as proxy:

        def through() -> Store:
            return Neo4jSubject(Neo4jServer(proxy.uri, neo4j.username, neo4j.password, neo4j.database)).open()

        trials: list[Trial] = []
        while (trial := await connection_trial(direct, through, proxy, wrong, len(trials) + 1)) is not None:
            trials.append(trial)
    assert [trial for trial in trials if not trial.passed] == []
    assert len(trials) >= 4, "a greeting, a login, a load and a commit at least"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (NEVER, Aftermath(2, 2, 2, 1)),
        (NEVER, NEVER),
        (Aftermath(1, 1, 0, 1), ONCE),
        (ONCE, Aftermath(1, 1, 1, 1, ("the history does not fold to the state",))),
    ],
    ids=["doubled", "lost", "torn", "wrong"],
)
def test_what_is_lost_doubled_or_torn_does_not_pass(before: Aftermath, after: Aftermath) -> None:
    trial = Trial("kills at load", "killed", before, after)
    assert not trial.passed
    assert "kills at load" in report({("SQLite", "SIGKILL"): [trial]})
