"""What the tutor teaches beside the steps: ideas, cautions against a known mistake, advice that it follows.

The texts are in data/teaching.toml, which says how it is written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from pydantic import BaseModel

from ace_graph.agent.offline_tutor.prompt_reader import Item
from ace_graph.agent.offline_tutor.solver import Feature, Kind, WorkedSolution, over_common_denominator
from ace_graph.base.tables import groups, read_toml
from ace_graph.memory.numbers import Form

_AGAINST = re.compile(r"\b(?:never|don'?t|do not|avoid|not|without|instead of)\b", re.IGNORECASE)
_ASKS = re.compile(r"\b(?:how|what|why|explain|define|meaning|tell me about|show me)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")


class _Idea(BaseModel):
    about: str
    text: str


class _Caution(_Idea):
    kinds: tuple[str, ...]
    pair: str = ""
    coprime: str = ""


class Voice(BaseModel):
    """A greeting with a place for a name, what to call a learner without one, and a farewell."""

    opening: str
    friend: str
    closing: str


class _Teaching(BaseModel):
    idea: tuple[_Idea, ...]
    caution: tuple[_Caution, ...]
    advice: dict[Feature, str]
    methods: dict[Kind, str]
    thoughts: dict[str, tuple[str, ...]]
    patterns: dict[str, str]
    remarks: dict[str, str]
    replies: dict[str, str]
    voices: dict[str, Voice]
    languages: frozenset[str]
    forms: dict[Form, str]


@cache
def teaching() -> _Teaching:
    """Return the texts; the first call reads them from the file."""
    return _Teaching.model_validate(read_toml("ace_graph.agent.offline_tutor", "teaching.toml"))


def reply_text(name: str) -> str:
    """Return a reply of small talk. Raises KeyError for a name that the file does not have."""
    replies = teaching().replies
    return replies[name].replace("{cannot}", replies["cannot"]).replace("{who}", replies["who"])


def explain_idea(question: str) -> str | None:
    """Return the explanation of an idea that `question` asks about, or None."""
    if not _ASKS.search(question):
        return None
    return next((idea.text for idea in teaching().idea if _is_about(question, idea.about)), None)


def followed_advice(items: Sequence[Item], solution: WorkedSolution) -> list[str]:
    """Return the ids of the items whose advice the solution follows."""
    advice = " | ".join(about for feature, about in teaching().advice.items() if feature in solution.features)
    known = ((item.id, item.text) for item in items if item.id is not None)
    return [id for id, text in known if _is_about(text, advice) and not _AGAINST.search(text)]


def caution_for(item: Item, solution: WorkedSolution) -> str | None:
    """Return what to tell a learner with the misconception in `item`, None when it is not about this."""
    for caution in teaching().caution:
        if solution.kind.startswith(caution.kinds) and _is_about(item.text, caution.about):
            if not caution.pair or len(solution.numbers) != 2:
                return caution.text
            left, right = solution.numbers
            smallest, product = over_common_denominator(left, right)[0], left.denominator * right.denominator
            wrong = f"{left.numerator + right.numerator}/{left.denominator + right.denominator}"
            text = caution.coprime if caution.coprime and smallest == product else caution.pair
            return text.format(left=left, right=right, wrong=wrong, smallest=smallest, product=product)
    return None


def _is_about(text: str, about: str) -> bool:
    """Whether a text holds all words of one of the groups, or longer words that begin with them."""
    words = set(_WORD.findall(text.casefold()))
    return any(
        all(
            stem in words or (len(stem) > 2 and any(word.startswith(stem) for word in words))
            for stem in group
        )
        for group in groups(about)
    )
