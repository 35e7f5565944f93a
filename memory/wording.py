"""The wording of a text as a row of tokens, with turns of phrase that mean one thing put into one word.

"Do not forget to check", "make sure to check" and "check" come out the same; "instead of" and "rather
than" as one word; "don't", "no longer" and "fails to" as "not". For English.

Does not: know which words carry content.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from ace_graph.memory.text import fold

__all__ = ["Token", "wording"]

_TOKEN = re.compile(
    r"(?P<number>(?:(?<![\w.)])-)?[0-9]+(?:[.,:/][0-9]+)*(?:st|nd|rd|th)?(?![A-Za-z0-9]))"
    r"|(?P<measure>[0-9]+(?:\.[0-9]+)?)(?=[A-Za-z]{1,3}\b)"
    r"|(?P<word>[A-Za-z0-9\x80-\U0010ffff]+(?:'[A-Za-z\x80-\U0010ffff]+)*)"
    r"|(?P<symbol>==|!=|<=|>=|=>|->|\*\*|&&|\|\||[=<>+*/^%$€£¥#@&|~\\]|(?<=[\w)] )-(?= [\w(]))"
)
_SYMBOLS = str.maketrans(
    {"≤": "<=", "≥": ">=", "≠": "!=", "→": "->", "⇒": "=>", "×": "*", "÷": "/", "−": "-", "–": "-", "—": " "}
)
_KEPT = str.maketrans({"€": "\ue000", "£": "\ue001", "¥": "\ue002"})
_BACK = str.maketrans({"\ue000": "€", "\ue001": "£", "\ue002": "¥"})

_PHRASES = """
keep in mind | bear in mind | make sure | makes sure | making sure | make certain | be sure | be certain
do not forget | don't forget | never forget | in general | as a rule | in practice | of course
at all times | as well | to be sure | good practice | a good idea | if possible | for sure | as always
so that | instead of > instead | rather than > instead | in place of > instead | fail to > not
fails to > not | failed to > not | failing to > not | no longer > not | not any more > not
refrain from > not | refrains from > not | in order to > to | so as to > to | prior to > before
ahead of > before
"""
_WORDS = """
avoids avoid | avoiding avoid | avoided avoid | whenever when | each all | every all | everyone all | dont not
doesnt not | cant not | cannot not
"""
_VERB_FOLLOWS = """
important essential best recommended useful helpful good idea sure certain remember forget need needs needed
have has had ought want necessary
"""
_LEADING_TO = frozenset(_VERB_FOLLOWS.split())
"""Words after which "to" only leads on to the verb."""


class Token(NamedTuple):
    """`kind` is number, measure, word or symbol; `word` is the text case-folded."""

    kind: str
    text: str
    word: str


def wording(text: str) -> list[Token]:
    """Return the tokens of `text` in their order, turns of phrase replaced."""
    found = [
        Token(match.lastgroup or "", match.group(), match.group().casefold())
        for match in _TOKEN.finditer(_plain(text))
    ]
    phrases, words = _phrases(), _words()
    row: list[Token] = []
    place = 0
    while place < len(found):
        token = found[place]
        place += 1
        length, meaning = _phrase(found, place - 1) if token.word in phrases else (0, ())
        if length:
            row.extend(Token("word", word, word) for word in meaning)
            place += length - 1
        elif token.word in words:
            row.append(Token("word", words[token.word], words[token.word]))
        elif token.word.endswith("n't"):
            row.append(Token("word", "not", "not"))
        elif token.word != "to" or place < 2 or found[place - 2].word not in _LEADING_TO:
            row.append(token)
    return row


def _plain(text: str) -> str:
    if text.isascii():
        return text
    return fold(text.translate(_SYMBOLS).translate(_KEPT)).translate(_BACK)


def _phrase(found: list[Token], place: int) -> tuple[int, tuple[str, ...]]:
    """Return how many tokens the phrase at this place takes, 0 where there is none, and what it means."""
    for phrase, meaning in _phrases()[found[place].word]:
        if tuple(token.word for token in found[place : place + len(phrase)]) == phrase:
            return len(phrase), meaning
    return 0, ()


@lru_cache(maxsize=1)
def _phrases() -> Mapping[str, list[tuple[tuple[str, ...], tuple[str, ...]]]]:
    table: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
    for entry in _PHRASES.replace("\n", "|").split("|"):
        phrase, _, meaning = entry.partition(">")
        words = tuple(phrase.split())
        if words:
            table.setdefault(words[0], []).append((words, tuple(meaning.split())))
    return MappingProxyType(table)


@lru_cache(maxsize=1)
def _words() -> Mapping[str, str]:
    pairs = (entry.split() for entry in _WORDS.replace("\n", "|").split("|"))
    return MappingProxyType({pair[0]: pair[1] for pair in pairs if pair})
