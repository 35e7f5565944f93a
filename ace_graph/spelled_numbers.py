"""Replaces number words and signs by digits and operators: "three quarters times 12" becomes "3/4 * 12"."""

from __future__ import annotations

import re
import unicodedata

from ace_graph.memory.search.normal_form import normal_form

__all__ = ["normalize"]

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_UNITS = _ONES.split()
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES = {word: n for n, word in enumerate(_UNITS)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_ORDINALS = ("third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_OTHER_PARTS = {"half": 2, "halves": 2, "quarter": 4, "twelfth": 12, "hundredth": 100}
_DENOMINATORS = {word: n for n, word in enumerate(_ORDINALS, 3)} | _OTHER_PARTS
_PRINTED = {sign: f" {unicodedata.normalize('NFKC', sign).replace('⁄', '/')} " for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}
_DASHES = dict.fromkeys("−–—", "-")
_SIGNS = str.maketrans(
    {"×": "*", "·": "*", "∙": "*", "⁄": "/", "’": "'", "²": "^2 ", "³": "^3 "} | _DASHES | _PRINTED
)
_NUMBER_WORD = re.compile(
    rf"\b(?:({'|'.join(_TENS)})(?:[- ]({'|'.join(_UNITS[1:10])}))?|({'|'.join(_UNITS)}))\b"
)
_PART_WORD = re.compile(rf"\b(?:(\d+)[- ]|(an?)\s+)({'|'.join(_DENOMINATORS)})s?\b")
_HALF_OF = re.compile(r"\b(half|third|quarter)\s+(?=of\b)|\bhalf(?=\s+\d)")
_AND_PART = re.compile(rf"\b(\d+) and (?:an? |one |1 )({'|'.join(_DENOMINATORS)})\b")
_WORDS = tuple(
    (re.compile(pattern), sign)
    for pattern, sign in (
        (r"\bper\s?cent(?:age)?\b", "percent"),
        (r"(?<=\d)\s*percent\b", "%"),
        (r"\bto the power (?:of )?", "^"),
        (r"\bsquared\b", "^2"),
        (r"\bcubed\b", "^3"),
        (r"\bdivided by\b", "÷"),
        (r"\bmultiplied by\b|\btimes\b", "*"),
        (r"\badded to\b|\bplus\b", "+"),
        (r"\bminus\b|\btake away\b", "-"),
        (r"(?<=\d)\s+over\s+(?=\d)", "/"),
        (r"(?<=\d)\s*x\s*(?=[\d(])", "*"),
        (r"(?<=[\d%])\s+of\s+(?:the\s+)?(?=[\d(])", " * "),
        (r"\*\*", "^"),
    )
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?:\D|$))")
_MAX_CHARS = 2_000
_LONG_NUMBER = re.compile(r"\d{41,}")
_SPACES = re.compile(r"\s+")


def normalize(text: str) -> str:
    """Return the first 2,000 characters of `text` in lower case, with digits and signs for words.

    Spaces are single. Numbers of more than 40 digits are left out, which bounds the patterns that follow.
    """
    words = _THOUSANDS.sub("", normal_form("NFKC", text[:_MAX_CHARS].translate(_SIGNS).lower()))
    words = _NUMBER_WORD.sub(lambda found: str(sum(_VALUES[each] for each in found.groups() if each)), words)
    words = _AND_PART.sub(lambda mixed: f"{mixed[1]} 1/{_DENOMINATORS[mixed[2]]}", words)
    words = _PART_WORD.sub(lambda part: f"{part[1] or 1}/{_DENOMINATORS[part[3]]}", words)
    words = _HALF_OF.sub(lambda part: f"1/{_DENOMINATORS[part[1] or 'half']} ", words)
    for pattern, sign in _WORDS:
        words = pattern.sub(sign, words)
    return _SPACES.sub(" ", _LONG_NUMBER.sub(" ", words))[:_MAX_CHARS]
