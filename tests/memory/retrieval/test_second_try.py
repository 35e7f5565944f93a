"""Advice that is one failure behind is tried once more, where nothing else fits the question."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ace_graph.memory import Policy, Snapshot, plan
from ace_graph.memory.delta import Add, Delta, Judge
from ace_graph.memory.retrieval.retrieve import retrieve

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RULE = "Round the invoices of the shop up to whole euros"
OTHER = "Invoices of the shop bear a number and a date"


def learned(*texts: str) -> Snapshot:
    adds = tuple(Add(content=text, examples=("t0",)) for text in texts)
    return commit(Snapshot(), "added", *adds)


def commit(state: Snapshot, op_id: str, *operations: Add | Judge, policy: Policy = Policy()) -> Snapshot:  # noqa: B008  a frozen value
    delta = Delta(op_id=op_id, now=NOW, operations=operations)
    return plan(state, delta, policy, None, lambda: "x").snapshot


def judged(state: Snapshot, *verdicts: str) -> Snapshot:
    """The state after these votes on its first bullet."""
    first = next(iter(state.playbook.entries))
    for n, verdict in enumerate(verdicts):
        vote = {"turn_id": f"t{n}", "source": "evaluator", "verdict": verdict, "bullet_ids": (first,)}
        state = commit(state, f"vote-{n}", Judge.model_validate(vote))
    return state


def shown(state: Snapshot, policy: Policy = Policy(), *, proven_only: bool = False) -> list[str]:  # noqa: B008
    found = retrieve(
        "how are the invoices of the shop rounded?",
        state.playbook,
        state.access,
        policy,
        now=NOW,
        proven_only=proven_only,
    )
    return [scored.bullet.content for scored in found.retrieved]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["failure"], True),
        (["failure", "failure"], False),
        (["failure", "success"], True),
        (["success", "failure", "failure"], False),
    ],
)
def test_one_failure_gets_a_second_try_and_a_second_one_none(verdicts: list[str], expected: bool) -> None:
    assert shown(judged(learned(RULE), *verdicts)) == ([RULE] if expected else [])


def test_nothing_is_tried_again_beside_other_advice() -> None:
    state = judged(learned(RULE, OTHER), "failure")
    assert shown(state) == [OTHER]


def test_nothing_is_tried_again_where_unproven_bullets_are_withheld() -> None:
    assert shown(judged(learned(RULE), "failure"), proven_only=True) == []


def test_nothing_is_tried_again_where_no_failure_is_allowed() -> None:
    assert shown(judged(learned(RULE), "failure"), Policy(setbacks_allowed=0)) == []
