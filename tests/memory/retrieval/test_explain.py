"""Why a bullet is shown and why another one is not: every bullet has one reason, and it is the true one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.memory import Access, Bullet, Playbook, Policy, QuestionTerms, after_questions, asked_terms
from ace_graph.memory.retrieval import (
    BelowCutoff,
    GateShut,
    NoRoom,
    NoSharedWord,
    NotEligible,
    RivalKept,
    Superseded,
    as_json,
    in_words,
    is_shown,
)
from tests.memory.retrieval.queries import ADD, NOW, THEN, ask, bullet, core, ids, why
from tests.memory.retrieval.test_retrieval_laws import CONTENTS
from tests.plugins.sizes import HEAVY

_WORDY = st.lists(CONTENTS, min_size=1, max_size=3).map(". ".join)
_BULLETS = st.lists(
    st.builds(
        bullet,
        st.integers(0, 40).map(lambda number: f"str-{number:05d}"),
        CONTENTS,
        helpful=st.integers(0, 2),
        harmful=st.integers(0, 2),
        setbacks=st.integers(0, 2),
        pinned=st.sampled_from([False, False, False, True]),
        status=st.sampled_from(["active", "active", "active", "quarantined"]),
        ttl_days=st.sampled_from([None, None, 7]),
        section=st.sampled_from(["strategies", "strategies", "profile"]),
        memory_type=st.sampled_from(["semantic", "episodic"]),
        topic=st.sampled_from([None, "fraction_addition"]),
        slot=st.sampled_from([None, None, "name"]),
        source_words=st.sampled_from([(), ("pictures",), ("file", "read")]),
        turn_id=st.sampled_from([None, "t1", "t2", "t3"]),
        conversation_id=st.sampled_from(["c", "d"]),
        updated_at=st.integers(0, 5).map(lambda day: THEN + timedelta(days=day)),
        examples=st.sampled_from([(), ("t1",)]),
    ),
    max_size=25,
    unique_by=lambda b: b.id,
)
_OPTIONS = st.fixed_dictionaries(
    {
        "budget_tokens": st.sampled_from([0, 100, 200, 2_000]),
        "max_bullets": st.sampled_from([None, None, 0, 2]),
        "topic": st.sampled_from([None, "fraction_addition"]),
        "memory_types": st.sampled_from([None, None, ("semantic",)]),
        "proven_only": st.booleans(),
        "semantic": st.none()
        | st.dictionaries(
            st.integers(0, 40).map(lambda number: f"str-{number:05d}"), st.floats(0, 1), max_size=6
        ),
        "policy": st.sampled_from([Policy(), Policy(prune_threshold=0.9)]),
    }
)


@given(_BULLETS, _BULLETS, _WORDY, _OPTIONS)
@settings(max_examples=150 if HEAVY else 30)
def test_what_is_said_to_be_shown_is_what_is_retrieved(
    bullets: list[Bullet], given_ones: list[Bullet], question: str, options: dict[str, Any]
) -> None:
    base = Playbook.of(each.model_copy(update={"id": f"base:{each.id}"}) for each in given_ones)
    found = ask(bullets, question, base=base, **options)
    reasons = why(bullets, question, base=base, **options)
    shown = [key for key, reason in reasons.items() if is_shown(reason)]
    assert shown == [*core(found), *ids(found)]
    assert list(reasons)[: len(shown)] == shown
    assert reasons.keys() == {each.id for each in bullets} | base.entries.keys()
    for reason in reasons.values():
        assert in_words(reason)
        assert as_json(reason)["kind"] == reason.kind


@pytest.mark.parametrize(
    ("fields", "options", "expected"),
    [
        ({"status": "quarantined"}, {}, "quarantined"),
        ({"ttl_days": 1}, {}, "expired"),
        ({"harmful": 3}, {}, "harmful"),
        ({"helpful": 3, "harmful": 2, "setbacks": 2}, {}, "failing"),
        ({"examples": ("t1",)}, {"proven_only": True}, "unproven"),
        ({"memory_type": "episodic"}, {"memory_types": ["semantic"]}, "type"),
        ({}, {"policy": Policy(prune_threshold=2.0)}, "weak"),
    ],
)
def test_what_is_not_eligible_says_why(
    fields: dict[str, Any], options: dict[str, Any], expected: str
) -> None:
    assert why([bullet("a", **fields)], ADD, **options) == {"a": NotEligible(expected)}  # type: ignore[arg-type]  # pyright: ignore  # a literal


def test_a_shut_gate_says_how_much_is_covered_and_needed_and_which_words_say_little() -> None:
    lesson = bullet("a", "It takes time to say good morning")
    question = "Which composer had a good time in Vienna with a violin quartet?"
    shut = why([lesson, bullet("b", "The cellar is damp")], question)
    assert isinstance(shut["a"], GateShut)
    assert 0 < shut["a"].covered < shut["a"].needed < 1
    assert set(shut["a"].everyday) == {"good", "time"}
    assert isinstance(shut["b"], NoSharedWord)


def test_words_that_a_learner_asks_often_are_named() -> None:
    planks = [bullet(f"o-{n}", f"Varnish the oak plank number{n}") for n in range(30)]
    asked = [f"My boss again: what about the plank number {n}?" for n in range(40)]
    access = Access(asked=after_questions(QuestionTerms(), map(asked_terms, asked)))
    question = "My boss again: which lute, cittern, theorbo and zither suit a madrigal?"
    lessons = [bullet("boss", "The boss wants the invoice by Friday"), *planks]
    shut = why(lessons, question, access=access)["boss"]
    assert isinstance(shut, GateShut)
    assert shut.often_asked == ("boss",)


def test_lines_cutoff_and_budget_are_told_apart() -> None:
    things, places = ("rake", "spade", "hose", "ladder"), ("shed", "cellar", "garage")
    garden = [
        bullet(f"{a}-{b}", f"The {a} in the {b} is kept for the garden") for a in things for b in places
    ]
    kinds = [reason.kind for reason in why(garden, "What is kept in the garden?").values()]
    assert kinds == ["retrieved"] * 10 + ["beyond the lines"] * 2
    two = why(garden, "What is kept in the garden?", max_bullets=2)
    assert [reason for reason in two.values() if isinstance(reason, NoRoom)] == [NoRoom("lines")] * 8
    short = why(garden, "What is kept in the garden?", budget_tokens=120)
    assert NoRoom("budget") in short.values()
    far = why(garden, "Where in the garden is the ladder kept, in the cellar?")["rake-shed"]
    assert isinstance(far, BelowCutoff)
    assert far.score < far.least


def test_a_rival_and_a_newer_lesson_are_named() -> None:
    six = bullet("six", "The smallest common denominator of 2 and 3 is 6", helpful=2)
    rivals = why([six, bullet("five", "The smallest common denominator of 2 and 3 is 5")], six.content)
    assert rivals["five"] == RivalKept("six")
    failed = bullet("old", "Round the invoices of the shop up to whole euros", helpful=2, setbacks=1)
    newer = bullet("new", "Round the invoices of the shop down to cents", updated_at=NOW, helpful=1)
    found = why([failed, newer], "How are the invoices of the shop rounded?")
    assert found["old"] in (Superseded("new"), RivalKept("new"))
