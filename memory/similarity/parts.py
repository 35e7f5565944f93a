"""An English sentence as parts: words by their keys, amounts, and the words that its grammar hangs on.

What says nothing (fillers) is left out, and a phrase that stands for a word is that word. `None` comes back
for a sentence that the rules can't be sure of: one with "would", "need not", or too long.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from ace_graph.memory.similarity.claim import Quantity, canonical_number
from ace_graph.memory.similarity.lexicon import number_of, unit_of
from ace_graph.memory.similarity.normalize import Token, normalized_tokens
from ace_graph.memory.similarity.vocabulary import grammar, key_of, phrase_at

__all__ = ["Part", "is_manner", "is_participle", "parts_of"]

_LONGEST = 60
_LETTERS = 12
"""The longest sentence, in parts, and how many letters a part may have on average."""

_DUTY = re.compile(r"\b(?:(?:has|have|ought|needs?) to|(?:is|are) to(?= be\b))\b", re.IGNORECASE)
_UNCLEAR = re.compile(
    r"\b(?:would|hopes?|should have|need not|needn't|can't|cannot|couldn't|mayn't|mightn't)\b"
    r"|\b(?:won't|(?:not|don't|doesn't|never) (?:need|have|has) to)\b",
    re.IGNORECASE,
)
_BE = frozenset(["is", "are", "be", "been", "being", "was", "were", "am"])
_DETERMINERS = frozenset(["a", "an", "the", "your", "our", "my", "its", "their", "his", "her"])
_WITH_IS = frozenset(["it", "that", "there", "he", "she", "what"])
_PERIODS = frozenset(["hour", "minute", "day", "week", "month", "year"])
_CURRENCIES = frozenset("$€£¥")
_COMPARED: Mapping[tuple[str, str], str] = MappingProxyType(
    {("at", "least"): ">=", ("at", "most"): "<=", ("more", "than"): ">", ("less", "than"): "<"}
)
_LIMITS: Mapping[str, str] = MappingProxyType({"over": ">", "above": ">", "under": "<", "below": "<"})
_OPEN_ENDED: Mapping[str, str] = MappingProxyType({"more": ">=", "less": "<=", "fewer": "<="})
_PERSONS: Mapping[str, str] = MappingProxyType(
    {
        "her": "she",
        "she": "she",
        "him": "he",
        "he": "he",
        "them": "they",
        "they": "they",
        "us": "we",
        "me": "i",
    }
)
_TIMES: Mapping[str, str] = MappingProxyType({"once": "1", "twice": "2", "thrice": "3"})

Kind = Literal["word", "det", "amount", "be", "modal", "prep", "sub", "of", "not", "comma", "mark"]


class Part(NamedTuple):
    """`key` stands for all words of the same meaning, `word` is as the text has it, case-folded."""

    kind: Kind
    key: str
    word: str


def parts_of(text: str) -> list[Part] | None:
    """Return the parts of a sentence in their order, None where the rules are not sure to understand it."""
    if len(text) > _LONGEST * _LETTERS or _UNCLEAR.search(text):
        return None
    tokens = _with_meanings(normalized_tokens(_DUTY.sub("must", text)))
    return _Reader(tokens).read() if len(tokens) <= _LONGEST else None


def is_participle(word: str) -> bool:
    """Whether a case-folded word may be a past participle."""
    return (word.endswith("ed") and not word.endswith("eed")) or word in grammar().participles


def is_manner(part: Part) -> bool:
    """Whether a part is an adverb in -ly."""
    word = part.word
    return (
        part.kind == "word"
        and word.endswith("ly")
        and len(word) > len("only")
        and word not in grammar().no_adverbs
    )


def _with_meanings(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with phrases put into the words that are read instead."""
    words, found, place = [token.word for token in tokens], list[Token](), 0
    while place < len(tokens):
        length, meaning = phrase_at(grammar().meanings, words, place)
        found.extend(Token("word", word, word) for word in meaning)
        if not length:
            found.append(tokens[place])
        place += length or 1
    return found


