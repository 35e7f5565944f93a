"""Laws of the stored form, over random lives: it is read as it was written, and no part can be missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ace_graph.base import CorruptPayload, IncompleteState, NewerFormat
from ace_graph.memory import (
    Playbook,
    Policy,
    Snapshot,
    Version,
    dump_access,
    dump_playbook,
    load_effect,
    plan,
)
from ace_graph.memory.delta import Delta, Effect, apply
from ace_graph.memory.stores import (
    EMPTY_BASE,
    NO_STAMPS,
    SerializedPlan,
    Sizes,
    StateHead,
    StoredBase,
    StoredEffect,
    StoredStamps,
    StoredState,
    StoredTouches,
    broken_version,
    dump_base,
    load_base,
    load_small_access,
)
from ace_graph.memory.stores import snapshot_and_log as base_and_tail
from ace_graph.testing.conformance import adding
from tests.memory.delta.generated_deltas import deltas
from tests.memory.store_scenario import Life

# What the statements of the stores decide about reading, in Python.


def effects_from(known: Version, head: StateHead) -> int | None:
    """Return the version after which effects are read, onto what is known; None: a base must be read.

    It is no promise that they lead to the state: a known version may be of another history.
    """
    if known.epoch is None or known.epoch != head.version.epoch:
        return None
    return known.n if head.marks.base <= known.n <= head.version.n else None


def reads_less(effects: int, content: Sizes) -> bool:
    """Whether so many bytes of effects are no more than the base with the effects after it."""
    return effects <= content.base + content.tail


def follow(known: Snapshot, head: StateHead, touches: Sequence[StoredTouches]) -> bool:
    """Whether touches after the known clock follow the known access part; if not, all stamps are read."""
    if known.version.epoch is None or known.version.epoch != head.version.epoch:
        return False
    return (touches[0].parent if touches else head.access_mark) == known.access.mark


@dataclass
class Held:
    """A store of one learner that keeps every part it ever wrote, in lists."""

    head: StateHead = field(default_factory=StateHead)
    access_json: str = ""
    bases: dict[int, StoredBase] = field(default_factory=lambda: {0: EMPTY_BASE})
    effects: list[StoredEffect] = field(default_factory=list[StoredEffect])
    stamps: StoredStamps = NO_STAMPS
    touches: list[StoredTouches] = field(default_factory=list[StoredTouches])
    folds: int = 0

    def write(self, made: SerializedPlan) -> None:
        made.prepare(self.head)
        folds, head, after = made.folding(self.head), self.head, made.plan.snapshot
        if folds.content:
            self.bases[after.version.n] = made.base
            self.folds += 1
        if folds.access:
            self.stamps, self.touches = made.stamps, []
        elif made.touches_json is not None:
            clock, mark = after.access.access_clock, after.access.mark
            self.touches.append(StoredTouches(clock, made.plan.parent_mark, mark, made.touches_json))
        if made.plan.content_changed:
            old, new = made.plan.parent, after.version
            self.effects.append(StoredEffect(new.n, old.etag, new.etag, made.effect_json))
        self.access_json = made.access_json
        self.head = StateHead(
            after.version,
            after.access.access_clock,
            after.access.mark,
            folds.marks,
            after.version.n if folds.content else head.base_n,
            *made.sizes_after(head, folds),
        )

    def read(self, known: Snapshot) -> Snapshot:
        return self.state(known).snapshot(known)

    def state(self, known: Snapshot) -> StoredState:
        head = self.head
        start = effects_from(known.version, head)
        base = None if start is not None else self.bases[head.base_n]
        effects = [each for each in self.effects if each.n > (head.base_n if start is None else start)]
        touches = [row for row in self.touches if row.clock > known.access.access_clock]
        stamps = None
        if not follow(known, head, touches):
            touches, stamps = self.touches, self.stamps
        return StoredState(
            head.version, self.access_json, head.access_mark, base, tuple(effects), stamps, tuple(touches)
        )


def _bytes(snapshot: Snapshot) -> tuple[object, ...]:
    return snapshot.version, dump_playbook(snapshot.playbook), dump_access(snapshot.access)


def _write(held: Held, present: Snapshot, delta: Delta, kept: int = 500) -> Snapshot:
    token = iter((f"{delta.op_id}-etag", f"{delta.op_id}-epoch"))
    made = plan(present, delta, Policy(), None, lambda: next(token))
    held.write(SerializedPlan(made, None, kept))
    return made.snapshot


@pytest.fixture(autouse=True, scope="module")
def small_tails() -> object:
    """Fold after a few effects, as large memories do after many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base_and_tail, "LEAST_TAIL", 3_000)
        patch.setattr(base_and_tail, "LEAST_TOUCHES", 300)
        yield


@given(deltas(), st.sampled_from((1, 2, 500)))
def test_a_reader_of_any_age_reads_the_state(sequence: Sequence[Delta], kept: int) -> None:
    held, states = Held(), [Snapshot()]
    for number, delta in enumerate(sequence):
        states.append(_write(held, states[-1], _renamed(delta, number), kept))
        for known in states:
            assert _bytes(held.read(known)) == _bytes(states[-1])


def _renamed(delta: Delta, number: int) -> Delta:
    """The same delta under an op id that no other has."""
    return delta.model_copy(update={"op_id": f"op-{number}"})


