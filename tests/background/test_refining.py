"""A late reflection makes a vote more exact; it never takes back what a source has said since."""

from __future__ import annotations

import pytest

from ace_graph.memory import Access, Policy, Snapshot, Verdict, plan
from ace_graph.memory.delta import Add, Judge
from ace_graph.memory.stores import random_token
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing.conformance import record, rewriting, touching, write

NAMES = ("gen-00001", "gen-00002")


def _judge(verdict: Verdict, *names: str, refines: bool = False) -> Judge:
    return Judge(turn_id="t1", source="learner", verdict=verdict, bullet_ids=names, refines=refines)


def _counters(*judges: Judge) -> list[tuple[int, int]]:
    """(helpful, harmful) of two bullets after these judgements, one delta each."""
    state = Snapshot(access=Access())
    for delta in (
        rewriting(Add(content="Draw a bar"), Add(content="Name the unit")),
        *map(rewriting, judges),
    ):
        state = plan(state, delta, Policy(), None, random_token).snapshot
    return [(state.playbook.entries[name].helpful, state.playbook.entries[name].harmful) for name in NAMES]


@pytest.mark.parametrize(
    ("judges", "counters"),
    [
        ([_judge("success", NAMES[0]), _judge("success", *NAMES, refines=True)], [(1, 0), (1, 0)]),
        ([_judge("success", NAMES[0]), _judge("success", NAMES[1], refines=True)], [(0, 0), (1, 0)]),
        (
            [
                _judge("success", NAMES[0]),
                _judge("failure", NAMES[0]),
                _judge("success", *NAMES, refines=True),
            ],
            [(0, 1), (0, 0)],
        ),
        ([_judge("success", *NAMES, refines=True)], [(1, 0), (1, 0)]),
    ],
    ids=["more bullets", "other bullets", "another verdict since", "nobody voted yet"],
)
def test_a_refining_vote(judges: list[Judge], counters: list[tuple[int, int]]) -> None:
    assert _counters(*judges) == counters


async def test_a_refining_vote_leaves_the_turns_verdict() -> None:
    store = SQLiteStore()
    made = record(turn_id="t1").model_copy(update={"verdict": "failure"})
    await write(store, "alice", touching(), made)
    await write(store, "alice", rewriting(_judge("success", refines=True)))
    (turn,) = (await store.load("alice")).access.recent_turns
    assert turn.verdict == "failure"
