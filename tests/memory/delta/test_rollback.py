"""Rollback and restore bring back exactly what was there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.base import ChangeRefused, HistoryTooShort
from ace_graph.memory import (
    History,
    HistoryEntry,
    Playbook,
    Policy,
    Snapshot,
    Version,
    dump_effect,
    dump_playbook,
    load_effect,
    touched,
)
from ace_graph.memory.delta import (
    Add,
    Delta,
    Effect,
    Judge,
    Merge,
    Operation,
    Pin,
    Reflect,
    Remove,
    Reset,
    Restore,
    Supersede,
    Touch,
    Update,
    apply,
    archived,
    restore_of,
    rollback_to,
)
from ace_graph.memory.delta.resolve import resolve
from ace_graph.testing.conformance import rewriting
from tests.memory.delta.generated_deltas import BULLET_IDS, deltas


@dataclass
class Past:
    """A learner's memory with its history, and the state at the last moment of every version."""

    policy: Policy = field(default_factory=Policy)
    snapshot: Snapshot = field(default_factory=Snapshot)
    entries: list[HistoryEntry] = field(default_factory=list[HistoryEntry])
    then: list[Snapshot] = field(default_factory=lambda: [Snapshot()])

    def does(self, *operations: Operation) -> Effect:
        return self.commits(rewriting(*operations))

    def commits(self, delta: Delta) -> Effect:
        effect = load_effect(dump_effect(resolve(self.snapshot, delta, self.policy)))
        n = self.snapshot.version.n + bool(effect.changes)
        playbook = apply(self.snapshot.playbook, effect)
        self.snapshot = Snapshot(playbook, touched(self.snapshot.access, effect), Version("e", n))
        if effect.changes:
            self.entries.append(HistoryEntry(n, delta.op_id, delta.now, "", "", "", effect.report, effect))
            self.then.append(self.snapshot)
        self.then[n] = self.snapshot
        return effect

    @property
    def history(self) -> History:
        return History(0, Playbook(), tuple(self.entries))

    def goes_back(self, n: int) -> Effect:
        return self.does(rollback_to(self.history, self.snapshot, n))

    def brings_back(self, bullet_id: str) -> Effect:
        return self.does(restore_of(self.history, self.snapshot, bullet_id))


def plausible(delta: Delta) -> Delta:
    """The delta with at most one bullet in each slot of what replaces the playbook."""
    operations = [_plausible(each) if isinstance(each, Reset) else each for each in delta.operations]
    return delta.model_copy(update={"operations": tuple(operations)})


def _plausible(operation: Reset) -> Reset:
    by_slot = {bullet.slot or bullet.id: bullet for bullet in operation.bullets}
    return operation.model_copy(update={"bullets": tuple(by_slot.values())})


def _bytes(snapshot: Snapshot) -> tuple[str, dict[str, int]]:
    """The content but for the id counter, which never goes back, and the stamps of use."""
    return dump_playbook(replace(snapshot.playbook, next_id=1)), dict(snapshot.access.stamps)


def _a_past() -> Past:
    """A life in which everything that a state may hold is there at version 5, and gone at version 8."""
    past = Past()
    past.does(*(Add(content=f"Fact {n} is about {n * 7}") for n in range(1, 5)))
    past.does(Judge(turn_id="t1", source="tool", verdict="success", bullet_ids=("gen-00001", "base:ab12")))
    past.does(Reflect(insight="Units were forgotten", topic="units"), Touch(bullet_ids=("gen-00002",)))
    past.does(Merge(bullet_ids=("gen-00001", "gen-00002"), force=True))
    past.does(Supersede(bullet_id="gen-00003", by="gen-00004"), Pin(bullet_id="gen-00001"))
    past.does(Touch(bullet_ids=("gen-00001", "base:ab12")))
    past.does(Update(bullet_id="gen-00001", topic="units"), Touch(bullet_ids=("gen-00004",)))
    past.does(Judge(turn_id="t1", source="tool", verdict="failure", bullet_ids=("gen-00004", "base:ab12")))
    past.does(Touch(bullet_ids=("gen-00001",)))
    past.does(Reset())
    past.does(Add(content="Name the unit"))
    return past


def test_a_rollback_brings_back_all_that_a_version_held() -> None:
    past = _a_past()
    wanted = past.then[5]
    assert wanted.playbook.votes
    assert wanted.playbook.base_votes
    assert wanted.playbook.reflections
    assert wanted.playbook.aliases
    assert wanted.playbook.tombstones
    assert wanted.access.stamps.keys() == {"gen-00001", "gen-00004", "base:ab12"}
    past.goes_back(5)
    assert _bytes(past.snapshot) == _bytes(wanted)


def test_after_a_rollback_a_changed_verdict_moves_counters_once() -> None:
    past = Past()
    past.does(Add(content="Draw a bar"))
    past.does(Judge(turn_id="t1", source="learner", verdict="success", bullet_ids=("gen-00001",)))
    past.does(Remove(bullet_id="gen-00001"))
    past.goes_back(2)
    past.does(Judge(turn_id="t1", source="learner", verdict="failure", bullet_ids=("gen-00001",)))
    (bullet,) = past.snapshot.playbook.bullets()
    assert (bullet.helpful, bullet.harmful) == (0, 1)


def test_the_clock_and_the_id_counter_never_go_back() -> None:
    past = _a_past()
    clock = past.then[7].access.access_clock
    past.goes_back(7)
    assert past.snapshot.access.access_clock == clock + 1, "the clear had set it to 0"
    report = past.does(Add(content="Estimate first")).report
    assert report.added == ("gen-00006",), "gen-00005 was given out after that version"


