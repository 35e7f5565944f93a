"""The ideas behind fractions, each in a sentence or two with an example.

Does not: teach a course; what is not listed here is not explained.
"""

from __future__ import annotations

import re

__all__ = ["explain_idea"]

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
