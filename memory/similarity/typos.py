"""Slips of the pen: whether a string that is no word may be a word, mistyped.

A slip stands beside a word: of two strings one is in the word list of the language and the other is not. Two
real words are never each other's slip, however alike they look, nor are two strings that are both unknown:
the rarer words of a field and most names are in no list. As a list is never whole, a string also needs the
shape of a slip: one letter too many, too few, or wrong, or two in the wrong order; not another ending or
beginning that makes a word (nitrate and nitrite, hyper- and hypo-), and no capitalised word, as it may be a
name.

In the words that carry a claim, a slip is found by comparing what only one of two texts has. A slip in a
word that steers how a text is read (before, instead, minutes ...) would change the reading itself, so such
words are put right before the reading, as the other text spells them: only those that no other word is near.

Does not: correct a text by itself. What one text alone holds stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from types import MappingProxyType

from rapidfuzz.distance import OSA

from ace_graph.memory.search.tokenize import is_spaceless, tokens
from ace_graph.memory.similarity.lexicon import lexicon, number_of, unit_of
from ace_graph.memory.similarity.word_list import has_list, is_word
from ace_graph.memory.tables import pairs, word_sets

__all__ = ["correct_typos", "is_typo", "may_begin_a_sentence", "same_spelling"]

_SHORTEST = 5
_STEM = 3
_VOWEL_ENDINGS = frozenset({"", "a", "e", "i", "o"})
"""Endings of names and of forms of one word: Silvio and Silvia, Daniel and Daniela, format and formate."""

_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_VOWELS = frozenset("aeiouy")
_SOUNDS = frozenset(map(frozenset, ("cs", "ck", "sz", "dt", "mn", "bv", "fv", "gj", "kq", "bp", "yz")))
"""Letters that sound alike; y and z change places on a German keyboard."""
_RARE = "jqxz"

_BRITISH = (
    (re.compile(r"(?<=[a-z]{3})is(?=(?:e|ed|es|er|ers|ing|ation|ations)$)"), "iz"),
    (re.compile(r"(?<=[a-z]{2})ys(?=(?:e|ed|es|er|ing)$)"), "yz"),
    (re.compile(r"(?<=[a-z]{3})our(?=(?:s|ed|ing|ite|ites|able|al|less|ful)?$)"), "or"),
    (re.compile(r"(?<=[a-z]{3}el)l(?=(?:ed|ing|er|ers)$)"), ""),
    (re.compile(r"(?<=[a-z]og)ue(?=s?$)"), ""),
)


def is_typo(x: str, y: str, languages: Iterable[str] = ("english",)) -> bool:
    """Whether one of two case-folded strings is a word of one of the languages and the other its slip.

    Real words often differ in the first letter (weight, height), mistyped ones seldom. In other languages
    than English the end of a word is its grammar, so there a slip is looked for before the last two letters.
    """
    if min(len(x), len(y)) < _SHORTEST or not (x.isalpha() and y.isalpha()) or is_spaceless(x + y):
        return False
    spoken = tuple(languages)
    if not all(map(has_list, spoken)) or OSA.distance(x, y, score_cutoff=1) != 1 or not _same_start(x, y):
        return False
    if any(language != "english" for language in spoken) and x[-2:] != y[-2:] and not _swapped(x, y):
        return False
    known = _is_known(x, spoken)
    if known == _is_known(y, spoken):
        return False
    return _mistyped(x, y) if known else _mistyped(y, x)


def may_begin_a_sentence(x: str, y: str) -> bool:
    """Whether a capitalised word and its slip may begin an English sentence and be no names.

    So it is for verbs and words that make an adverb, which names hardly are, and for two letters in the wrong
    order, which no two names differ in.
    """
    return _swapped(x, y) or any(is_word(form, "english") for word in (x, y) for form in _derived(word))


def _swapped(x: str, y: str) -> bool:
    return len(x) == len(y) and sorted(x) == sorted(y)


def _derived(word: str) -> tuple[str, ...]:
    short = word.removesuffix("e")
    adjective = word.removesuffix("ly") if word.endswith("ly") else ""
    adverbs = (f"{word}ly", f"{word.removesuffix('y')}ily", adjective)
    return (f"{word}ing", f"{short}ing", f"{word}{word[-1]}ing", *adverbs)


def same_spelling(x: str, y: str) -> bool:
    """Whether two case-folded words are the British and the American spelling of one."""
    return x != y and _american(x) == _american(y)


def correct_typos(text: str, other: str, languages: Iterable[str] = ("english",)) -> tuple[str, int]:
    """Return `text` with its slips in steering words and units as `other` spells them, and their number."""
    mine = _words_by_folded(text)
    wanted = [word for word in _words_by_folded(other) if _steers(word) and word not in mine]
    slips = 0
    for word, token in mine.items() if wanted else ():
        if not _steers(word):
            near = next((w for w in sorted(wanted) if w[0] == word[0] and is_typo(word, w, languages)), None)
            if near is not None:
                text = text.replace(token, near)
                slips += 1
    return text, slips


@lru_cache(maxsize=4_096)
def _words_by_folded(text: str) -> Mapping[str, str]:
    """Return the words of a text as they stand, by their case-folded form."""
    return MappingProxyType({token.casefold(): token for token in tokens(text)})


def _is_known(word: str, languages: tuple[str, ...]) -> bool:
    return _steers(word) or any(is_word(word, language) for language in languages)


def _same_start(x: str, y: str) -> bool:
    return x[0] == y[0] or x[:2] == y[1::-1] or (x[1:] == y or y[1:] == x)


def _mistyped(word: str, slip: str) -> bool:
    """Whether an unknown string has the shape of a word that was mistyped, not of another word."""
    if f"{slip}e" == word:
        return True
    return not (_other_ending(word, slip) or _other_beginning(word, slip)) and _letters_confused(word, slip)


def _other_ending(x: str, y: str) -> bool:
    """Whether what follows a common stem is an ending of its own in both: nitr-ate, nitr-ite.

    -er for -or is a slip, or another spelling.
    """
    for stem in range(_STEM, min(len(x), len(y)) + 1):
        if x[:stem] != y[:stem]:
            return False
        ends = {x[stem:], y[stem:]}
        if ends <= _VOWEL_ENDINGS or (ends <= _words("endings") and ends != {"or", "er"}):
            return True
    return False


def _other_beginning(x: str, y: str) -> bool:
    """Whether both have a prefix of their own before a common rest: hyper-, hypo-."""
    for rest in range(_STEM, min(len(x), len(y)) + 1):
        if x[-rest:] != y[-rest:]:
            return False
        if {x[:-rest], y[:-rest]} <= _words("beginnings"):
            return True
    return False


def _letters_confused(x: str, y: str) -> bool:
    """Whether one letter for another can be a slip.

    So it is beside it on the keyboard, for two vowels, like sounds, and letters that few words hold.
    """
    if len(x) != len(y):
        return True
    changed = [(one, other) for one, other in zip(x, y, strict=True) if one != other]
    one, other = changed[0]
    return len(changed) == 2 or _VOWELS.issuperset((one, other)) or _confusable(one, other)


def _confusable(one: str, other: str) -> bool:
    rare = one in _RARE or other in _RARE
    return rare or frozenset((one, other)) in _SOUNDS or (one, other) in _adjacent_keys()


@cache
def _adjacent_keys() -> frozenset[tuple[str, str]]:
    """Return the pairs of keys that touch, in both orders."""
    beside = [pair for row in _KEYS for pair in pairwise(row)]
    for upper, lower in pairwise(_KEYS):
        beside += [(key, up) for place, key in enumerate(lower) for up in upper[place : place + 2]]
    return frozenset((*beside, *((b, a) for a, b in beside)))


@lru_cache(maxsize=32_768)
def _american(word: str) -> str:
    listed = _american_by_british().get(word)
    if listed is not None:
        return listed
    for british, american in _BRITISH:
        word = british.sub(american, word)
    return word


@lru_cache(maxsize=32_768)
def _steers(word: str) -> bool:
    """Whether a word changes how a text is read: what it negates, orders, counts or leaves out."""
    sets = lexicon()
    listed = word in sets.directions or word in sets.fillers or word in sets.negations
    return listed or word in _words("steering") or number_of(word) is not None or unit_of(word) is not None


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(word_sets("ace_graph.memory.similarity", "spelling.toml")[name].split())


@cache
def _american_by_british() -> Mapping[str, str]:
    return pairs(word_sets("ace_graph.memory.similarity", "spelling.toml")["british"])
