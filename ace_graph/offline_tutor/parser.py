"""Finds the arithmetic in a sentence: "half of 10", "add 1/2 and 1/3", "which is bigger, 2/3 or 3/4?".

A small, fixed set of patterns. What they do not cover is no problem that the tutor knows, and it says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Literal

from ace_graph.arithmetic import Expression, Number, Operation, Symbol, parse
from ace_graph.numerals import Form
from ace_graph.offline_tutor.spelled_numbers import normalize

__all__ = ["Compare", "Compute", "Convert", "Factor", "Problem", "Simplify", "find_problem", "unanswered"]


@dataclass(frozen=True, slots=True)
class Compute:
    """Work out an expression that has at least one operation."""

    tree: Operation


@dataclass(frozen=True, slots=True)
class Compare:
    """Tell which of two numbers is larger or smaller."""

    left: Number
    right: Number
    asked: Literal["larger", "smaller"]


@dataclass(frozen=True, slots=True)
class Simplify:
    """Bring a fraction to lowest terms."""

    top: int
    bottom: int


@dataclass(frozen=True, slots=True)
class Convert:
    """Write a number in another form."""

    number: Number
    into: Form


@dataclass(frozen=True, slots=True)
class Factor:
    """The least common multiple, or the greatest common divisor, of whole numbers."""

    numbers: tuple[int, ...]
    kind: Literal["multiple", "divisor"]


Problem = Compute | Compare | Simplify | Convert | Factor

_MAX_STARTS = 8
_MAX_TRIES = 30
_OPEN_ENDS = "+-*/^÷×.( "
"""What no expression ends with, or can do without at its end."""
_NUM = r"-?(?:\d+ \d+/0*[1-9]\d*|\d+/0*[1-9]\d*|(?:\d+(?:\.\d+)?|\.\d+) ?%?)"
_BETWEEN = r"[^\d.(-]{0,30}?"
_AND = r"\s*,?\s*(?:and|to|with|by|,|&)\s*(?:the\s+)?"
_ASKS = re.compile(r"\b(?:what|how much|calculate|compute|evaluate|solve|work out|find)\b|=|\?")
_RUN = re.compile(r"(?:mod\b|[\d\s.+\-*/^÷×()%])+")
_DATE_LIKE = re.compile(r"\b\d{1,4}-\d{1,2}-\d{1,4}\b|\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b\d{1,2}:\d{2}\b")
_BARE_DASH = re.compile(r"\d+-\d+")
_VERBS: tuple[tuple[re.Pattern[str], Symbol, bool], ...] = (
    (re.compile(rf"\b(?:add|sum of|sum|total of){_BETWEEN}({_NUM}){_AND}({_NUM})"), "+", False),
    (re.compile(rf"\b(?:subtract|take){_BETWEEN}({_NUM})\s*(?:away\s+)?from\s*({_NUM})"), "-", True),
    (re.compile(rf"\bdifference (?:between|of){_BETWEEN}({_NUM}){_AND}({_NUM})"), "-", False),
    (re.compile(rf"\b(?:multiply|product of){_BETWEEN}({_NUM}){_AND}({_NUM})"), "×", False),
    (re.compile(rf"\bdivide{_BETWEEN}({_NUM})\s*by\s*({_NUM})"), "÷", False),
    (re.compile(rf"\b(?:what is|what's|find)\s*({_NUM}) more than ({_NUM})"), "+", True),
    (re.compile(rf"\b(?:what is|what's|find)\s*({_NUM}) less than ({_NUM})"), "-", True),
)
_MORE = re.compile(
    r"\s*[-+*/^÷]\s*[\d(]|\s*,?\s*(?:and|then)\s+(?:then\s+)?(?:add|subtract|multiply|divide|take)"
)
_THIRD = re.compile(rf"{_AND}({_NUM})")
_PAIR = re.compile(rf"({_NUM})\s*,?\s*(?:[a-z' ]{{0,30}}\bthan|or|and|vs\.?|versus|,|to|with)\s*({_NUM})")
_LARGER = re.compile(r"\b(?:bigger|biggest|larger|largest|greater|greatest|more|higher|compare|same|equal)\b")
_SMALLER = re.compile(r"\b(?:smaller|smallest|less|lower|lesser|least|fewer)\b")
_SIMPLIFY = re.compile(rf"\b(?:simplif\w*|reduce)\b.*?({_NUM})|({_NUM}).*\b(?:lowest terms|simplest form)\b")
_SIMPLIFY_WORD = re.compile(r"simplif|reduce|lowest terms|simplest form")
_FORMS: tuple[Form, ...] = ("decimal", "percent", "fraction", "mixed")
_FORM = rf"(?P<form>{'|'.join(_FORMS)})"
_CONVERT = re.compile(rf"(?P<number>{_NUM})\s*(?:as|to|into|in)\s+(?:an?\s+)?(?:improper\s+)?{_FORM}")
_WHAT_FORM = re.compile(rf"\bwhat\s+{_FORM}\w*\s+is\s+(?P<number>{_NUM})")
_MULTIPLE = re.compile(
    r"\b(?:lcm|lcd|(?:least|lowest|smallest) common (?:multiple|denominator)|common denominator)\b(.*)"
)
_DIVISOR = re.compile(r"\b(?:gcd|gcf|hcf|(?:greatest|highest|largest) common (?:divisor|factor))\b(.*)")
_LONE = re.compile(
    r"(?:what is|what's|how much is|calculate|compute|evaluate|solve|work out)?\s*(\d+)/(0*[1-9]\d*)\W*"
)


def find_problem(text: str) -> Problem | None:
    """Return the first problem in `text` that the tutor knows how to solve, or None."""
    said = _DATE_LIKE.sub(" ", normalize(text))
    if _goes_on(said):
        return None
    return next((found for finder in _FINDERS if (found := finder(said)) is not None), None)


def _number(text: str) -> Number | None:
    tree = parse(text)
    return tree if isinstance(tree, Number) else None


def _verb(said: str) -> Compute | None:
    for pattern, symbol, swapped in _VERBS:
        match = pattern.search(said)
        if match is None:
            continue
        left, right = _number(match[1]), _number(match[2])
        if left is None or right is None:
            return None
        tree = Operation(symbol, right, left) if swapped else Operation(symbol, left, right)
        return Compute(_with_more(tree, said, match.end()) if symbol in "+×" and not swapped else tree)
    return None


def _goes_on(said: str) -> bool:
    """Whether words and signs are mixed, as in "add 1/2 and 1/3 * 4": it can be read in two ways."""
    matches = (pattern.search(said) for pattern, _, _ in _VERBS)
    return any(_MORE.match(said, match.end()) is not None for match in matches if match is not None)


def _with_more(tree: Operation, said: str, position: int) -> Operation:
    while (more := _THIRD.match(said, position)) is not None:
        number = _number(more[1])
        if number is None:
            return tree
        tree, position = Operation(tree.symbol, tree, number), more.end()
    return tree


def _compute(said: str) -> Compute | None:
    best: Operation | None = None
    for run in _RUN.findall(said):
        tree = _in_run(run)
        if not isinstance(tree, Operation):
            continue
        bare = run.strip(" .")
        if _BARE_DASH.fullmatch(bare) and bare != said.strip(" .") and not _ASKS.search(said):
            continue  # pages 3-5, a telephone number
        if best is None or _size(tree) > _size(best):
            best = tree
    return Compute(best) if best is not None else None


def _in_run(run: str) -> Expression | None:
    """What the run says, without numbers that only stand before it: "5. 3 + 4"."""
    starts = [0, *(match.start() for match in islice(re.finditer(r"(?<=\s)[(\d-]", run), _MAX_STARTS))]
    trees = (_longest(run[start:]) for start in starts)
    return next((tree for tree in trees if isinstance(tree, Operation)), None)


def _longest(run: str) -> Expression | None:
    """The run without what prose leaves at its ends: a full stop, a hyphen, a bracket."""
    text = run.strip()
    for _ in range(_MAX_TRIES):
        tree = parse(text)
        if tree is not None or not text:
            return tree
        head, tail = text[0], text[-1]
        if tail in _OPEN_ENDS:
            text = text.rstrip(_OPEN_ENDS)
        elif tail == "%":
            text = text[:-1].rstrip()
        elif head in "+*/^÷×.)%":
            text = text[1:].lstrip()
        elif text.count("(") != text.count(")"):
            text = text[1:].lstrip() if head == "(" else text[:-1].rstrip() if tail == ")" else ""
        else:
            return None
    return None


def _size(tree: Expression) -> int:
    return 1 + _size(tree.left) + _size(tree.right) if isinstance(tree, Operation) else 0


def _compare(said: str) -> Compare | None:
    smaller, larger = _SMALLER.search(said), _LARGER.search(said)
    pair = _PAIR.search(said)
    if pair is None or not (smaller or larger) or _compute(said) is not None:
        return None
    left, right = _number(pair[1]), _number(pair[2])
    if left is None or right is None:
        return None
    return Compare(left, right, "smaller" if smaller and not larger else "larger")


def _simplify(said: str) -> Simplify | None:
    if not _SIMPLIFY_WORD.search(said):
        return None
    match = _SIMPLIFY.search(said)
    return _fraction(match[1] or match[2]) if match is not None else None


def _lone(said: str) -> Simplify | None:
    match = _LONE.fullmatch(said.strip())
    return Simplify(int(match[1]), int(match[2])) if match is not None else None


def _fraction(text: str) -> Simplify | None:
    parts = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    return Simplify(int(parts[1]), int(parts[2])) if parts is not None and _number(text) is not None else None


def _convert(said: str) -> Convert | None:
    if _compute(said) is not None:
        return None
    found = _CONVERT.search(said) or _WHAT_FORM.search(said)
    number = _number(found["number"]) if found is not None else None
    if found is None or number is None:
        return None
    return Convert(number, next(form for form in _FORMS if form == found["form"]))


def _factor(said: str) -> Factor | None:
    multiple, divisor = _MULTIPLE.search(said), _DIVISOR.search(said)
    match = multiple or divisor
    if match is None:
        return None
    values = [number.value for text in re.findall(_NUM, match[1]) if (number := _number(text)) is not None]
    wholes = tuple(_whole(value) for value in values[:6])
    if len(wholes) < 2 or not all(0 < whole <= 10**6 for whole in wholes):
        return None
    return Factor(wholes, "multiple" if multiple else "divisor")


def _whole(value: Fraction) -> int:
    """A whole number itself; of a fraction its denominator, which is what a common one is sought for."""
    return value.numerator if value.denominator == 1 else value.denominator


_FINDERS: tuple[Callable[[str], Problem | None], ...] = (
    *(_factor, _convert, _simplify, _verb, _compare, _compute, _lone),
)

_SENTENCE_ENDS = (". ", "! ", "\n")
_REFERS_BACK = re.compile(r"\b(?:it|that|this|draw|picture|steps?|me)\b", re.IGNORECASE)
_MAX_NAMED = 3


def unanswered(message: str) -> str | None:
    """Return a sentence that names the questions that stay open when the first problem is solved.

    None where nothing does: a question about that problem ("can you draw it?") is none of its own.
    """
    asked = [part for question in _questions(message) for part in _parts(question)]
    solved = next((part for part in asked if find_problem(part) is not None), None)
    if solved is None:
        return None
    rest = [
        part for part in asked if part != solved and (find_problem(part) or not _REFERS_BACK.search(part))
    ]
    return f"I have not answered {_named(rest)} here: ask that alone." if rest else None


def _questions(message: str) -> Iterator[str]:
    """The sentences that end in a question mark."""
    for piece in message.split("?")[:-1]:
        begins = max(piece.rfind(end) + len(end) if end in piece else 0 for end in _SENTENCE_ENDS)
        if piece[begins:].strip():
            yield f"{piece[begins:]}?"


def _parts(question: str) -> Iterator[str]:
    """One question, or its calculations where "and" joins several."""
    pieces = [piece for piece in question.split(" and ") if isinstance(find_problem(piece), Compute)]
    if len(pieces) > 1:
        yield from (piece.strip(" ?") for piece in pieces)
    else:
        yield question.strip(" ,;:-")


def _named(questions: Sequence[str]) -> str:
    quoted = [f'"{each}"' for each in questions[:_MAX_NAMED]]
    more = len(questions) - len(quoted)
    return " and ".join(quoted) + (f" and {more} more" if more else "")