def test_the_report_of_a_rollback_lists_its_changes() -> None:
    past = Past()
    past.does(Add(content="Draw a bar"), Add(content="Name the unit"))
    past.does(Remove(bullet_id="gen-00001"), Update(bullet_id="gen-00002", topic="units"))
    past.does(Add(content="Estimate first"))
    report = past.goes_back(1).report
    assert (report.restored, report.updated, report.removed) == (
        ("gen-00001",),
        ("gen-00002",),
        ("gen-00003",),
    )


def test_a_rollback_writes_only_the_bullets_that_differ() -> None:
    past = Past()
    past.does(*(Add(content=f"Fact {n} is about {n * 7}") for n in range(1, 50)))
    past.does(Remove(bullet_id="gen-00007"))
    effect = past.goes_back(1)
    assert [change.kind for change in effect.changes] == ["revived", "rewound"]


def test_a_version_before_the_history_is_refused() -> None:
    with pytest.raises(HistoryTooShort, match="from 0 to 2"):
        rollback_to(replace(_a_past().history, entries=tuple(_a_past().entries[:2])), Snapshot(), 3)


@given(deltas(), st.data())
def test_a_rollback_to_any_version_is_exact(sequence: Sequence[Delta], data: st.DataObject) -> None:
    past = Past(Policy(max_bullets=data.draw(st.sampled_from((2, 1_000)))))
    for delta in sequence:
        past.commits(plausible(delta))
    n = data.draw(st.integers(0, past.snapshot.version.n))
    wanted, present = past.then[n], past.snapshot
    past.goes_back(n)
    assert _bytes(past.snapshot) == _bytes(wanted)
    assert past.snapshot.playbook.next_id == present.playbook.next_id
    past.goes_back(present.version.n)
    assert _bytes(past.snapshot) == _bytes(present), "and it can be undone"
    folded = apply(Playbook(), *(entry.effect for entry in past.entries if entry.effect))
    assert dump_playbook(folded) == dump_playbook(past.snapshot.playbook), "the history is the state"


@given(deltas(), st.sampled_from(BULLET_IDS))
def test_a_removed_bullet_comes_back_exactly(sequence: Sequence[Delta], name: str) -> None:
    past = Past()
    for delta in sequence:
        past.commits(plausible(delta))
    before = past.snapshot
    if name not in before.playbook.entries:
        return
    past.does(Remove(bullet_id=name))
    past.does(Touch(bullet_ids=()))
    assert past.brings_back(name).report.restored == (name,)
    assert _bytes(past.snapshot) == _bytes(before)


def test_a_restored_bullet_returns_to_its_place() -> None:
    past = Past()
    past.does(*(Add(content=f"Fact {n} is about {n * 7}") for n in range(1, 6)))
    past.does(Remove(bullet_id="gen-00002"), Remove(bullet_id="gen-00004"))
    past.does(Remove(bullet_id="gen-00003"))
    past.brings_back("gen-00004")
    assert list(past.snapshot.playbook.entries) == ["gen-00001", "gen-00004", "gen-00005"]
    past.brings_back("gen-00002")
    assert list(past.snapshot.playbook.entries) == ["gen-00001", "gen-00002", "gen-00004", "gen-00005"]


def test_restoring_a_merged_bullet_subtracts_its_counts() -> None:
    past = Past()
    past.does(
        Add(content="Draw a bar", helpful=3, seen=2), Add(content="Name the unit", helpful=1, harmful=1)
    )
    past.does(Merge(bullet_ids=("gen-00001", "gen-00002"), force=True))
    past.does(Judge(turn_id="t1", source="tool", verdict="success", bullet_ids=("gen-00002",)))
    report = past.brings_back("gen-00002").report
    first, second = past.snapshot.playbook.bullets()
    assert (report.restored, report.updated) == (("gen-00002",), ("gen-00001",))
    assert (first.helpful, first.harmful, first.seen) == (4, 0, 2), "the vote since the merge stays"
    assert (second.helpful, second.harmful, second.seen) == (1, 1, 1)
    assert first.consolidated_from == ()


def test_the_archive_lists_each_bullet_once_the_latest_first() -> None:
    past = Past()
    past.does(Add(content="Draw a bar"), Add(content="Name the unit"), Add(content="Estimate first"))
    past.does(Remove(bullet_id="gen-00001"))
    past.does(Supersede(bullet_id="gen-00002", by="gen-00003"))
    found = [
        (left.bullet.id, left.n, left.why, left.into)
        for left in archived(past.history, past.snapshot.playbook)
    ]
    assert found == [("gen-00002", 3, "superseded", "gen-00003"), ("gen-00001", 2, "removed", None)]
    past.brings_back("gen-00001")
    assert [left.bullet.id for left in archived(past.history, past.snapshot.playbook)] == ["gen-00002"]


def test_present_or_unknown_bullets_are_not_restored() -> None:
    past = Past()
    past.does(Add(content="Draw a bar"))
    for name, why in (("gen-00001", "is in the playbook"), ("gen-00009", "does not hold gen-00009")):
        with pytest.raises(ChangeRefused, match=why):
            past.brings_back(name)


def test_a_restore_of_version_0_1_still_brings_its_bullet() -> None:
    past = Past()
    past.does(Add(content="Draw a bar"), Add(content="Name the unit"))
    (first, _) = past.snapshot.playbook.bullets()
    past.does(Remove(bullet_id=first.id))
    past.does(Restore(bullet=first))
    assert list(past.snapshot.playbook.entries) == ["gen-00002", "gen-00001"]
    assert past.snapshot.access.idle("gen-00001") == 0
