"""Tree of thoughts by rule: the ways to solve a kind of problem, best first, and a score for each."""

from __future__ import annotations

import re

from ace_graph.offline_tutor.parser import Compare, Compute, Convert, Factor, Problem, Simplify, find_problem
from ace_graph.offline_tutor.prompt_reader import Prompt, block
from ace_graph.offline_tutor.small_talk import WHO_I_AM

__all__ = ["expand", "score"]

_COUNT = re.compile(r"exactly (\d+)", re.IGNORECASE)
_NUMBERED = re.compile(r"^[^\S\n]*(\d+)\s*[:.)]", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{4,}")
_MAX_THOUGHTS = 10
_DEFAULT_COUNT = 3

_WAYS: dict[type[Problem] | None, tuple[str, ...]] = {
    Compute: (
        "Give the numbers one common form, such as the smallest common denominator, and calculate exactly.",
        "Draw the numbers as bars of equal cells and count the cells.",
        "Estimate the size of the result first, so that a slip shows.",
        "Work it out backwards from the result as a check.",
    ),
    Compare: (
        "Give both numbers the same denominator and compare the tops.",
        "Draw both as bars of equal length.",
        "Compare each with one half.",
    ),
    Convert: (
        "Divide the top and the bottom by their greatest common divisor.",
        "Divide the top by the bottom and look at the remainder.",
        "Write the number in hundredths.",
    ),
    None: (
        f"Say plainly what is possible: {WHO_I_AM}",
        "Look in the playbook for something that answers the question, and quote it.",
        "Ask for the numbers, so that there is something to calculate.",
    ),
}
_SAME_WAYS: dict[type[Problem] | None, type[Problem]] = {Factor: Compute, Simplify: Convert}
_CHECK = "Check the result in another way, number {number}."
_GOOD_SIGNS = ("common denominator", "common form", "exactly", "greatest common divisor", "same denominator")


def expand(prompt: Prompt) -> str:
    """Return as many thoughts as the prompt asks for, none of which is on the path already."""
    asked = _COUNT.search(prompt.system)
    count = max(1, min(int(asked[1]), _MAX_THOUGHTS)) if asked is not None else _DEFAULT_COUNT
    path = block(prompt.system, "path")
    question = block(prompt.system, "question") or prompt.question
    fresh = [thought for thought in _ways(find_problem(question)) if thought not in path]
    extra = (_CHECK.format(number=number) for number in range(1, 100))
    more = [thought for thought in extra if thought not in path]
    return "\n".join(f"<thought>{thought}</thought>" for thought in (*fresh, *more)[:count])


def score(prompt: Prompt) -> str:
    """Return one line `number: score` for each numbered line of thought, between 0 and 1."""
    thoughts = block(prompt.everything, "thoughts")
    question = _words(block(prompt.everything, "question"))
    starts = list(_NUMBERED.finditer(thoughts))
    ends = [*(start.start() for start in starts[1:]), len(thoughts)][: len(starts)]
    scored = (
        f"{start[1]}: {_score(thoughts[start.end() : end], question):.2f}"
        for start, end in zip(starts, ends, strict=True)
    )
    return "\n".join(scored)


def _score(thought: str, question: set[str]) -> float:
    signs = sum(sign in thought for sign in _GOOD_SIGNS)
    shared = len(_words(thought) & question)
    return min(0.95, 0.4 + 0.2 * min(signs, 2) + 0.05 * min(shared, 3))


def _ways(problem: Problem | None) -> tuple[str, ...]:
    kind = type(problem) if problem is not None else None
    return _WAYS[_SAME_WAYS.get(kind, kind)]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
