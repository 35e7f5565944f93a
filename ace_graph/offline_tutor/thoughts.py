"""Tree of thoughts by rule: the ways to solve a kind of problem, best first, and a score for each."""

from __future__ import annotations

import re
from itertools import islice

from ace_graph.offline_tutor.advice import ways_to_solve
from ace_graph.offline_tutor.parser import find_problem
from ace_graph.offline_tutor.prompt_reader import Prompt

__all__ = ["expand", "score"]

_COUNT = re.compile(r"exactly (\d+)", re.IGNORECASE)
_NUMBERED = re.compile(r"^[^\S\n]*(\d+)\s*[:.)]", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{4,}")
_MAX_THOUGHTS = 10
_DEFAULT_COUNT = 3

_CHECK = "Check the result in another way, number {number}."
_GOOD_SIGNS = ("common denominator", "common form", "exactly", "greatest common divisor", "same denominator")


def expand(prompt: Prompt) -> str:
    """Return as many thoughts as the prompt asks for, none of which is on the path already."""
    number = _COUNT.search(prompt.instructions)
    count = max(1, min(int(number[1]), _MAX_THOUGHTS)) if number is not None else _DEFAULT_COUNT
    path = prompt.blocks.get("path", "")
    problem = find_problem(prompt.blocks.get("question") or prompt.question)
    checks = (_CHECK.format(number=number) for number in range(1, 100))
    fresh = (thought for thought in (*ways_to_solve(problem), *checks) if thought not in path)
    return "\n".join(f"<thought>{thought}</thought>" for thought in islice(fresh, count))


def score(prompt: Prompt) -> str:
    """Return one line `number: score` for each numbered line of thought, between 0 and 1."""
    question = _words(prompt.blocks.get("question", ""))
    _, *numbered = _NUMBERED.split(prompt.blocks.get("thoughts", ""))
    return "\n".join(
        f"{number}: {_score(thought, question):.2f}"
        for number, thought in zip(numbered[::2], numbered[1::2], strict=True)
    )


def _score(thought: str, question: set[str]) -> float:
    signs = sum(sign in thought for sign in _GOOD_SIGNS)
    shared = len(_words(thought) & question)
    return min(0.95, 0.4 + 0.2 * min(signs, 2) + 0.05 * min(shared, 3))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
