"""Kinds: every bullet has one, a new bullet has the kind asked for, and there are nine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.base import UnknownKind, UsageError
from ace_graph.memory import (
    BULLET_KINDS,
    CATEGORIES,
    KINDS,
    Bullet,
    BulletFilter,
    Delta,
    Playbook,
    Policy,
    Snapshot,
    apply,
    checked_kind,
    fields_of,
    kind_of,
    resolve,
)
from ace_graph.testing.conformance import NOON
from tests.learning.statements.operations import explicit_operations

BULLETS = st.builds(
    Bullet,
    id=st.just("a-00001"),
    section=st.sampled_from(("general", "preferences", "profile")),
    content=st.just("Draw a bar"),
    memory_type=st.sampled_from(("semantic", "episodic", "procedural")),
    polarity=st.sampled_from(tuple(CATEGORIES)),
    consolidated_from=st.sampled_from(((), ("a-00002", "a-00003"))),
)


@given(BULLETS)
def test_every_bullet_has_one_kind_and_is_listed_under_it_alone(bullet: Bullet) -> None:
    listed = [kind for kind in BULLET_KINDS if BulletFilter(kinds=frozenset({kind})).passes(bullet)]
    assert listed == [kind_of(bullet)]


@pytest.mark.parametrize("kind", sorted({*BULLET_KINDS} - {"consolidated"}))
def test_a_bullet_of_the_fields_of_a_kind_is_of_that_kind(kind: str) -> None:
    fields = fields_of(kind)
    made = Bullet(
        id="a-00001",
        section=fields.section or "general",
        content="Draw a bar",
        memory_type=fields.memory_type,
        polarity=fields.polarity,
    )
    assert kind_of(made) == kind


def test_an_unknown_kind_is_refused_by_a_named_error_that_names_the_nine() -> None:
    assert len(KINDS) == 9
    with pytest.raises(UnknownKind, match="unknown kind 'banana': use fact") as refused:
        checked_kind("banana")
    assert all(kind in str(refused.value) for kind in KINDS)


@pytest.mark.parametrize(
    ("kind", "call"),
    [("trajectory", "start_trajectory"), ("reflection", "reflect"), ("consolidated", "playbook merge")],
)
def test_what_is_stored_otherwise_says_how(kind: str, call: str) -> None:
    with pytest.raises(UsageError, match=call):
        fields_of(kind)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("I prefer pictures.", "preference"),
        ("Call me Ada.", "fact"),
        ("I am 10 years old.", "fact"),
        ("Remember that my exam is on Friday.", "fact"),
    ],
)
def test_what_a_learner_says_of_themselves_is_a_preference_or_a_fact(said: str, kind: str) -> None:
    operations = explicit_operations(said, Playbook(), "t1")
    effect = resolve(Snapshot(), Delta(op_id="o", now=NOON, operations=tuple(operations)), Policy())
    assert [kind_of(bullet) for bullet in apply(Playbook(), effect).bullets()] == [kind]
