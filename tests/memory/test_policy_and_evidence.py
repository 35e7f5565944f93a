"""The limits of a store, the verdict of several judgements, and the small functions that both rest on."""

from __future__ import annotations

import sys
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory import (
    EVIDENCE_SOURCES,
    DecayRates,
    Evidence,
    EvidenceSource,
    Policy,
    Verdict,
    answer_hash,
    tag_of,
    verdict_of,
    wilson_interval,
)
from ace_graph.testing.conformance import NOON

VERDICTS: tuple[Verdict, ...] = ("success", "failure", "partial", "unknown")


def test_named_playbooks_keep_every_effect_and_consolidate_on_request() -> None:
    policy = Policy(history_kept=3, consolidate_above=5, max_bullets=7)
    named = policy.of_playbooks()
    assert named.effects_kept(None, NOON) == sys.maxsize
    assert named.effects_kept(NOON, NOON) == sys.maxsize
    assert named.consolidate_above is None
    assert named.model_copy(update={"history_kept": 3, "consolidate_above": 5}) == policy


def test_effects_are_kept_ten_times_as_many_while_a_consolidation_can_be_undone() -> None:
    policy = Policy(history_kept=3, undo_days=2)
    assert policy.effects_kept(None, NOON) == 3
    assert policy.effects_kept(NOON, NOON + timedelta(days=2)) == 30
    assert policy.effects_kept(NOON, NOON + timedelta(days=2, seconds=1)) == 3


def test_a_rate_of_decay_is_between_none_and_all() -> None:
    rates = DecayRates(semantic=-1, episodic=0.5, procedural=7)
    assert (rates.semantic, rates.episodic, rates.procedural) == (0.0, 0.5, 1.0)


@given(
    st.lists(st.tuples(st.sampled_from((*EVIDENCE_SOURCES, "model")), st.sampled_from(VERDICTS)), max_size=8)
)
def test_the_last_known_judgement_of_the_strongest_source_is_the_verdict(
    judged: list[tuple[EvidenceSource, Verdict]],
) -> None:
    expected: Verdict = "unknown"
    for source in reversed(EVIDENCE_SOURCES):
        for by, verdict in judged:
            if by == source and verdict != "unknown":
                expected = verdict
    assert verdict_of(Evidence(source=source, verdict=verdict) for source, verdict in judged) == expected


def test_every_verdict_but_unknown_raises_a_counter() -> None:
    assert list(map(tag_of, VERDICTS)) == ["helpful", "harmful", "neutral", None]


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [
        (0, 0, 0.0, 1.0), (0, -1, 0.0, 1.0), (1, 1, 0.2065, 1.0), (0, 1, 0.0, 0.7935),
        (0.5, 1, 0.0546, 0.9454), (0.5, 0.5, 0.1152, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662),
    ],
)  # fmt: skip
def test_the_interval_is_wilsons(successes: float, total: float, low: float, high: float) -> None:
    found = wilson_interval(successes, total)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_an_answer_is_known_again_whatever_its_spaces_and_characters() -> None:
    assert answer_hash("It is\n 5/6 ") == answer_hash("It is 5/6") != answer_hash("It is 5/7")
    assert answer_hash("half \ud800") == answer_hash("half ?"), "a lone surrogate can't be stored"
    assert len(answer_hash("x")) == 16
