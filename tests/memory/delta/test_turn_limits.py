"""What a turn may do to bullets that are there: little, and never to the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ace_graph.memory import Bullet, Playbook, Policy, Snapshot
from ace_graph.memory.delta import Delta, Merge, Operation, Remove, Report, Update
from ace_graph.memory.delta.resolve import resolve
from ace_graph.testing.conformance import NOON
from tests.memory.store_scenario import bullet

BAR = "Draw a bar for every fraction"


def turn(bullets: Sequence[Bullet], *operations: Operation, **policy: Any) -> Report:  # Any: Policy's fields
    delta = Delta(op_id="op", now=NOON, operations=operations, origin="turn")
    return resolve(Snapshot(Playbook.of(bullets)), delta, Policy(**policy)).report


@pytest.mark.parametrize(("helpful", "harmful", "goes"), [(0, 1, True), (1, 1, False), (0, 0, False)])
def test_a_turn_removes_what_did_more_harm_than_good(helpful: int, harmful: int, goes: bool) -> None:
    told = turn([bullet(1, helpful=helpful, harmful=harmful)], Remove(bullet_id="gen-00001"))
    assert told.removed == (("gen-00001",) if goes else ())
    assert [r.why for r in told.rejected] == ([] if goes else ["only evidence or a person removes a bullet"])


def test_a_turn_may_not_force_a_merge_or_give_it_a_text() -> None:
    both = ("gen-00001", "gen-00002")
    twins = [bullet(1, BAR), bullet(2, f"{BAR}.")]
    assert len(turn(twins, Merge(bullet_ids=both)).merged) == 1
    for refused in (Merge(bullet_ids=both, force=True), Merge(bullet_ids=both, content=f"{BAR}!")):
        assert turn(twins, refused).merged == ()


@pytest.mark.parametrize("fields", [{"pinned": True}, {"section": "profile"}])
def test_a_turn_changes_nothing_of_the_core(fields: dict[str, Any]) -> None:  # Any: fields of a Bullet
    core = [
        bullet(1, BAR, harmful=9, **fields),
        bullet(2, f"{BAR}.", section=fields.get("section", "general")),
    ]
    for wanted in (
        Update(bullet_id="gen-00001", content="x"),
        Merge(bullet_ids=("gen-00002", "gen-00001")),
    ):
        assert [r.why for r in turn(core, wanted).rejected] == [
            "only a person changes what is in every prompt"
        ]


def test_a_turn_never_removes_a_pinned_bullet_whatever_its_votes() -> None:
    told = turn([bullet(1, harmful=9, pinned=True)], Remove(bullet_id="gen-00001"))
    assert told.removed == ()


def test_the_rewrites_of_a_turn_are_limited() -> None:
    many = [bullet(n, harmful=1) for n in range(1, 9)]
    told = turn(many, *(Remove(bullet_id=b.id) for b in many))
    assert len(told.removed) == 5
    assert {r.why for r in told.rejected} == {"more than 5 bullets rewritten in one turn"}
    twins = [bullet(n, BAR + "." * n) for n in range(1, 4)]
    merged = turn(twins, Merge(bullet_ids=tuple(b.id for b in twins)), max_turn_rewrites=2)
    assert (merged.merged, len(merged.rejected)) == ((), 1), "a merge counts as many as it names"
