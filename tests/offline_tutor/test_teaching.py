"""The teaching texts of the tutor name kinds and problems that there are."""

from __future__ import annotations

from types import NoneType
from typing import get_args

from ace_graph.agent.offline_tutor import Kind, Problem
from ace_graph.agent.offline_tutor.teaching import teaching


def test_every_caution_is_about_a_kind_of_solution_and_has_a_text() -> None:
    kinds: tuple[str, ...] = get_args(Kind)
    for caution in teaching().caution:
        assert all(any(kind.startswith(named) for kind in kinds) for named in caution.kinds), caution
        assert caution.kinds
        assert caution.text, caution


def test_every_problem_has_thoughts() -> None:
    assert teaching().thoughts.keys() == {each.__name__ for each in (*get_args(Problem), NoneType)}
    assert all(teaching().thoughts.values())
