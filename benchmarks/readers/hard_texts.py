"""Texts that make careless rules slow: one unit again and again, with something at the end that fits no rule.

The units are characters of every class, every space of Unicode, opening marks that are never closed, brackets
within brackets, words that rules begin with, and what they look for in turns.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Mapping

__all__ = ["hard_texts"]

_CHARACTERS = "aA1_.,;:!?-*#>|/\\@$%&+=~^`'\"éßякไ漢が½²㎏ﬁİ\u0301\u200d\ufeff\ufffd👍\x00"
_OPENING = "“«‹„‘([{<「『（【"
_UNITS = r"""
a“|a "|a '|a«|`a|``` |```\n|"a" |'a' |“a” |[[|]|[]|[a](|](|(|((1|{|{"|{"a":|{"}|{}|}|{{|${|{{a
<|< |</|<final>|<FINAL|</final|<scratch>|</scratch>|<used>|<thought>|<task>|<playbook>\n|\n<path>\n|</path>\n
\n## About this learner\n|\n## |# |- |\n- |* |\n> |> |\n1. |\n1: |1: 0.|\n1:|1.1|1,|1,000|1 |1/2 |1/|/1
0/0 |1 1/2 |1+|1 + |-1|--|1e|1%|½1|1:1|2024-01-01 |a1|1a|a |a  |A.|a. |a.\n|a\n|a\n\n| \n|\t\n|\r\n|a, |a; |a?
。|？|a-|a_|aB|AA|Aa|a'|a'b |n't |a.b.|a@|http://|a=|A=1 |; ls |&&
"""
"""Between bars, with \\n, \\r and \\t for the characters."""

_WORDS = """
and but no not no, yes well hi thanks hello ok great please actually never always remember that
remember: call me|my name is|i keep|i prefer|i am|i'd rather|don't|do not|forget|forget that|no longer
could you please|you|that is|that's wrong|it should be|the answer is|the right answer is|answer:|final answer:
verdict|text|success|what is|how much|how to|first|then|step 1|add|subtract|divide|multiply|simplify
half of|fraction|denominator|numerator|common denominator|percent|bigger|smaller than|as a decimal
one|twenty|two thirds|three and|draw|like a pirate|in detail|ignore all|system:|password:|sk-|eyJ
""".replace("\n", "|")
_MOST_SPACES = 30
_MARKS = ("\u0301\u0323", "e\u0301\u0323")
"""Marks above and below a letter in turns, which normalising has to sort."""


def hard_texts(size: int) -> Iterator[tuple[str, str]]:
    """Yield each text's name and the text, of `size` characters."""
    for name, unit in _units().items():
        yield name, (unit * (size // len(unit) + 1))[:size]
        # Cut in front, so that texts of all sizes end alike.
        yield f"{name} then x", f"a {(unit * (size // len(unit) + 1))[4 - size :]} x"


def _units() -> Mapping[str, str]:
    spaces = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()][:_MOST_SPACES]
    words = [f"{word.strip()} " for word in _WORDS.split("|") if word.strip()]
    repeated = [*_CHARACTERS, *_MARKS, *spaces, *_OPENING, *(f"{mark}a " for mark in _OPENING)]
    written = _UNITS.strip("\n").replace("\n", "|").split("|")
    others = [unit.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t") for unit in written]
    return {_shown(unit): unit for unit in (*repeated, *others, *words)}


def _shown(unit: str) -> str:
    if len(unit) == 1 and not unit.isprintable():
        return unicodedata.name(unit, f"U+{ord(unit):04X}")
    return repr(unit)
