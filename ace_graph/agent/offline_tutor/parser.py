"""Finds the arithmetic in a sentence: "half of 10", "add 1/2 and 1/3", "which is bigger, 2/3 or 3/4?".

A small, fixed set of patterns. What they do not cover is no problem that the tutor knows, and it says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from ace_graph.memory.arithmetic import Expression, Number, Operation, Symbol, numbers_of, parse
from ace_graph.memory.numbers import Form, normalize


class Compute(NamedTuple):
    """Work out an expression that has at least one operation."""

    tree: Operation


class Compare(NamedTuple):
    """Tell which of two numbers is larger or smaller."""

    left: Number
    right: Number
    asked: Literal["larger", "smaller"]


class Convert(NamedTuple):
    """Write a number in another form; a fraction into "fraction" is brought to lowest terms."""

    number: Number
    into: Form


class Factor(NamedTuple):
    """The least common multiple, or the greatest common divisor, of whole numbers."""

    numbers: tuple[int, ...]
    kind: Literal["multiple", "divisor"]


Problem = Compute | Compare | Convert | Factor
_MAX_STARTS = 8
_MAX_TRIES = 30
_OPEN_ENDS = "+-*/^÷×.( "
"""What no expression ends with, or can do without at its end."""
_NUM = r"-?(?:\d+ \d+/0*[1-9]\d*|\d+/0*[1-9]\d*|(?:\d+(?:\.\d+)?|\.\d+) ?%?)"
_LEFT, _RIGHT = rf"(?P<left>{_NUM})", rf"(?P<right>{_NUM})"
_BETWEEN = r"[^\d.(-]{0,30}?"
_AND = r"\s*,?\s*(?:and|to|with|by|,|&)\s*(?:the\s+)?"
_ALL = rf"(?P<all>{_NUM}(?:{_AND}{_NUM})+)"
_ASKS = re.compile(r"\b(?:what|how much|calculate|compute|evaluate|solve|work out|find)\b|=|\?")
_RUN = re.compile(r"(?:mod\b|[\d\s.+\-*/^÷×()%])+")
_RUN_STARTS = re.compile(r"(?<=\s)[(\d-]")
_DATE_LIKE = re.compile(r"\b\d{1,4}-\d{1,2}-\d{1,4}\b|\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b\d{1,2}:\d{2}\b")
_BARE_DASH = re.compile(r"\d+-\d+")
_VERBS: tuple[tuple[re.Pattern[str], Symbol], ...] = (
    (re.compile(rf"\b(?:add|sum of|sum|total of){_BETWEEN}{_ALL}"), "+"),
    (re.compile(rf"\b(?:subtract|take){_BETWEEN}{_RIGHT}\s*(?:away\s+)?from\s*{_LEFT}"), "-"),
    (re.compile(rf"\bdifference (?:between|of){_BETWEEN}{_LEFT}{_AND}{_RIGHT}"), "-"),
    (re.compile(rf"\b(?:multiply|product of){_BETWEEN}{_ALL}"), "×"),
    (re.compile(rf"\bdivide{_BETWEEN}{_LEFT}\s*by\s*{_RIGHT}"), "÷"),
    (re.compile(rf"\b(?:what is|what's|find)\s*{_RIGHT} more than {_LEFT}"), "+"),
    (re.compile(rf"\b(?:what is|what's|find)\s*{_RIGHT} less than {_LEFT}"), "-"),
)
_GOES_ON = re.compile(
    r"\s*[-+*/^÷]\s*[\d(]|\s*,?\s*(?:and|then)\s+(?:then\s+)?(?:add|subtract|multiply|divide|take)"
)
_EACH = re.compile(_NUM)
_PAIR = re.compile(rf"{_LEFT}\s*,?\s*(?:[a-z' ]{{0,30}}\bthan|or|and|vs\.?|versus|,|to|with)\s*{_RIGHT}")
_LARGER = re.compile(r"\b(?:bigger|biggest|larger|largest|greater|greatest|more|higher|compare|same|equal)\b")
_SMALLER = re.compile(r"\b(?:smaller|smallest|less|lower|lesser|least|fewer)\b")
_SIMPLIFY = re.compile(r"\b(?:simplif\w*|reduce|lowest terms|simplest form)\b")
_FRACTION = r"(?<![\d./-])(?<!\d )(?P<fraction>\d+/0*[1-9]\d*)"
_ANY_FRACTION = re.compile(rf"{_FRACTION}(?![\d/])")
_ONLY_FRACTION = re.compile(
    rf"(?:what is|what's|how much is|calculate|compute|evaluate|solve|work out)?\s*{_FRACTION}\W*"
)
_FORMS: tuple[Form, ...] = ("decimal", "percent", "fraction", "mixed")
_FORM = rf"(?P<form>{'|'.join(_FORMS)})"
_CONVERT = re.compile(rf"(?P<number>{_NUM})\s*(?:as|to|into|in)\s+(?:an?\s+)?(?:improper\s+)?{_FORM}")
_WHAT_FORM = re.compile(rf"\bwhat\s+{_FORM}\w*\s+is\s+(?P<number>{_NUM})")
_COMMON = re.compile(
    r"\b(?:(?P<multiple>lcm|lcd|(?:least|lowest|smallest) common (?:multiple|denominator)|common denominator)"
    r"|gcd|gcf|hcf|(?:greatest|highest|largest) common (?:divisor|factor))\b(?P<numbers>.*)"
)


@lru_cache(maxsize=32)  # a turn reads its question several times
def find_problem(text: str) -> Problem | None:
    """Return the first problem in `text` that the tutor knows how to solve, or None."""
    words = _with_signs(_DATE_LIKE.sub(" ", normalize(text)))
    finders = (_factor, _convert, _simplify, _compare, _compute)
    return next((problem for finder in finders if (problem := finder(words)) is not None), None)


def _with_signs(words: str) -> str:
    """The words with signs for the first verb: (1/2 + 1/3) for "add 1/2 and 1/3".

    Nothing is left where signs go on ("add 1/2 and 1/3 * 4"), which can be read in two ways.
    """
    for pattern, symbol in _VERBS:
        if (found := pattern.search(words)) is None:
            continue
        if _GOES_ON.match(words, found.end()):
            return ""
        parts = found.groupdict()
        numbers = _EACH.findall(parts["all"]) if "all" in parts else [parts["left"], parts["right"]]
        return f"{words[: found.start()]}({symbol.join(numbers)}){words[found.end() :]}"
    return words


def _numbers(*texts: str) -> list[Number]:
    """The numbers that the texts are, without texts that are none."""
    return [tree for text in texts if isinstance(tree := parse(text), Number)]


def _compute(words: str) -> Compute | None:
    best: Operation | None = None
    for run in _RUN.findall(words):
        tree, bare = _in_run(run), run.strip(" .")
        if _BARE_DASH.fullmatch(bare) and bare != words.strip(" .") and not _ASKS.search(words):
            continue  # pages 3-5, a telephone number
        if tree is not None and (best is None or len(numbers_of(tree)) > len(numbers_of(best))):
            best = tree
    return Compute(best) if best is not None else None


def _in_run(run: str) -> Operation | None:
    """What the run says, without numbers that only stand before it: "5. 3 + 4"."""
    starts = [0, *(match.start() for match in islice(_RUN_STARTS.finditer(run), _MAX_STARTS))]
    trees = (_longest(run[start:]) for start in starts)
    return next((tree for tree in trees if isinstance(tree, Operation)), None)


def _longest(run: str) -> Expression | None:
    """The run without what prose leaves at its ends: a full stop, a hyphen, a bracket."""
    text = run.rstrip(_OPEN_ENDS).lstrip()
    for _ in range(_MAX_TRIES):
        tree = parse(text)
        if tree is not None or not text:
            return tree
        unbalanced = text.count("(") != text.count(")")
        if text[-1] == "%" or (unbalanced and text[-1] == ")"):
            text = text[:-1].rstrip(_OPEN_ENDS)
        elif text[0] in "+*/^÷×.)%" or (unbalanced and text[0] == "("):
            text = text[1:].lstrip()
        else:
            return None
    return None


def _compare(words: str) -> Compare | None:
    smaller, larger, pair = _SMALLER.search(words), _LARGER.search(words), _PAIR.search(words)
    if pair is None or not (smaller or larger) or _compute(words) is not None:
        return None
    left, right = _numbers(pair["left"], pair["right"])
    return Compare(left, right, "smaller" if smaller and not larger else "larger")


def _simplify(words: str) -> Convert | None:
    word = _SIMPLIFY.search(words)
    if word is None:
        found = _ONLY_FRACTION.fullmatch(words.strip())
    else:
        found = _ANY_FRACTION.search(words, word.end()) or _ANY_FRACTION.search(words, 0, word.start())
    return Convert(Number(Fraction(found["fraction"]), found["fraction"]), "fraction") if found else None


def _convert(words: str) -> Convert | None:
    found = _CONVERT.search(words) or _WHAT_FORM.search(words)
    if found is None or _compute(words) is not None:
        return None
    [number] = _numbers(found["number"])
    return Convert(number, next(form for form in _FORMS if form == found["form"]))


def _factor(words: str) -> Factor | None:
    found = _COMMON.search(words)
    if found is None:
        return None
    values = [number.value for number in _numbers(*_EACH.findall(found["numbers"])[:6])]
    # a whole number itself; of a fraction its denominator, which is what a common one is sought for
    wholes = tuple(value.numerator if value.denominator == 1 else value.denominator for value in values)
    if len(wholes) < 2 or not all(0 < whole <= 10**6 for whole in wholes):
        return None
    return Factor(wholes, "multiple" if found["multiple"] else "divisor")


_SENTENCE_END = re.compile(r"(?<=\?)|(?<=[.!;]) |\n")
_REQUEST = (
    r"(?:(?:and|also|then|so|now|please)\b,? ?){0,3}"
    r"(?:(?:what|who|whom|whose|when|where|which|why|how)(?:'?s)?\b"
    r"|(?:is|are|was|were|do|does|did|can|could|will|would|should)"
    r" (?:an?|the|my|your|you|i|we|it|he|she|they|there)\b"
    r"|(?:write|tell|give|make|sing|find|list|name|translate|describe|define|spell|explain|show|recommend|say)"
    r"(?: (?:me|us))? (?:an?|the|some|another|about|how|what|who|why|\w{4,20})\b"
    r"|(?:calculate|compute|evaluate|solve|work out|add|subtract|multiply|divide|simplify|convert)\b)"
)
_ASKS_FOR = re.compile(rf"{_REQUEST}|[\d/]{{1,20}} ?[-+*x×÷^]", re.IGNORECASE)
_JOINED = re.compile(rf"(?:,? (?:and|then|but|also|plus)|,) (?={_REQUEST})", re.IGNORECASE)
_REFERS_BACK = re.compile(
    r"\b(?:it|that|this|them|draw|pictures?|steps?|working|result|answer|decimals?|in detail|like"
    r"|(?:help|show) me|how (?:do|did|can) (?:you|we) (?:know|get|do|see|find))\b"
    r"|^(?:and )?(?:why|how)\W*$|\bexplain(?: how)?\W*$",
    re.IGNORECASE,
)
_MAX_NAMED = 3


def unanswered(message: str) -> str | None:
    """Return a sentence that names what else the message asks when its first problem is solved.

    None where nothing is left: a question about that problem ("can you draw it?") is none of its own.
    """
    solved = find_problem(message)
    asked = {part: find_problem(part) for part in _parts(message)}
    open_ones = [
        f'"{part}"'
        for part, problem in asked.items()
        if problem != solved and (problem is not None or not _REFERS_BACK.search(part))
    ]
    if solved is None or solved not in asked.values() or not open_ones:
        return None
    more = len(open_ones) - _MAX_NAMED
    named = " and ".join(open_ones[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"I have not answered {named} here: ask that alone."


def _parts(message: str) -> Iterator[str]:
    """The questions and requests of a message; several calculations that "and" joins are one each."""
    for sentence in _SENTENCE_END.split(message):
        for part in _JOINED.split(sentence.strip()):
            pieces = [piece for piece in part.split(" and ") if isinstance(find_problem(piece), Compute)]
            if len(pieces) > 1:
                yield from (piece.strip(" ?.") for piece in pieces)
                continue
            asked = part.strip(" ,;:.-")
            if asked.strip("?!") and (asked.endswith("?") or _ASKS_FOR.match(asked)):
                yield asked
