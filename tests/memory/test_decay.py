"""The decay formula of document 003, over access events."""

from __future__ import annotations

import pytest

from ace_graph.memory import (
    Access,
    Bullet,
    DecayRates,
    MemoryType,
    Strengths,
    base_strength,
    decay_score,
    mean_decay_score,
    memory_score,
    strengths,
)


def bullet(memory_type: MemoryType = "semantic", helpful: int = 0, harmful: int = 0) -> Bullet:
    return Bullet(
        id="a-00001", section="s", content="c", memory_type=memory_type, helpful=helpful, harmful=harmful
    )


def test_the_formula_gives_the_number_of_the_document() -> None:
    score = memory_score(Strengths(semantic=10, episodic=5, procedural=2), (10, 10, 10), DecayRates())
    assert score == pytest.approx(10 * 0.99**10 + 5 * 0.95**10 + 2 * 0.998**10)
    assert score == pytest.approx(13.99786, abs=1e-5)


@pytest.mark.parametrize(
    ("memory_type", "lost"), [("semantic", 0.01), ("episodic", 0.05), ("procedural", 0.002)]
)
def test_one_access_event_costs_the_rate_of_the_memory_type(memory_type: MemoryType, lost: float) -> None:
    access = Access(access_clock=8, stamps={"a-00001": 7})
    assert decay_score(bullet(memory_type), access, DecayRates()) == pytest.approx(1 - lost)


def test_a_partial_override_keeps_the_other_rates() -> None:
    rates = DecayRates(episodic=0.08, semantic=0.005)
    assert (rates.semantic, rates.episodic, rates.procedural) == (0.005, 0.08, 0.002)


def test_rates_are_clamped() -> None:
    rates = DecayRates(semantic=5, episodic=-1)
    assert (rates.semantic, rates.episodic) == (1.0, 0.0)
    access = Access(access_clock=3, stamps={"a-00001": 0})
    assert decay_score(bullet("semantic"), access, rates) == 0
    assert decay_score(bullet("episodic"), access, rates) == 1


def test_a_bullet_just_used_or_never_used_has_its_full_strength() -> None:
    assert decay_score(bullet(helpful=3), Access(access_clock=5, stamps={"a-00001": 5}), DecayRates()) == 4
    assert decay_score(bullet(helpful=3), Access(access_clock=5), DecayRates()) == 4


def test_only_the_strength_of_the_own_memory_type_is_above_zero() -> None:
    assert strengths(bullet("episodic", helpful=2)) == Strengths(episodic=3)
    score = memory_score(strengths(bullet("episodic", helpful=2)), (9, 4, 9), DecayRates())
    assert score == decay_score(
        bullet("episodic", helpful=2), Access(access_clock=4, stamps={"a-00001": 0}), DecayRates()
    )


def test_a_core_bullet_does_not_fade() -> None:
    access = Access(access_clock=50, stamps={"a-00001": 0})
    assert decay_score(bullet("episodic"), access, DecayRates()) < 0.1
    for core in ({"pinned": True}, {"section": "preferences"}):
        kept = bullet("episodic").model_copy(update=core)
        assert decay_score(kept, access, DecayRates()) == 1


@pytest.mark.parametrize(
    ("helpful", "harmful", "strength"), [(0, 0, 1), (4, 0, 5), (4, 3, 2), (0, 1, 0), (2, 50, 0)]
)
def test_harm_lowers_the_base_strength_down_to_nothing(helpful: int, harmful: int, strength: float) -> None:
    assert base_strength(bullet(helpful=helpful, harmful=harmful)) == strength


def test_the_mean_is_that_of_the_formula() -> None:
    access = Access(access_clock=2, stamps={"a-00001": 0})
    bullets = [bullet("semantic"), bullet("episodic", helpful=3)]
    expected = (0.99**2 + 4 * 0.95**2) / 2
    assert mean_decay_score(bullets, access, DecayRates()) == pytest.approx(expected)
    assert mean_decay_score([], access, DecayRates()) == 0
