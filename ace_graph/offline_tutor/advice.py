"""What the tutor teaches beside the steps: ideas, cautions against a known mistake, methods, ways to think.

The texts are in data/teaching.toml, which says how it is written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from pydantic import BaseModel

from ace_graph.memory.tables import groups, read_toml
from ace_graph.offline_tutor.explain import Feature, over_common_denominator
from ace_graph.offline_tutor.parser import Problem
from ace_graph.offline_tutor.prompt_reader import Item
from ace_graph.offline_tutor.solver import Kind, WorkedSolution

__all__ = ["caution_for", "explain_idea", "followed_advice", "method_for", "teaching", "ways_to_solve"]

_AGAINST = re.compile(r"\b(?:never|don'?t|do not|avoid|not|without|instead of)\b", re.IGNORECASE)
_ASKS = re.compile(r"\b(?:how|what|why|explain|define|meaning|tell me about|show me)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_WHOLE_WORD_CHARS = 2


class _Entry(BaseModel):
    about: str
    text: str = ""
    kinds: tuple[str, ...] = ()
    computed: str = ""


class _Ways(BaseModel):
    problems: tuple[str, ...]
    ways: tuple[str, ...]


class _Teaching(BaseModel):
    idea: tuple[_Entry, ...]
    caution: tuple[_Entry, ...]
    advice: dict[Feature, str]
    methods: dict[Kind, str]
    thoughts: tuple[_Ways, ...]


@cache
def teaching() -> _Teaching:
    """Return the texts; the first call reads them from the file."""
    return _Teaching.model_validate(read_toml("ace_graph.offline_tutor", "teaching.toml"))


def explain_idea(question: str) -> str | None:
    """Return the explanation of an idea that `question` asks about, or None."""
    if not _ASKS.search(question):
        return None
    return next((idea.text for idea in teaching().idea if _mentions(question, idea.about)), None)


def method_for(kind: Kind) -> str | None:
    """Return how problems of that kind are solved, in a sentence worth remembering."""
    return teaching().methods.get(kind)


def ways_to_solve(problem: Problem | None) -> tuple[str, ...]:
    """Return first thoughts about a problem, the best first."""
    name = type(problem).__name__
    return next(entry.ways for entry in teaching().thoughts if name in entry.problems)


def followed_advice(items: Sequence[Item], solution: WorkedSolution) -> list[str]:
    """Return the ids of the items whose advice the solution follows."""
    advice = [about for feature, about in teaching().advice.items() if feature in solution.features]
    return [
        item.id
        for item in items
        if item.id is not None
        and not _AGAINST.search(item.text)
        and any(_mentions(item.text, about) for about in advice)
    ]


def caution_for(item: Item, solution: WorkedSolution) -> str | None:
    """Return what to tell a learner with the misconception in `item`, None when it is not about this."""
    for entry in teaching().caution:
        if solution.kind.startswith(entry.kinds) and _mentions(item.text, entry.about):
            match entry.computed:
                case "adding denominators":
                    text = _caution_against_adding(solution)
                case "smallest denominator":
                    text = _caution_smallest_denominator(solution)
                case _:
                    text = entry.text
            if text is not None:
                return text
    return None


def _mentions(text: str, about: str) -> bool:
    """Whether a text holds all words of one of the groups, or longer words that begin with them."""
    words = set(_WORD.findall(text.casefold()))
    return any(all(_begins_one(stem, words) for stem in group) for group in groups(about))


def _begins_one(stem: str, words: set[str]) -> bool:
    return stem in words or (len(stem) > _WHOLE_WORD_CHARS and any(word.startswith(stem) for word in words))


def _caution_against_adding(solution: WorkedSolution) -> str | None:
    if len(solution.numbers) != 2:
        return "Careful: denominators are never added."
    left, right = solution.numbers
    if left.denominator == right.denominator == 1:
        return None
    if solution.symbol == "-":
        return "Careful: denominators are never subtracted; only the tops are."
    wrong = f"{left.numerator + right.numerator}/{left.denominator + right.denominator}"
    return f"Careful: {left} + {right} is not {wrong}, because denominators are never added."


def _caution_smallest_denominator(solution: WorkedSolution) -> str:
    if len(solution.numbers) != 2:
        return "Careful: take the smallest common denominator."
    left, right = solution.numbers
    smallest, product = over_common_denominator(left, right)[0], left.denominator * right.denominator
    if product == smallest:
        return f"Careful: {smallest} is the smallest common denominator here; no larger one is needed."
    return f"Careful: take the smallest common denominator, {smallest}, not the product, {product}."
