"""A number that a learner asks about is explained in other words than its step."""

from __future__ import annotations

import pytest

from ace_graph.agent.offline_tutor import WorkedSolution, asked_number, explain_number, find_problem, solve


def _solution(question: str) -> WorkedSolution:
    problem = find_problem(question)
    assert problem is not None
    return solve(problem)


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("i dont get it why 12?", "12"),
        ("How did you get 8/12?", "8/12"),
        ("where does the 12 come from?", "12"),
        ("how come it is 5?", "5"),
        ("why?", None),
        ("What is 12 + 1?", None),
    ],
)
def test_the_number_that_is_asked_about_is_found(question: str, number: str | None) -> None:
    assert asked_number(question) == number


@pytest.mark.parametrize(
    ("question", "number", "said"),
    [
        ("2/3 + 1/4", "12", "first number in both times tables: 3, 6, 9, 12 and 4, 8, 12."),
        ("1/30 + 1/4", "60", "4, 8, 12, 16, 20, 24, ... 60"),
        ("2/3 + 1/4", "8", "each piece of 2/3 is cut into 4 smaller ones: 2 × 4 = 8 pieces"),
        ("2/3 + 1/4", "11/12", "8 pieces of the size 1/12, and 3 more make 11 of them"),
        ("3/4 - 1/6", "7", "9 pieces of the size 1/12, and taking away 2 leaves 7 of them"),
        ("12 * 5", "50", "50 comes from here: 12 × 5: 10 × 5 = 50"),
    ],
)
def test_the_origin_of_a_number_is_explained(question: str, number: str, said: str) -> None:
    assert said in (explain_number(_solution(question), number) or "")


def test_a_number_that_is_not_in_the_solution_is_not_explained() -> None:
    assert explain_number(_solution("2/3 + 1/4"), "17") is None
    assert explain_number(_solution("12 * 5"), "5000") is None
