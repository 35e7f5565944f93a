"""Which bullets are archived at the cap: the weakest of all, found without computing the strength of each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.memory import (
    Access,
    Bullet,
    DecayRates,
    Playbook,
    Policy,
    Snapshot,
    apply,
    decay_score,
    resolve,
)
from ace_graph.memory.delta import PLAYBOOK_FULL, Add, Delta, Operation, Tag
from tests.memory.counted_calls import calls_of
from tests.plugins.sizes import HEAVY

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BULLETS = st.lists(
    st.builds(
        Bullet,
        id=st.just("x"),
        section=st.sampled_from(["lessons", "lessons", "preferences"]),
        content=st.just("x"),
        memory_type=st.sampled_from(["semantic", "episodic"]),
        helpful=st.integers(0, 2),
        harmful=st.integers(0, 2),
        importance=st.sampled_from([0.5, 0.95]),
        status=st.sampled_from(["active", "active", "quarantined"]),
        created_at=st.integers(0, 2).map(lambda days: NOW - timedelta(days=days)),
    ),
    min_size=4,
    max_size=30,
)
RATES = st.builds(
    DecayRates, semantic=st.sampled_from([0.0, 0.01, 1.0]), episodic=st.sampled_from([0.05, 0.9])
)


def strangers(bullets: list[Bullet]) -> Playbook:
    """The bullets with ids and texts that have no word in common."""
    return Playbook.of(
        each.model_copy(update={"id": f"les-{n:05d}", "content": f"word{n}x other{n}y third{n}z"})
        for n, each in enumerate(bullets, 1)
    )


def changed(snapshot: Snapshot, policy: Policy, *operations: Operation) -> Playbook:
    effect = resolve(snapshot, Delta(op_id="1", now=NOW, operations=operations), policy)
    return apply(snapshot.playbook, effect)


@given(BULLETS, st.data(), RATES)
@settings(max_examples=150 if HEAVY else 40)
def test_the_weakest_of_all_are_archived(
    bullets: list[Bullet], data: st.DataObject, rates: DecayRates
) -> None:
    playbook = strangers(bullets)
    keys = list(playbook.entries)
    stamps = data.draw(st.dictionaries(st.sampled_from(keys), st.integers(1, 60)))
    access = Access(50, stamps)
    cap = data.draw(st.integers(1, len(keys)))
    policy = Policy(max_bullets=10_000, decay=rates)
    tagged = Tag(bullet_id=data.draw(st.sampled_from(keys)), tag="helpful")
    operations: list[Operation] = [Add(content="quite unlike anything", section="lessons"), tagged]
    grown = changed(Snapshot(playbook, access), policy, *operations)
    removable = [
        (
            b.status == "active",
            b.importance >= policy.keep_above,
            decay_score(b, access, rates),
            b.helpful,
            b.created_at,
            place,
            b.id,
        )
        for place, b in enumerate(grown.entries.values())
        if not b.core or b.status == "quarantined"
    ]
    gone = {each[-1] for each in sorted(removable)[: max(0, len(grown) - cap)]}
    kept = changed(Snapshot(playbook, access), policy.model_copy(update={"max_bullets": cap}), *operations)
    assert kept.entries.keys() == grown.entries.keys() - gone


def test_the_strength_of_a_few_bullets_is_computed_at_the_cap() -> None:
    playbook = strangers(
        [Bullet(id="x", section="lessons", content="x", helpful=number % 5) for number in range(300)]
    )
    access = Access(400, {key: place for place, key in enumerate(playbook.entries, 1)})
    snapshot, policy = Snapshot(playbook, access), Policy(max_bullets=300)
    new = Add(content="quite unlike anything", section="lessons")
    assert calls_of(decay_score, lambda: changed(snapshot, policy, new)) <= 30


def test_the_groups_are_carried_over_as_they_would_be_built() -> None:
    playbook = strangers([Bullet(id="x", section="lessons", content="x", helpful=n % 3) for n in range(20)])
    assert len(playbook.decay_groups) == 3
    access, policy = Access(), Policy(max_bullets=18)
    operations = (
        Tag(bullet_id="les-00020", tag="helpful"),
        Add(content="quite unlike it", section="lessons"),
    )
    after = changed(Snapshot(playbook, access), policy, *operations)
    assert after.decay_groups == Playbook(entries=after.entries).decay_groups
    assert len(after) == 18


@pytest.mark.parametrize(
    ("strong", "weak"),
    [
        ({}, {}),
        ({"helpful": 1}, {}),
        ({"pinned": True}, {}),
        ({"importance": 0.95}, {}),
        ({"section": "preferences"}, {}),
        ({}, {"harmful": 1}),
        ({}, {"status": "quarantined", "quarantine_reason": "by hand"}),
    ],
    ids=str,
)
def test_of_far_more_bullets_than_the_cap_the_weakest_are_refused_unread(
    strong: dict[str, object], weak: dict[str, object]
) -> None:
    """503 of 700 are read: the strong ones, which come first; of equal ones the last."""
    operations = [
        Add(content=f"w{n}x y{n}z", section="lessons", id=f"les-{n:05d}").model_copy(
            update=strong if n <= 503 else weak
        )
        for n in range(1, 701)
    ]
    delta = Delta(op_id="1", now=NOW, operations=tuple(operations))
    report = resolve(Snapshot(), delta, Policy(max_bullets=3)).report
    read = range(1, 504) if strong != weak else range(198, 701)
    assert report.added == tuple(f"les-{n:05d}" for n in read)
    assert {refused.why for refused in report.rejected} == {PLAYBOOK_FULL}
    assert len(report.rejected) == 197


def test_a_delta_of_500_bullets_more_than_the_cap_is_read_whole() -> None:
    operations = [Add(content=f"w{n}x y{n}z", section="lessons") for n in range(503)]
    delta = Delta(op_id="1", now=NOW, operations=tuple(operations))
    report = resolve(Snapshot(), delta, Policy(max_bullets=3)).report
    assert (len(report.added), report.rejected) == (503, ())
