"""What a delta does at once, its operations do one after the other, too."""

from __future__ import annotations

from random import Random

import pytest

from ace_graph.memory import Playbook, Policy, Snapshot, touched
from ace_graph.memory.delta import Add, Delta, Effect, Operation, apply
from ace_graph.memory.delta.resolve import resolve
from ace_graph.testing.conformance import NOON
from tests.memory.delta.recorded import random_operation
from tests.memory.store_scenario import Life

UNLIMITED = Policy(max_bullets=1_000, harm_limit=1_000)
"""Limits are checked at the end of a delta, so with them it matters where one ends."""


def _after(start: Snapshot, *deltas: tuple[Operation, ...]) -> tuple[Playbook, list[Effect]]:
    snapshot, effects = start, list[Effect]()
    for operations in deltas:
        effect = resolve(snapshot, Delta(op_id="op", now=NOON, operations=operations), UNLIMITED)
        effects.append(effect)
        snapshot = Snapshot(apply(snapshot.playbook, effect), touched(snapshot.access, effect))
    return snapshot.playbook, effects


@pytest.mark.parametrize("number", range(40))
def test_one_delta_does_what_its_operations_do_one_by_one(number: int) -> None:
    chance = Random(number)
    life = Life(policy=UNLIMITED)
    for _ in range(8):
        life.does(random_operation(chance, life))
    operations = tuple(_alone(random_operation(chance, life)) for _ in range(12))
    at_once, (effect,) = _after(life.snapshot, operations)
    one_by_one, effects = _after(life.snapshot, *((each,) for each in operations))
    assert dict(at_once.entries) == dict(one_by_one.entries)
    assert list(at_once.entries) == list(one_by_one.entries)
    assert (at_once.aliases, at_once.tombstones) == (one_by_one.aliases, one_by_one.tombstones)
    assert (at_once.votes, at_once.base_votes) == (one_by_one.votes, one_by_one.base_votes)
    assert at_once.reflections == one_by_one.reflections
    assert effect.report.rejected == tuple(each for one in effects for each in one.report.rejected)


def _alone(operation: Operation) -> Operation:
    """The operation without what it is called and wants to be called, which matters within one delta."""
    return operation.model_copy(update={"ref": None, "id": None}) if isinstance(operation, Add) else operation
