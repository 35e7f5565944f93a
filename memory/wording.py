"""The wording of a text as a row of tokens, with turns of phrase that mean one thing put into one word.

"Do not forget to check", "make sure to check" and "check" come out the same; "instead of" and "rather
than" as one word; "don't", "no longer" and "fails to" as "not". Marks of emphasis and of a list are no
symbols. For English.

Does not: know which words carry content.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ace_graph.memory.phrases import leads_to_verb, lengths_from, phrases, spelling_of
from ace_graph.memory.text import fold

__all__ = ["Token", "wording"]

_LETTERS = r"\x80-\xa2\xa4\xa6-\u20ab\u20ad-\U0010ffff"
"""All beyond ASCII but the signs of currencies: what is no letter was taken out before."""

_TOKEN = re.compile(
    r"(?P<number>(?:(?<![\w.)])-)?(?:(?<![\w.])\.)?[0-9]+(?:[.,:/][0-9]+)*(?:st|nd|rd|th)?(?![A-Za-z0-9]))"
    r"|(?P<measure>[0-9]+(?:\.[0-9]+)?)(?=[A-Za-z]{1,3}\b)"
    rf"|(?P<word>[A-Za-z0-9{_LETTERS}]+(?:'[A-Za-z{_LETTERS}]+)*)"
    r"|(?P<symbol>==|!=|<=|>=|=>|->|\*\*|&&|\|\||[=<>+*/^%$€£¥#@&|~\\]|(?<=[\w)] )-(?= [\w(]))"
    r"|(?P<pause>[,;:](?!\S))"
)
_SYMBOLS = str.maketrans(
    {"≤": "<=", "≥": ">=", "≠": "!=", "→": "->", "⇒": "=>", "×": "*", "÷": "/", "−": "-", "–": "-", "—": " "}
)
_CURRENCIES = re.compile("[€£¥]")
_DEGREES = re.compile(r"(?<!\s)\s*°\s?([CF]?)\b", re.IGNORECASE)
_SCALES = {"": " degrees ", "c": " degrees celsius", "f": " degrees fahrenheit"}
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*]{1,200})(?<=[^\s*])\1(?![\w*])")
_LISTED = re.compile(r"\s*[-*•·+]\s+(?=[^\W\d])")
_CONTRACTED = re.compile(r"(?<=[a-z])'(?:re|ll|ve|d|m)$")


_CLAUSE_WORDS = """
the you it they we i he she your its their this that these those there all both done finished
"""
_AFTER_ONCE = frozenset(_CLAUSE_WORDS.split())
"""What shows that "once" opens a clause (once the water boils) and counts nothing (once a day)."""


class Token(NamedTuple):
    """`kind` is number, measure, word, symbol or pause; `word` is the text case-folded."""

    kind: str
    text: str
    word: str


def wording(text: str) -> list[Token]:
    """Return the tokens of `text` in their order, turns of phrase replaced."""
    found = [
        Token(match.lastgroup or "", match.group(), match.group().casefold())
        for match in _TOKEN.finditer(_plain(text))
    ]
    starts, words = lengths_from(), spelling_of()
    row: list[Token] = []
    place = 0
    while place < len(found):
        token = found[place]
        place += 1
        length, meaning = _phrase(found, place - 1) if token.word in starts else (0, ())
        if length:
            row.extend(Token("number" if word.isdecimal() else "word", word, word) for word in meaning)
            place += length - 1
        elif token.word == "once" and place < len(found) and found[place].word in _AFTER_ONCE:
            row.append(Token("word", "when", "when"))
        elif token.word in words:
            row.append(Token("word", words[token.word], words[token.word]))
        elif token.word.endswith("n't"):
            row.append(Token("word", "not", "not"))
        elif token.word != "to" or place < 2 or not leads_to_verb(found[place - 2].word):
            row.append(_expanded(token) if "'" in token.word else token)
    return row


def _plain(text: str) -> str:
    """Return the text without marks of layout, its punctuation in ASCII, currencies as they are."""
    if "*" in text:
        text = _EMPHASIS.sub(r"\2", text)
    listed = _LISTED.match(text)
    if listed:
        text = text[listed.end() :]
    if text.isascii():
        return text
    text = _DEGREES.sub(lambda match: _SCALES[match[1].casefold()], text.translate(_SYMBOLS))
    parts = _CURRENCIES.split(text)
    signs = _CURRENCIES.findall(text)
    return "".join(fold(part) + sign for part, sign in zip(parts, [*signs, ""], strict=True))


def _expanded(token: Token) -> Token:
    """Return they're as they, we'll as we."""
    word = _CONTRACTED.sub("", token.word)
    return token if word == token.word else Token(token.kind, token.text[: len(word)], word)


def _phrase(found: list[Token], place: int) -> tuple[int, tuple[str, ...]]:
    """Return how many tokens the phrase at this place takes, 0 where there is none, and what it means."""
    table = phrases()
    for length in lengths_from()[found[place].word]:
        meaning = table.get(tuple(token.word for token in found[place : place + length]))
        if meaning is not None:
            return length, meaning
    return 0, ()