class _Reader:
    """Mutable only inside one call of `parts_of`."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._words = [token.word.removesuffix("'s") for token in tokens] + [""] * 2
        self._keys = [key_of(word) for word in self._words]
        self._parts: list[Part] = []
        self._place = 0

    def read(self) -> list[Part]:
        while self._place < len(self._tokens):
            token, word = self._tokens[self._place], self._words[self._place]
            if token.kind == "pause":
                self._add("comma" if word == "," else "mark", word)
            elif token.kind == "symbol":
                self._take_symbol(word)
            elif token.kind in ("number", "measure") or self._counts(word):
                self._take_number(word)
            elif not self._take_comparison(word):
                self._take_word(word, token.word)
            self._place += 1
        return self._parts

    @property
    def _next(self) -> str:
        return self._words[self._place + 1]

    def _add(self, kind: Kind, key: str, word: str = "") -> None:
        self._parts.append(Part(kind, key, word or key))

    def _take_symbol(self, symbol: str) -> None:
        before = self._parts[-1] if self._parts else None
        if symbol == "%" and before is not None and before.kind == "amount":
            self._parts[-1] = before._replace(key=f"{before.key} %")
        else:
            self._add("mark", symbol)

    def _counts(self, word: str) -> bool:
        started = word in ("a", "an", "per") and self._next in _PERIODS
        return word in _TIMES or started or number_of(word) is not None

    def _take_number(self, word: str) -> None:
        value = _TIMES.get(word) or number_of(word) or ("1" if word in ("a", "an", "per") else word)
        value = canonical_number(value)
        if value.endswith(("st", "nd", "rd", "th")):
            self._add("word", value, word)
            return
        unit = "times" if word in _TIMES else ""
        if not unit and self._next in ("time", "times"):
            unit, self._place = "times", self._place + 1
        elif not unit and unit_of(self._next):
            unit, self._place = unit_of(self._next) or "", self._place + 1
        elif self._parts and self._parts[-1].key in _CURRENCIES:
            unit = unit_of(self._parts.pop().key) or ""
        amount = " ".join(Quantity(value, unit, "", "").amount).strip()
        limit = self._parts.pop().key if self._parts and self._parts[-1].word == "limit" else ""
        if self._next == "or" and (ending := _OPEN_ENDED.get(self._words[self._place + 2])):
            limit, self._place = ending, self._place + 2
        self._add("amount", f"{limit}{amount}")

    def _take_comparison(self, word: str) -> bool:
        """Take "at least" and the like: a limit of the amount behind it, or of the one shortly before."""
        limit = _COMPARED.get((word, self._next))
        behind = self._words[self._place + 2] if limit else self._next
        counted = behind != "" and (behind[0].isdigit() or behind in _CURRENCIES or self._is_amount(behind))
        limit = limit or (_LIMITS.get(word) if counted else None)
        if limit is None:
            return False
        self._place += (word, self._next) in _COMPARED
        near = [
            n
            for n, part in enumerate(self._parts[-2:], max(len(self._parts) - 2, 0))
            if part.kind == "amount"
        ]
        if counted:
            self._add("word", limit, "limit")
        elif near and limit in (">=", "<="):
            self._parts[near[-1]] = self._parts[near[-1]]._replace(key=f"{limit}{self._parts[near[-1]].key}")
        else:
            self._add("word", limit)
        return True

    def _is_amount(self, word: str) -> bool:
        return word in ("a", "an") or word in _TIMES or number_of(word) is not None

    def _take_word(self, word: str, full: str) -> None:
        table = grammar()
        length, meaning = phrase_at(table.synonyms, self._keys, self._place)
        if length:
            self._add("word", meaning[0], word)
            self._place += length - 1
        elif word in _BE:
            self._add("be", "be", word)
        elif word in _PERSONS and (word != "her" or self._ends_phrase(self._next)):
            self._add("word", _PERSONS[word], word)
        elif word in _DETERMINERS:
            self._add("det", "the", word)
        elif word in ("not", "never"):
            self._add("not", "not")
        elif word == "avoid":
            self._add("not", "not")
            if not self._next.endswith("ing"):
                self._add("word", key_of("use"), "use")
        elif word in table.modals:
            self._add("modal", table.modals[word], word)
        elif word == "of":
            self._add("of", word)
        elif word == "on" and self._ends_phrase(self._next):
            self._add("word", word)
        elif word in table.subordinate or word in table.prepositions:
            self._add_joint("sub" if word in table.subordinate else "prep", word)
        elif word in ("and", "or", "but"):
            self._add("mark", word)
        elif not self._is_auxiliary(word) and word not in table.empty:
            self._add("word", self._keys[self._place], word)
        if full != word and word in _WITH_IS:
            self._add("be", "be", "is")

    def _ends_phrase(self, word: str) -> bool:
        return word in ("", ",", ";", "and", "or") or word in grammar().subordinate | grammar().prepositions

    def _add_joint(self, kind: Kind, word: str) -> None:
        """Add a word that joins; an "only" or "even" before it belongs to it."""
        before = self._parts[-1].word if self._parts else ""
        if before in ("only", "even"):
            self._parts.pop()
            self._add(kind, f"{before} {word}", word)
        else:
            self._add(kind, word)

    def _is_auxiliary(self, word: str) -> bool:
        if word in ("have", "has", "had", "having"):
            return self._next in ("been", "not") or is_participle(self._next)
        return word in ("do", "does", "did") and self._next in ("not", "never")
