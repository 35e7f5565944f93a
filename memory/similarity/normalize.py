"""A text as normalized tokens: turns of phrase that mean one thing are put into one word.

"Do not forget to check", "make sure to check" and "check" come out the same; "instead of" and "rather
than" as one word; "don't", "no longer" and "fails to" as "not". Marks of emphasis and of a list are no
symbols. For English; the phrases are in data/phrases.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

from ace_graph.memory.search.tokenize import fold
from ace_graph.tables import groups, pairs, word_sets

__all__ = ["Phrases", "Token", "normalized_tokens", "phrases"]

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


class Token(NamedTuple):
    """`kind` is number, measure, word, symbol or pause; `word` is the text case-folded."""

    kind: str
    text: str
    word: str


@dataclass(frozen=True)
class Phrases:
    """The tables of data/phrases.toml, ready for use.

    `meanings` maps the words of a phrase to those that are read instead; `lengths` its first word to how many
    words such phrases have, the longest first; `synonyms` a single word to the one that is read instead.
    """

    meanings: Mapping[tuple[str, ...], tuple[str, ...]]
    lengths: Mapping[str, tuple[int, ...]]
    synonyms: Mapping[str, str]
    before_verbs: frozenset[str]
    after_once: frozenset[str]


@cache
def phrases() -> Phrases:
    """Return the phrases of the table."""
    tables = word_sets("ace_graph.memory.similarity", "phrases.toml")
    meanings: dict[tuple[str, ...], tuple[str, ...]] = dict.fromkeys(_empty_phrases(tables), ())
    for entry in groups(tables["meanings"]):
        split = entry.index(">")
        meanings[tuple(entry[:split])] = tuple(entry[split + 1 :])
    return Phrases(
        meanings=MappingProxyType(meanings),
        lengths=_lengths_by_first_word(meanings),
        synonyms=pairs(tables["synonyms"]),
        before_verbs=frozenset(tables["before_verbs"].split()),
        after_once=frozenset(tables["after_once"].split()),
    )


def _empty_phrases(tables: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the phrases that mean nothing; those like "it is important to" have three parts."""
    yield from map(tuple, groups(tables["empty"]))
    yield from ((word, ",") for word in tables["stances"].split())
    yield from ((*heading, ":") for heading in groups(tables["headings"]))
    parts = (groups(tables[name]) for name in ("advised_starts", "advised", "advised_tails"))
    yield from ((*start, *advised, *tail) for start, advised, tail in product(*parts))


def _lengths_by_first_word(found: Iterable[tuple[str, ...]]) -> Mapping[str, tuple[int, ...]]:
    lengths: dict[str, set[int]] = {}
    for phrase in found:
        lengths.setdefault(phrase[0], set()).add(len(phrase))
    return MappingProxyType({word: tuple(sorted(each, reverse=True)) for word, each in lengths.items()})


def normalized_tokens(text: str) -> list[Token]:
    """Return the tokens of `text` in their order, turns of phrase replaced."""
    found = [
        Token(match.lastgroup or "", match.group(), match.group().casefold())
        for match in _TOKEN.finditer(_plain(text))
    ]
    table = phrases()
    tokens: list[Token] = []
    place = 0
    while place < len(found):
        token = found[place]
        place += 1
        length, meaning = _phrase(found, place - 1) if token.word in table.lengths else (0, ())
        if length:
            tokens.extend(Token("number" if word.isdecimal() else "word", word, word) for word in meaning)
            place += length - 1
        elif token.word == "once" and place < len(found) and found[place].word in table.after_once:
            tokens.append(Token("word", "when", "when"))
        elif (synonym := table.synonyms.get(token.word)) is not None:
            tokens.append(Token("word", synonym, synonym))
        elif token.word.endswith("n't"):
            tokens.append(Token("word", "not", "not"))
        elif token.word != "to" or place < 2 or found[place - 2].word not in table.before_verbs:
            tokens.append(_without_contraction(token))
    return tokens


def _plain(text: str) -> str:
    """Return the text without layout marks and with ASCII punctuation; signs of currencies stay."""
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


def _without_contraction(token: Token) -> Token:
    """Return the token without a contracted verb: they for they're, we for we'll."""
    word = _CONTRACTED.sub("", token.word)
    return token if word == token.word else Token(token.kind, token.text[: len(word)], word)


def _phrase(found: list[Token], place: int) -> tuple[int, tuple[str, ...]]:
    """Return how many tokens the phrase at this place takes, 0 where there is none, and what it means."""
    table = phrases()
    for length in table.lengths[found[place].word]:
        meaning = table.meanings.get(tuple(token.word for token in found[place : place + length]))
        if meaning is not None:
            return length, meaning
    return 0, ()
