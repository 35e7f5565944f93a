"""What a short text claims, as far as rules can tell.

A claim keeps the content words by their roots and in their order, the numbers with their units, what is
negated, and what each direction word (from, before, than ...) is bound to. Fillers, articles and auxiliary
verbs are dropped. Two texts that say the same have equal claims; `guards` compares them.

The tables are mostly English. Other languages are parsed word by word, so that there any word that only one
text has keeps two texts apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from ace_graph.memory.search.tokenize import language_of
from ace_graph.memory.similarity.lexicon import lexicon, number_of, root, scale_of, unit_of
from ace_graph.memory.similarity.normalize import Token, normalized_tokens

__all__ = ["Claim", "Quantity", "canonical_number", "parse_claim"]

_CURRENCIES = frozenset("$€£¥")
_PLAIN_NUMBER = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30}|/0*[1-9][0-9]{0,29})?")
Mode = Literal["duty", "choice", "unreal"]
_PERSONS = MappingProxyType({"he": "he", "him": "he", "she": "she", "her": "she"})
_OWNERS = MappingProxyType({"my": "we", "our": "we", "his": "they", "her": "they", "their": "they"})
_NUMBER_MARK = "#"
_ORDINAL = ("st", "nd", "rd")


@dataclass(frozen=True)
class Quantity:
    """A number of a text. `label` is what names it or conditions it, where it is no amount (error 404).

    `after` is the token before it.
    """

    value: str
    unit: str
    label: str
    after: str

    @property
    def amount(self) -> tuple[str, str]:
        """The number in the smallest unit of its kind: half an hour and 30 minutes are 1,800 seconds."""
        scale = scale_of(self.unit)
        if scale is None or not _PLAIN_NUMBER.fullmatch(self.value):
            return self.value, self.unit
        return str(Fraction(self.value) * scale[0]), scale[1]


@dataclass(frozen=True)
class Claim:
    """What one text claims. Words are roots, in the order of the text.

    `subject` is how many of the words belong to the subject for certain: those before the copula (is,
    means, =) where the text is `copular`, else the first one behind a leading article; and all that says
    when the rest holds, before a colon or behind "for", "when" or "if" before a comma. `subject_numbers`
    counts the numbers before the copula. `persons` are "he" and "she" in their order, `owners` tells whose
    things are named: those of "we" (my, our) or of "they" (his, her, their). `exact` are roots
    that a typo can't explain: names, acronyms, codes; `opening` is the root of a capitalised first word,
    which may be a name or not. `particles` are words left out that have an opposite (up, in, better), and
    "then"; `modes` whether something is a "duty", a "choice", or "unreal", as what should have been done
    is. `first` tells where "first" stands as an adverb: at the opening, where it leads up to the claim, or
    in it. `clauses` says that a comma or a conjunction joins parts which may change places. `pauses`,
    `lists` and `prepositions` say how many words come before each comma or colon, before each "and" and
    "or", and before each preposition. Similarity is measured on `key` and `bag`: all that counts, in
    alphabetical order and as a set; a text of fillers counts as one word. `language` is what the tokenizer
    guesses.
    """

    language: str
    words: tuple[str, ...]
    surfaces: Mapping[str, str]
    persons: tuple[str, ...]
    owners: frozenset[str]
    exact: frozenset[str]
    opening: str
    numbers: tuple[Quantity, ...]
    negated: tuple[str, ...]
    bound: tuple[tuple[str, str], ...]
    symbols: tuple[str, ...]
    particles: frozenset[str]
    modes: frozenset[Mode]
    first: Literal["", "opening", "inside"]
    copular: bool
    subject: int
    subject_numbers: int
    clauses: bool
    pauses: tuple[int, ...]
    lists: tuple[int, ...]
    prepositions: frozenset[int]
    key: str
    bag: frozenset[str]


@lru_cache(maxsize=4_096)
def parse_claim(text: str) -> Claim:
    """Return the claim of a text."""
    parser = _Parser()
    for token in normalized_tokens(text):
        parser.take(token)
    return parser.claim(text, clauses="," in text or ";" in text or parser.joined)


class _Parser:
    """Mutable only inside one call of `parse_claim`."""

    def __init__(self) -> None:
        self.joined = False
        self._lexicon = lexicon()
        self._opposed = frozenset(self._lexicon.particles.values())
        self._words: list[str] = []
        self._surfaces: dict[str, str] = {}
        self._exact: set[str] = set()
        self._persons: list[str] = []
        self._owners: set[str] = set()
        self._opening = ""
        self._numbers: list[Quantity] = []
        self._bound: list[tuple[str, str]] = []
        self._symbols: list[str] = []
        self._waiting: list[str] = []
        self._subject = 0
        self._subject_numbers = 0
        self._pauses: list[int] = []
        self._lists: list[int] = []
        self._prepositions: set[int] = set()
        self._particles: set[str] = set()
        self._modes: set[Mode] = set()
        self._adverb: Literal["", "opening", "inside"] = ""
        self._subordinate = False
        self._copula = False
        self._article = False
        self._range = 0
        self._started = False
        self._opened = False
        self._headed = False
        self._scope = 0
        self._first = True
        self._last = ""
        self._before = ""

    def take(self, token: Token) -> None:
        if token.kind == "pause":
            self._take_pause(token.text)
            return
        self._opened = self._opened or (not self._started and token.word in self._lexicon.opening)
        self._started = True
        if token.kind == "word":
            self._take_word(token.text, token.word.removesuffix("'s"))
        elif token.kind == "symbol":
            self._take_symbol(token.text)
        else:
            self._take_number(canonical_number(token.text))
        self._first = self._first and token.word in self._lexicon.fillers
        self._last = token.word

    def _take_pause(self, mark: str) -> None:
        if (mark == ":" and not self._headed) or (mark == "," and self._opened and not self._pauses):
            self._scope = len(self._words)
        self._headed = self._headed or mark == ":"
        self._pauses.append(len(self._words))
        self._subordinate = False

    def _take_word(self, token: str, word: str) -> None:
        if word in self._lexicon.places or word in self._lexicon.directions:
            self._prepositions.add(len(self._words))
        number = number_of(word)
        if word == "first" and self._before != "number" and self._last not in self._lexicon.determiners:
            self._adverb = "opening" if self._first else "inside"
        elif number is not None and not (number.endswith(_ORDINAL) and self._before == "number"):
            self._take_number(number)
        elif word in self._lexicon.negations:
            self._waiting.append("not")
        elif word in self._lexicon.seldom:
            self._waiting.append("seldom")
        elif word == "or":
            self._lists.append(len(self._words))
            self._bound.append((word, ""))  # A or B is B or A
            self._before = word
        elif word in self._lexicon.directions:
            self.joined = self.joined or word in self._lexicon.joining
            self._subordinate = self._subordinate or word in self._lexicon.subordinate
            self._waiting.append(word)
            self._before = word
        elif word in self._lexicon.copulas:
            self._take_copula()
        elif word in self._lexicon.articles or word in self._lexicon.fillers:
            if word == "and":
                self._lists.append(len(self._words))
            if word == "then" or word in self._opposed:
                self._particles.add(word)
            if word in _PERSONS:
                self._persons.append(_PERSONS[word])
            if word in _OWNERS:
                self._owners.add(_OWNERS[word])
            self._take_mode(word)
            self._article = self._article or (self._first and word in ("a", "an", "the"))
            self._before = word if word in self._lexicon.places else self._before
        else:
            self._take_content(word, token)

    def _take_mode(self, word: str) -> None:
        if word in self._lexicon.obliging:
            self._modes.add("duty")
        elif word in self._lexicon.permitting:
            self._modes.add("choice")
        elif word == "have" and self._last in self._lexicon.wishing:
            self._modes.add("unreal")

    def _take_content(self, word: str, token: str) -> None:
        unit = unit_of(word)
        if unit is not None and self._numbers and self._before == "number" and not self._numbers[-1].unit:
            for place in range(len(self._numbers) - self._range, len(self._numbers)):
                self._numbers[place] = replace(self._numbers[place], unit=unit)
            self._before = word
            return
        key = unit or root(word)
        if (not self._first and token[0].isupper()) or not word.isalpha():
            self._exact.add(key)
        elif token[0].isupper():
            self._opening = self._opening or key
        self._words.append(key)
        self._surfaces.setdefault(key, word)
        self._bind(key)
        self._before = word

    def _take_number(self, value: str) -> None:
        unit = ""
        if self._symbols and self._symbols[-1] in _CURRENCIES and self._before == "currency":
            unit = unit_of(self._symbols.pop()) or ""
        self._range = self._range + 1 if self._before == "number" else 1
        label = self._before if self._names_number() else ""
        self._numbers.append(Quantity(value, unit, label, self._last))
        self._bind(f"{_NUMBER_MARK}{len(self._numbers) - 1}")
        self._before = "number"

    def _names_number(self) -> bool:
        """Whether the word before a number makes it a name or a condition: error 404, W-2, for 5."""
        sets, before = self._lexicon, self._before
        amount = before == "of" and bool(self._words) and self._surfaces.get(self._words[-1]) in sets.amounts
        named = before in sets.labels or before in sets.places or len(before) == 1
        return named and not amount

    def _take_symbol(self, symbol: str) -> None:
        if symbol == "%" and self._before == "number" and self._numbers:
            self._numbers[-1] = replace(self._numbers[-1], unit="%")
            return
        if symbol == "=":
            self._take_copula()
        self._symbols.append(symbol)
        if symbol in ("-", "/", "<", ">", "<=", ">=", "->", "=>"):
            self._waiting.append(symbol)
        self._before = "currency" if symbol in _CURRENCIES else symbol

    def _take_copula(self) -> None:
        if not self._copula and not self._subordinate and (self._words or self._numbers):
            self._copula = True
            self._subject, self._subject_numbers = len(self._words), len(self._numbers)
        self._before = "is"

    def _bind(self, target: str) -> None:
        self._bound.extend((direction, target) for direction in self._waiting)
        self._waiting.clear()

    def _named(self, target: str) -> str:
        """Return what a direction is bound to: a word, or the amount of the number that stands there."""
        if not target.startswith(_NUMBER_MARK):
            return target
        return self._numbers[int(target[1:])].amount[0]

    def claim(self, text: str, *, clauses: bool) -> Claim:
        self._bind("")
        bound = [(direction, self._named(target)) for direction, target in self._bound]
        counted = [*self._words, *("".join(number.amount) for number in self._numbers)]
        counted.extend(direction for direction, _ in bound)
        return Claim(
            language=language_of(text),
            words=tuple(self._words),
            surfaces=self._surfaces,
            persons=tuple(self._persons),
            owners=frozenset(self._owners),
            exact=frozenset(self._exact),
            opening=self._opening,
            numbers=tuple(self._numbers),
            negated=tuple(sorted(_negated(bound))),
            bound=tuple(pair for pair in bound if pair[0] != "not"),
            symbols=tuple(sorted(self._symbols)),
            particles=frozenset(self._particles),
            modes=frozenset(self._modes),
            first=self._adverb,
            copular=self._copula,
            subject=max(self._subject if self._copula else int(self._article), self._scope),
            subject_numbers=self._subject_numbers,
            clauses=clauses,
            pauses=tuple(self._pauses),
            lists=tuple(self._lists),
            prepositions=frozenset(self._prepositions),
            key=" ".join(sorted(counted)) or text.casefold(),
            bag=frozenset(counted or (text.casefold(),)),
        )


def canonical_number(number: str) -> str:
    """Return a number in one spelling: 1,000 is 1000, 3.0 is 3, -0.50 is -0.5; 1/2 and 10:30 as they are."""
    if number[-1].isalpha():
        return number.casefold()
    plain = (
        number.replace(",", "")
        if re.fullmatch(r"-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?", number)
        else number
    )
    try:
        return format(Decimal(plain).normalize(), "f")
    except InvalidOperation:
        return plain


def _negated(bound: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield what is negated, and what is said to be seldom."""
    for direction, target in bound:
        if direction == "not":
            yield target
        elif direction == "seldom":
            yield f"{direction} {target}"
