"""The numbers written in a text, each with its exact value: 1,200 and 0,5, 5/6 and 1 3/8, ½, 50 %, 2e3.

A text is cut at its digits first and read piece by piece, so reading is linear in its length. A number of
more than 60 digits is none, and numbers in words are not read. arithmetic.py computes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ace_graph.memory.search.tokenize import fold, is_spaceless, normal_form

Form = Literal["whole", "mixed", "decimal", "percent", "fraction"]
"""The ways to write a number: 2, 1 1/2, 1.5, 150%, 3/2."""
_LONGEST = 60
_DIGITS = re.compile(r"\.?[0-9][0-9.,]*")
_WHOLE = re.compile(r"[0-9]{1,60}")
_DECIMAL = re.compile(r"[0-9]{0,60}\.[0-9]{1,60}")
_DECIMAL_COMMA = re.compile(r"[0-9]{1,60},[0-9]{1,60}")
_EXPONENT = re.compile(r"[eE][-+]?[0-9]{1,3}(?!\w)")
_JOIN = re.compile(r" {1,3}(?:(?:and|&) )?")
_SLASH = re.compile(r" ?/ ?")
_PERCENT = re.compile(r" ?%")
_LATEX = re.compile(r"\\[dt]?frac ?\{ ?(-?[0-9]{1,60}) ?\} ?\{ ?([0-9]{1,60}) ?\}")
_MYRIADS = "百千万萬亿億兆"
"""Words of numbers behind digits: 5万 is not 5."""
_MINUS = str.maketrans({"−": "-", "–": "-", "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2044": "/"})


@dataclass(frozen=True)
class Numeral:
    """A number as it stands in a text: its exact value, and how it is written, without grouping commas."""

    value: Fraction
    written: str

    @property
    def form(self) -> Form:
        if "%" in self.written:
            return "percent"
        if "/" in self.written:
            return "mixed" if " " in self.written else "fraction"
        return "whole" if self.written.lstrip("-").isdecimal() else "decimal"


@dataclass(frozen=True)
class _Piece:
    """Digits with their place: a whole number, a decimal, a fraction or a mixed number."""

    start: int
    end: int
    value: Fraction
    written: str
    kind: str


_Join = Callable[[str, _Piece, _Piece], _Piece | None]


def numerals(text: str) -> list[Numeral]:
    """Return the numbers of `text` in their order. Digits inside a word (x2, 3rd) are no number."""
    plain = _plain(text)
    return [Numeral(found.value, found.written) for found in _signed(plain)]


def parse_number(text: str) -> Fraction | None:
    """Return the exact value of a text that is one number and nothing else, else None."""
    plain = _plain(text).strip()
    found = next(_signed(plain), None)
    return found.value if found is not None and (found.start, found.end) == (0, len(plain)) else None


def _plain(text: str) -> str:
    return fold(_LATEX.sub(r" \1/\2", text.translate(_MINUS)))


def _signed(text: str) -> Iterator[_Piece]:
    """Yield the numbers with their signs and percent signs."""
    # Yield the pieces, a whole number and the proper fraction behind it as one
    # Yield whole numbers, decimals and fractions with their places
    for piece in _joined(text, _joined(text, _numbers(text), _fraction), _mixed_number):
        if not _stands_alone(text, piece):
            continue
        sign, percent = _sign(text, piece.start), _PERCENT.match(text, piece.end)
        value = piece.value / 100 if percent else piece.value
        written = f"{piece.written}%" if percent else piece.written
        end = percent.end() if percent else piece.end
        start = piece.start - len(sign)
        if sign == "-":
            value, written = -value, f"-{written}"
        yield _Piece(start, end, value, written, piece.kind)


def _stands_alone(text: str, piece: _Piece) -> bool:
    """Whether no letter touches the number, and it is no part of a date, a version or a division by zero."""
    before, after = text[max(piece.start - 2, 0) : piece.start], text[piece.end : piece.end + 2]
    in_word = _in_word(before[-1:]) or before[-1:] == "." or _in_word(after[:1])
    divided = (before[1:] == "/" and before[:1].isdecimal()) or (after[:1] == "/" and after[1:].isdecimal())
    return not (in_word or divided)


def _sign(text: str, start: int) -> str:
    """Return the sign right before a number, empty where it joins the number to another (3-5)."""
    sign = text[max(start - 1, 0) : start]
    joined = start > 1 and (_in_word(text[start - 2]) or text[start - 2] in ".)")
    return sign if sign in ("-", "+") and not joined else ""


def _in_word(char: str) -> bool:
    """Whether a character beside digits makes them no number; those of scripts without spaces do not."""
    return char == "_" or (char.isalnum() and (char in _MYRIADS or not is_spaceless(char)))


def _joined(text: str, pieces: Iterable[_Piece], join: _Join) -> Iterator[_Piece]:
    """Yield the pieces, two neighbours as one where `join` makes one of them."""
    held: _Piece | None = None
    for piece in pieces:
        joined = join(text, held, piece) if held is not None else None
        if held is not None and joined is None:
            yield held
        held = joined or piece
    if held is not None:
        yield held


def _fraction(text: str, top: _Piece, bottom: _Piece) -> _Piece | None:
    whole = top.kind == bottom.kind == "whole" and bottom.value != 0
    if not whole or not _SLASH.fullmatch(text, top.end, bottom.start):
        return None
    written = f"{top.written}/{bottom.written}"
    return _Piece(top.start, bottom.end, top.value / bottom.value, written, "fraction")


def _mixed_number(text: str, whole: _Piece, part: _Piece) -> _Piece | None:
    mixed = whole.kind == "whole" and part.kind == "fraction" and 0 < part.value < 1
    if not mixed or not (_stands_alone(text, whole) and _JOIN.fullmatch(text, whole.end, part.start)):
        return None
    written = f"{whole.written} {part.written}"
    return _Piece(whole.start, part.end, whole.value + part.value, written, "mixed")


def _numbers(text: str) -> Iterator[_Piece]:
    """Yield whole numbers and decimals with their places."""
    for run in _DIGITS.finditer(text):
        digits = run.group().rstrip(".,")
        parts = [digits] if _one_number(digits) else digits.split(",")
        place = run.start()
        for part in parts:
            found = _number(text, place, part)
            if found is not None:
                yield found
            place += len(part) + 1


def _number(text: str, start: int, digits: str) -> _Piece | None:
    if len(digits) > _LONGEST:
        return None
    plain = digits.replace(",", "") if _grouped(digits) else digits.replace(",", ".")
    if not (_WHOLE.fullmatch(plain) or _DECIMAL.fullmatch(plain)):
        return None
    end = start + len(digits)
    exponent = _EXPONENT.match(text, end)
    if exponent:
        end, plain = exponent.end(), plain + exponent.group()
    kind = "whole" if plain.isdecimal() else "decimal"
    return _Piece(start, end, Fraction(plain), plain, kind)


def _one_number(digits: str) -> bool:
    """Whether commas group the digits (1,200) or one stands before decimals (0,5); else they part numbers."""
    return _grouped(digits) or _DECIMAL_COMMA.fullmatch(digits) is not None


def _grouped(digits: str) -> bool:
    head, *groups = digits.split(".")[0].split(",")
    return 0 < len(head) <= 3 and digits.count(".") <= 1 and all(len(group) == 3 for group in groups)


# Replaces number words and signs by digits and operators: "three quarters times 12" becomes "3/4 * 12".


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
