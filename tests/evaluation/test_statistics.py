"""Intervals and tests against published values, brute force, and their promised coverage."""

from __future__ import annotations

from itertools import product
from math import comb, isclose
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory.playbook import Interval
from ace_graph.training import mcnemar, paired, paired_gain, share_interval, wilson


def near(found: Interval, low: float, high: float) -> bool:
    return isclose(found.low, low, abs_tol=6e-4) and isclose(found.high, high, abs_tol=6e-4)


@pytest.mark.parametrize(
    ("right", "total", "low", "high"),
    # Newcombe 1998 (Statistics in Medicine 17: 857-872), table I, score method without correction.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_of_a_share_is_wilsons(right: int, total: int, low: float, high: float) -> None:
    assert near(wilson(right, total), low, high)
    mirrored = wilson(total - right, total)
    assert near(mirrored, 1 - high, 1 - low)


def test_nothing_observed_says_nothing() -> None:
    assert wilson(0, 0) == share_interval([]) == Interval(0.0, 1.0)
    assert paired([]).interval == Interval(-1.0, 1.0)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_its_share_and_lies_in_0_to_1(counts: tuple[int, int]) -> None:
    right, total = counts
    low, high = wilson(right, total)
    assert 0 <= low <= right / total <= high <= 1
    assert share_interval([(1, 1)] * right + [(0, 1)] * (total - right)) == (low, high)


def test_units_of_one_sample_that_go_together_count_as_one() -> None:
    together = share_interval([(4, 4)] * 30 + [(0, 4)] * 30)
    assert near(together, *wilson(29.5, 59))
    rng = Random(1)
    apart = share_interval([(sum(rng.random() < 0.5 for _ in range(4)), 4) for _ in range(60)])
    assert apart.high - apart.low < 0.62 * (together.high - together.low)
    everything = share_interval([(4, 4)] * 10)
    assert everything == wilson(10, 10), "as sure as the samples, not as their units"


def test_the_interval_over_units_covers_what_it_promises() -> None:
    rng, hits, runs = Random(7), 0, 600
    for _ in range(runs):
        skills = [rng.betavariate(2, 1) for _ in range(80)]  # a sample is easy or hard as a whole: mean 2/3
        found = share_interval([(sum(rng.random() < skill for _ in range(4)), 4) for skill in skills])
        hits += found.low <= 2 / 3 <= found.high
    assert 0.93 <= hits / runs <= 0.97


def test_mcnemar_is_the_exact_binomial_test() -> None:
    for first, second in product(range(12), repeat=2):
        n = first + second
        tail = sum(comb(n, k) for k in range(min(first, second) + 1)) / 2**n
        assert mcnemar(first, second) == pytest.approx(min(1.0, 2 * tail))
    assert mcnemar(5, 15) == pytest.approx(0.04139, abs=1e-5)
    assert 0 <= mcnemar(40_000, 41_000) < 0.001


def test_the_paired_comparison_counts_pairs() -> None:
    found = paired([(True, True)] * 36 + [(True, False)] * 12 + [(False, True)] * 2)
    assert found[:4] == (36, 12, 2, 0)
    assert found.difference == pytest.approx(0.2)
    # Newcombe 1998 (Statistics in Medicine 17: 2635-2650), table III, method 10 for 36, 12, 2, 0.
    assert near(found.interval, 0.0569, 0.3404)
    assert found.p_value == mcnemar(12, 2)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_swapping_the_two_turns_the_comparison_round(pairs: list[tuple[bool, bool]]) -> None:
    there, back = paired(pairs), paired([(b, a) for a, b in pairs])
    assert there.difference == pytest.approx(-back.difference)
    assert there.interval.low == pytest.approx(-back.interval.high)
    assert there.p_value == back.p_value
    assert -1 <= there.interval.low <= there.difference <= there.interval.high <= 1


@pytest.mark.parametrize("together", [0.0, 0.5, 0.9])
def test_the_paired_interval_covers_what_it_promises(together: float) -> None:
    rng, hits, runs = Random(3), 0, 800
    for _ in range(runs):
        pairs = list[tuple[bool, bool]]()
        for _ in range(60):
            draw = rng.random()
            other = draw if rng.random() < together else rng.random()
            pairs.append((draw < 0.7, other < 0.5))
        found = paired(pairs).interval
        hits += found.low <= 0.2 <= found.high
    assert 0.93 <= hits / runs <= 0.985


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_a_gain_of_single_answers_is_the_paired_difference(pairs: list[tuple[bool, bool]]) -> None:
    whole = paired(pairs)
    gain = paired_gain((int(first), int(second), 1) for first, second in pairs)
    assert gain == (pytest.approx(whole.difference), whole.interval)


def test_the_interval_of_a_gain_in_units_covers_what_it_promises() -> None:
    rng, hits, runs = Random(11), 0, 600
    for _ in range(runs):
        found = list[tuple[int, int, int]]()
        for _ in range(80):
            skill = rng.betavariate(2, 2)  # mean 1/2; the first run is right .2 more often
            chances = [(rng.random() < 0.2 + 0.8 * skill, rng.random() < 0.8 * skill) for _ in range(4)]
            first, second = (sum(column) for column in zip(*chances, strict=True))
            found.append((first, second, 4))
        gain = paired_gain(found)
        hits += gain.interval.low <= 0.2 <= gain.interval.high
    assert 0.93 <= hits / runs <= 0.97


def test_a_gain_in_units_is_surer_where_the_samples_agree() -> None:
    alike = paired_gain([(3, 1, 4), (2, 1, 4)] * 20)
    apart = paired_gain([(4, 0, 4), (1, 2, 4)] * 20)
    assert alike.value == apart.value == pytest.approx(3 / 8)
    assert alike.interval.high - alike.interval.low < apart.interval.high - apart.interval.low
    same = paired_gain([(2, 2, 4)] * 20)
    assert same.value == 0
    assert same.interval.low < 0 < same.interval.high, "no sample differed, and twenty are few"
    assert paired_gain([]) == (0, Interval(-1.0, 1.0))
