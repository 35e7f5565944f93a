"""What the tutor teaches beside the steps: explanations of ideas, cautions against a known mistake.

`followed_advice` says which advice of the playbook a solution follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import lcm

from ace_graph.offline_tutor.explain import Feature
from ace_graph.offline_tutor.prompt_reader import Item
from ace_graph.offline_tutor.solver import WorkedSolution

__all__ = ["caution_for", "explain_idea", "followed_advice"]

_Caution = str | Callable[[WorkedSolution], str | None]

_ADVICE_WORDS: dict[Feature, str] = {
    "common_denominator": r"common denominator|\blcd\b|\blcm\b|common multiple|same denominator",
    "tops_only": r"add (?:only )?the (?:numerators|tops)|(?:numerators|tops) only",
    "simplify": r"simplif|lowest terms|simplest form|\breduce",
    "reciprocal": r"reciprocal|\bflip|\binvert|upside",
    "order": r"order of operations|pemdas|bodmas|brackets? first|parenthes\w+ first|\bmultiply before",
    "percent": r"percent\w* (?:is|are|means?|as)|out of (?:a |one )?hundred|out of 100|per hundred",
    "splitting": r"\bsplit|break\w* (?:it |them |numbers )?(?:up|down|apart|into)|tens and ones",
    "compare": r"\bcompar",
}
_ADVICE = {feature: re.compile(words, re.IGNORECASE) for feature, words in _ADVICE_WORDS.items()}
_AGAINST = re.compile(r"\b(?:never|don'?t|do not|avoid|not|without|instead of)\b", re.IGNORECASE)


def caution_for(item: Item, solution: WorkedSolution) -> str | None:
    """Return what to tell a learner with the misconception in `item`, None when it is not about this."""
    for pattern, kinds, caution in _CAUTIONS:
        if solution.kind in kinds and pattern.search(item.text):
            text = caution if isinstance(caution, str) else caution(solution)
            if text is not None:
                return text
    return None


def followed_advice(items: Sequence[Item], solution: WorkedSolution) -> list[str]:
    """Return the ids of the items whose advice the solution follows."""
    return [
        item.id
        for item in items
        if item.id is not None
        and not _AGAINST.search(item.text)
        and any(
            feature in solution.features and advice.search(item.text) for feature, advice in _ADVICE.items()
        )
    ]


def _caution_against_adding(solution: WorkedSolution) -> str | None:
    if len(solution.numbers) != 2:
        return "Careful: denominators are never added."
    left, right = solution.numbers
    if left.denominator == right.denominator == 1:
        return None
    sign = 1 if solution.symbol == "+" else -1
    top, bottom = left.numerator + sign * right.numerator, left.denominator + sign * right.denominator
    if sign < 0:
        return "Careful: denominators are never subtracted; only the tops are."
    return f"Careful: {left} + {right} is not {top}/{bottom}, because denominators are never added."


def _caution_smallest_denominator(solution: WorkedSolution) -> str | None:
    denominators = [number.denominator for number in solution.numbers]
    if len(denominators) != 2:
        return "Careful: take the smallest common denominator."
    product, smallest = denominators[0] * denominators[1], lcm(*denominators)
    if product == smallest:
        return f"Careful: {smallest} is the smallest common denominator here; no larger one is needed."
    return f"Careful: take the smallest common denominator, {smallest}, not the product, {product}."


_WHAT_THEY_ARE = (
    "Remember: the numerator is the top and counts the parts, the denominator is the bottom and says how big "
    "the parts are."
)
_SUMS = ("fraction_addition", "fraction_subtraction")
_PRODUCTS = ("fraction_multiplication", "fraction_division")
_FRACTIONS = (*_SUMS, *_PRODUCTS, "fraction_comparison", "fraction_simplification")
_PLAIN = ("arithmetic", "decimals")

_ADDS_BOTTOMS = r"\badd\w* .*(?:denominator|bottom)|(?:denominator|bottom)s? .*\badd"
_TOP_BOTTOM = r"(?:numerator|top).*(?:denominator|bottom)|(?:denominator|bottom).*(?:numerator|top)"
_TOO_BIG = r"common (?:denominator|multiple)|\blc[dm]\b|denominator.*\b(?:big|large)"
_ORDER = r"order of operations|bracket|parenthes|pemdas|bodmas"

_RULES: tuple[tuple[str, tuple[str, ...], _Caution], ...] = (
    (_ADDS_BOTTOMS, _SUMS, _caution_against_adding),
    (_TOP_BOTTOM, _FRACTIONS, _WHAT_THEY_ARE),
    (_TOO_BIG, _SUMS, _caution_smallest_denominator),
    (
        r"\bflip|reciprocal|invert|divi",
        ("fraction_division",),
        "Careful: flip the second fraction only, never the first.",
    ),
    (
        r"bigger|larger|smaller|compar",
        ("fraction_comparison",),
        "Careful: a larger denominator means smaller parts.",
    ),
    (
        r"simplif|lowest terms|reduc",
        ("fraction_simplification",),
        "Careful: divide the top and the bottom by the same number.",
    ),
    (r"percent", ("percentages",), "Careful: percent means out of a hundred."),
    (r"decimal", ("decimals",), "Careful: keep the decimal points under each other."),
    (_ORDER, _PLAIN, "Careful: brackets first, then powers, then × and ÷, then + and -."),
    (r"\bnegative|minus sign", _PLAIN, "Careful: taking away a negative number adds."),
    (r"fraction", _FRACTIONS, "Careful: this is where it often goes wrong, so step by step."),
)
_CAUTIONS = tuple((re.compile(words, re.IGNORECASE), kinds, caution) for words, kinds, caution in _RULES)


_ASKS = re.compile(r"\b(?:how|what|why|explain|define|meaning|tell me about|show me)\b", re.IGNORECASE)
_IDEAS = {
    r"\badd(?:ing)?\b.*\bfractions?\b": (
        "To add fractions, give both the smallest common denominator, then add the tops only: "
        "1/2 + 1/3 = 3/6 + 2/6 = 5/6."
    ),
    r"\bsubtract(?:ing)?\b.*\bfractions?\b": (
        "To subtract fractions, give both the smallest common denominator, then subtract the tops only: "
        "3/4 - 1/2 = 3/4 - 2/4 = 1/4."
    ),
    r"\bmultiply(?:ing)?\b.*\bfractions?\b": (
        "To multiply fractions, multiply the tops and multiply the bottoms: 2/3 × 3/5 = 6/15 = 2/5."
    ),
    r"\bdivid(?:e|ing)\b.*\bfractions?\b": (
        "To divide by a fraction, multiply by its reciprocal: 1/2 ÷ 3/4 = 1/2 × 4/3 = 4/6 = 2/3."
    ),
    r"\bcompar(?:e|ing)\b.*\bfractions?\b": (
        "To compare fractions, give both the same denominator; the larger top wins: "
        "2/3 = 8/12 is less than 3/4 = 9/12."
    ),
    r"\bsimplif\w+|\blowest terms\b|\breduc(?:e|ing)\b.*\bfractions?\b": (
        "To simplify a fraction, divide its top and its bottom by the same number, as long as there is one: "
        "6/8 = 3/4."
    ),
    r"\bcommon denominators?\b|\blcd\b": (
        "A common denominator is a number that both denominators divide; the smallest one of 4 and 6 is 12."
    ),
    r"\bnumerators?\b|\bdenominators?\b": (
        "The numerator is the top of a fraction and counts the parts; the denominator is the bottom and says "
        "how big the parts are."
    ),
    r"\bpercent(?:ages?)?\b": "Percent means out of a hundred: 25% is 25/100, which is 1/4.",
    r"\bmixed numbers?\b|\bimproper fractions?\b": (
        "A mixed number is a whole number and a fraction together: 7/4 is 1 3/4."
    ),
}
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), reply) for pattern, reply in _IDEAS.items())


def explain_idea(question: str) -> str | None:
    """Return the explanation of an idea that `question` asks about, or None."""
    if not _ASKS.search(question):
        return None
    return next((reply for pattern, reply in _COMPILED if pattern.search(question)), None)
