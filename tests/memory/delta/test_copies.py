"""What a change does not touch is shared with the state before it, so that its cost is that of the change."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ace_graph.memory import Playbook, Policy, Snapshot
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.commit import plan
from ace_graph.memory.delta import copies
from ace_graph.memory.delta.copies import CopyOnWrite
from ace_graph.memory.delta.operations import Delta, Judge, Merge, Operation, Remove, Tag, Touch
from ace_graph.memory.stores.base import random_token

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PARTS = ("entries", "aliases", "tombstones", "votes", "base_votes", "hashes")


def _memory() -> Snapshot:
    bullets = [Bullet(id=f"gen-{n}", section="general", content=f"Fact {n} of {n * 7}") for n in range(1, 9)]
    playbook = Playbook.of(bullets)
    assert len(playbook.hashes) == len(playbook.index) == 8
    changed = plan(Snapshot(playbook), _delta(Touch(bullet_ids=("gen-1",))), Policy(), None, random_token)
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