@given(deltas(), st.data())
def test_no_part_of_a_tail_can_be_missing_or_of_another_history(
    sequence: Sequence[Delta], data: st.DataObject
) -> None:
    assume(sequence)
    held, present = Held(), Snapshot()
    for number, delta in enumerate(sequence):
        present = _write(held, present, _renamed(delta, number))
    whole = held.state(Snapshot())
    effects, touches = list(whole.effects), list(whole.touches)
    damaged = [replace(whole, effects=(*effects[:n], *effects[n + 1 :])) for n in range(len(effects))]
    damaged += [replace(whole, touches=(*touches[:n], *touches[n + 1 :])) for n in range(len(touches))]
    for n, each in enumerate(effects):
        for other in (each._replace(etag="lost"), each._replace(parent="lost"), each._replace(text=None)):
            damaged.append(replace(whole, effects=(*effects[:n], other, *effects[n + 1 :])))
    if whole.base is not None:
        damaged.append(replace(whole, base=whole.base._replace(text=whole.base.text + " ")))
        damaged.append(replace(whole, base=whole.base._replace(n=whole.base.n + 1)))
    if damaged:
        with pytest.raises(IncompleteState, match="restore the database from a backup"):
            data.draw(st.sampled_from(damaged)).snapshot(Snapshot())
    assert _bytes(whole.snapshot(Snapshot())) == _bytes(present)


@given(st.integers(0, 6), st.integers(0, 8), st.integers(0, 8))
def test_a_broken_chain_names_the_first_version_that_does_not_follow(
    start: int, length: int, gap: int
) -> None:
    links = [StoredEffect(n, f"e{n - 1}", f"e{n}", "{}") for n in range(start + 1, start + length + 1)]
    end = (start + length, f"e{start + length}")
    assert broken_version((start, f"e{start}"), links, end) is None
    if gap < length:
        assert broken_version((start, f"e{start}"), links[:gap] + links[gap + 1 :], end) == start + gap + 1


def test_a_lost_branch_is_not_followed() -> None:
    """A store was restored from a backup and went on; a reader knows a version of what was lost."""
    sequence = [_adding(f"Fact {n} is about {n * 7}", n) for n in range(4)]
    held, present = Held(), Snapshot()
    for delta in sequence[:2]:
        present = _write(held, present, delta)
    lost = plan(present, _adding("What was lost", 8), Policy(), None, lambda: "lost").snapshot
    for delta in sequence[2:]:
        present = _write(held, present, delta)
    with pytest.raises(IncompleteState, match="version 4 is missing or of another history"):
        held.read(lost)
    assert _bytes(held.read(Snapshot())) == _bytes(present)


def _adding(text: str, number: int) -> Delta:
    return adding(text, op_id=f"op-{number}")


def test_what_is_read_depends_on_what_is_known() -> None:
    version = Version("epoch", 9, "e9")
    head = StateHead(version, base_n=6)
    assert effects_from(version._replace(n=8, etag="e8"), head) == 8
    assert effects_from(version._replace(n=2, etag="e2"), head) == 2  # older than the base, effects are kept
    assert effects_from(version._replace(n=10), head) is None
    assert effects_from(Version("another", 8, "e8"), head) is None
    assert effects_from(Version(), head) is None
    assert reads_less(30, Sizes(20, 10))
    assert not reads_less(31, Sizes(20, 10))


def test_a_base_and_an_effect_of_a_newer_format_are_told_from_damage() -> None:
    with pytest.raises(NewerFormat):
        load_base(dump_base(Playbook()).replace('"format":3', '"format":4'))
    with pytest.raises(NewerFormat):
        load_effect('{"format":4,"op_id":"o","now":"2026-01-01T00:00:00Z","something_new":1}')
    with pytest.raises(NewerFormat):
        load_small_access('{"format":5,"something_new":1}', Snapshot().access.grown, "")
    with pytest.raises(CorruptPayload) as caught:
        load_effect('{"format":3,"op_id":"o","now":"2026-01-01T00:00:00Z","something_new":1}')
    assert not isinstance(caught.value, NewerFormat)


def test_the_bounds_of_format_3_are_those_of_the_stored_effects() -> None:
    """Votes and insights are bounded when effects are folded: these numbers belong to the format."""
    votes = [
        {"kind": "voted", "turn_id": f"t{n}", "source": "tool", "verdict": "success", "bullet_ids": ["a"]}
        for n in range(205)
    ]
    insights = [{"kind": "reflected", "insight": f"i{n}", "topic": None} for n in range(5)]
    effect = Effect.model_validate(
        {"format": 3, "op_id": "o", "now": "2026-01-01T00:00:00Z", "changes": [*votes, *insights]}
    )
    folded = apply(Playbook(), effect)
    assert list(folded.votes) == [f"t{n}" for n in range(5, 205)]
    assert [each.insight for each in folded.reflections] == ["i2", "i3", "i4"]


def test_a_life_folds_more_than_once() -> None:
    """The laws above meet folds: this is about the tests, not the code."""
    held, present = Held(), Life().snapshot
    for n in range(30):
        present = _write(held, present, _adding(f"Fact {n} is about {n * 7}", n))
    assert held.folds >= 2
    assert held.stamps != NO_STAMPS


def test_a_base_that_is_no_text_any_more_is_damaged() -> None:
    with pytest.raises(IncompleteState, match="version 3 is damaged"):
        StoredBase(3, "etag", 0, '{"bullets": "\ud800"}').checked()
