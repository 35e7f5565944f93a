"""Strategies: three categories that partition the active bullets, and entries that read as they were put."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory import Playbook, Policy, Snapshot, StrategyEntry, TurnRecord, add_of, content_of
from ace_graph.memory.delta import Add, Delta, apply
from ace_graph.memory.delta.resolve import resolve
from tests.memory.formats.playbooks import playbooks

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(2025, 1, 1), datetime(2025, 12, 31), timezones=st.just(UTC))
IDS = st.lists(st.sampled_from(("t1", "t2", "t3")), unique=True, max_size=3).map(tuple)


@st.composite
def entries(draw: st.DrawFn) -> StrategyEntry:
    examples, created = draw(IDS), draw(MOMENTS)
    return StrategyEntry(
        id="str-00001",
        category=draw(st.sampled_from(("helpful", "harmful", "neutral"))),
        pattern=draw(st.sampled_from(("Retry once after a 429", "Skip the cache", "Pages hold 50 rows"))),
        context=draw(st.none() | st.just("When an API answers with 429")),
        confidence=draw(st.floats(0, 1)),
        evidence_count=draw(st.integers(len(examples), 99)),
        examples=examples,
        created_at=created,
        updated_at=created + timedelta(days=draw(st.integers(0, 99))),
    )


@given(playbooks())
def test_the_categories_partition_the_active_bullets(playbook: Playbook) -> None:
    content = content_of(Snapshot(playbook), (), NOON)
    parts = (*content.helpful, *content.harmful, *content.neutral)
    active = [b.id for b in playbook.bullets() if b.status == "active"]
    assert [entry.id for entry in content.strategies] == active
    assert sorted(parts, key=lambda entry: active.index(str(entry.id))) == list(content.strategies)


@given(playbooks())
def test_each_category_holds_the_active_bullets_of_its_polarity(playbook: Playbook) -> None:
    content = content_of(Snapshot(playbook), (), NOON)
    for polarity, part in {
        "strategy": content.helpful,
        "anti_pattern": content.harmful,
        "observation": content.neutral,
    }.items():
        wanted = [b for b in playbook.bullets() if (b.polarity, b.status) == (polarity, "active")]
        assert [(entry.id, entry.pattern) for entry in part] == [(b.id, b.content) for b in wanted]


def test_one_of_each_is_in_its_category_and_a_quarantined_one_in_none() -> None:
    made = [
        Add(content="Retry once after a 429"),
        Add(content="Skip the cache", polarity="anti_pattern"),
        Add(content="Pages hold 50 rows", polarity="observation"),
        Add(content="Ask twice", status="quarantined"),
    ]
    delta = Delta(op_id="1", now=NOON, operations=tuple(made))
    playbook = apply(Playbook(), resolve(Snapshot(), delta, Policy()))
    content = content_of(Snapshot(playbook), (), NOON)
    found = [
        [entry.pattern for entry in part] for part in (content.helpful, content.harmful, content.neutral)
    ]
    assert found == [["Retry once after a 429"], ["Skip the cache"], ["Pages hold 50 rows"]]
    assert [entry.category for entry in content.strategies] == ["helpful", "harmful", "neutral"]


@given(entries())
def test_an_entry_that_is_put_reads_back_with_every_field(entry: StrategyEntry) -> None:
    """Also beside the runs that it names: they are part of the confidence that was stated."""
    delta = Delta(op_id="put", now=NOON, operations=(add_of(entry, NOON),))
    playbook = apply(Playbook(), resolve(Snapshot(), delta, Policy()))
    turns = [
        TurnRecord(
            turn_id=name, attempt_id=name, task="x", mode="cot", status="failure", verdict="failure",
            started_at=NOON - timedelta(days=1),
        )
        for name in entry.examples
    ]  # fmt: skip
    (read,) = content_of(Snapshot(playbook), turns, NOON + timedelta(days=30)).strategies
    assert read == entry
