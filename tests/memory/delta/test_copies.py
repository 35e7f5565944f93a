"""What a change does not touch is shared with the state before it, so that its cost is that of the change."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from types import FrameType

import pytest

from ace_graph.base import CopyOnWrite
from ace_graph.base import copy_on_write as copies
from ace_graph.memory import Bullet, Playbook, Policy, Snapshot, plan
from ace_graph.memory.delta import Delta, Judge, Merge, Operation, Remove, Tag, Touch, Update
from ace_graph.memory.stores import SerializedPlan, random_token

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROOMY = Policy(max_bullets=10_000)
PARTS = ("entries", "aliases", "tombstones", "votes", "base_votes", "hashes")


def _memory(size: int = 8) -> Snapshot:
    texts = ((n, f"Fact {n} is about {n * 7}") for n in range(1, size + 1))
    playbook = Playbook.of(Bullet(id=f"gen-{n}", section="general", content=text) for n, text in texts)
    assert len(playbook.hashes) == len(playbook.index) == size
    changed = plan(Snapshot(playbook), _delta(Touch(bullet_ids=("gen-1",))), ROOMY, None, random_token)
    return changed.snapshot


def _delta(operation: Operation) -> Delta:
    return Delta(op_id="one", now=NOON, operations=(operation,))


@pytest.mark.parametrize(
    ("operation", "changed"),
    [
        (Touch(bullet_ids=("gen-2",)), set[str]()),
        (Tag(bullet_id="gen-2", tag="helpful"), {"entries"}),
        (
            Judge(turn_id="t", source="learner", verdict="success", bullet_ids=("gen-2",)),
            {"entries", "votes"},
        ),
        (Remove(bullet_id="gen-2"), {"entries", "hashes"}),
        (Merge(bullet_ids=("gen-2", "gen-3"), force=True), {"entries", "hashes", "aliases"}),
    ],
    ids=lambda value: value.op if hasattr(value, "op") else "",
)
def test_what_is_not_changed_is_not_copied(operation: Operation, changed: set[str]) -> None:
    before = _memory()
    after = plan(before, _delta(operation), Policy(), None, random_token).snapshot
    old, new = before.playbook, after.playbook
    assert {name for name in PARTS if getattr(old, name) is not getattr(new, name)} == changed
    assert new.hashes == Playbook.of(new.bullets()).hashes


def test_a_turn_copies_no_more_of_a_larger_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted: the mappings that are copied, whatever their length."""
    made, real = list[int](), copies.copied

    def counted(mapping: dict[str, object]) -> object:
        made.append(len(mapping))
        return real(mapping)

    before = _memory()
    monkeypatch.setattr(copies, "copied", counted)
    plan(before, _delta(Touch(bullet_ids=("gen-2",))), Policy(), None, random_token)
    assert len(made) <= 2, "the stamps, and their earlier values"
    made.clear()
    plan(before, _delta(Tag(bullet_id="gen-2", tag="helpful")), Policy(), None, random_token)
    assert made == [8, 8], "the bullets, once to resolve and once to apply"


def test_a_shared_mapping_is_left_as_it_is() -> None:
    shared: dict[str, int] = {"a": 1}
    held = CopyOnWrite(shared)
    assert held.frozen() is held.now is shared
    held.writable()["b"] = 2
    held.writable()["c"] = 3
    assert (shared, dict(held.now), dict(held.frozen())) == (
        {"a": 1},
        {"a": 1, "b": 2, "c": 3},
        {"a": 1, "b": 2, "c": 3},
    )
    held.replace({})
    assert dict(held.frozen()) == {}


@pytest.mark.parametrize(
    "operation",
    [
        Touch(bullet_ids=("gen-2", "gen-3")),
        Tag(bullet_id="gen-2", tag="helpful"),
        Judge(turn_id="t", source="learner", verdict="success", bullet_ids=("gen-2", "gen-5")),
        Remove(bullet_id="gen-2"),
        Update(bullet_id="gen-2", content="Fact 2 is about 15"),
    ],
    ids=lambda operation: operation.op,
)
def test_a_commit_calls_as_many_functions_of_a_larger_memory(operation: Operation) -> None:
    """Counted: calls of Python functions and of C ones, from the plan to the texts that are stored."""
    assert _calls(operation, 60) == _calls(operation, 3_000)


def _calls(operation: Operation, size: int) -> int:
    before, counts = _memory(size), list[int]()

    def counted(_frame: FrameType, event: str, _what: object) -> None:
        counts[-1] += event in ("call", "c_call")

    for _ in range(3):  # the first one fills caches, and a garbage collection may come in one of them
        counts.append(0)
        sys.setprofile(counted)
        try:
            SerializedPlan(plan(before, _delta(operation), ROOMY, None, random_token), None, kept=500)
        finally:
            sys.setprofile(None)
    return min(counts)
