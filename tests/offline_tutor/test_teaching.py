"""The teaching texts of the tutor name kinds and problems that there are."""

from __future__ import annotations

from types import NoneType
from typing import get_args

from ace_graph.offline_tutor.advice import teaching
from ace_graph.offline_tutor.parser import Problem
from ace_graph.offline_tutor.solver import Kind


def test_every_caution_is_about_a_kind_of_solution_and_has_a_text() -> None:
    kinds: tuple[str, ...] = get_args(Kind)
    for caution in teaching().caution:
        assert all(any(kind.startswith(named) for kind in kinds) for named in caution.kinds), caution
        assert caution.kinds
        assert bool(caution.text) != bool(caution.computed), caution


def test_every_problem_has_ways_to_solve_it_once() -> None:
    named = [name for entry in teaching().thoughts for name in entry.problems]
    assert sorted(named) == sorted(each.__name__ for each in (*get_args(Problem), NoneType))
