"""Typos: whether a string that is no word is a mistyped word of another text.

Of a word and its typo one is in the word list of the language and the other is not. Two real words are never
typos of each other, however alike they look, nor are two strings that are both unknown: the rarer words of a
field and most names are in no list. As no list is complete, a typo must also look like one: one letter too
many, too few, or wrong, or two in the wrong order; but not another ending or beginning that makes a word
(nitrate and nitrite, hyper- and hypo-), and no capitalised word, as it may be a name.

In the words that carry a claim, a typo is found by comparing the words that only one of two texts has. A typo
in a word that decides how a text is parsed (before, instead, minutes ...) would change the claim itself, so
such words are corrected before parsing, to the spelling of the other text. No text is corrected by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

from rapidfuzz.distance import OSA

from ace_graph.base.tables import pairs, word_sets
from ace_graph.memory.languages.tables import FIRST, first_names
from ace_graph.memory.search.tokenize import is_spaceless, tokens
from ace_graph.memory.search.word_list import begins_word, every_list, has_list, is_word, per_million
from ace_graph.memory.search.written_language import known_words, written_language
from ace_graph.memory.similarity.claim import lexicon, number_of, phrases, unit_of

_SHORTEST = 4
_SHORTEST_OF_RARE = 5
_OFTEN = 1.0
_OFTEN_IF_SHORT = 3.0
"""How often a common word is said, of a million words; short ones have more neighbours that no list has."""
_TOLD = 1.3
"""By how much another list has to know more words than that of the language which the stop words tell."""
_BORROWED = 1.0
"""How often an English word is said that a text in another language may have, too."""
_CAPITALISED_NOUNS = frozenset({"german"})
"""Languages whose nouns have a capital letter; their lists have no counts of them."""
_LONGEST = 40
"""Longer strings are no words, and are not searched for typos."""

_STEM = 3
_START, _ENDING = 4, 3
"""A form of a word has at least so many letters in common with it, and an ending of at most so many."""
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
    """Whether one of two case-folded strings is a word of one of the languages and the other a typo of it.

    What differs by one letter from a common word, and is no word itself, is a typo of it, wherever the
    letter is: the forms of common words and their neighbours are in the lists. Of a rarer word it must look
    like one. Real words often differ in the first letter (weight, height), mistyped ones seldom. In other
    languages than English the end of a word is its grammar, so there the typo of a rare word must be before
    the last two letters.
    """
    shorter, longer = sorted((len(x), len(y)))
    if (
        longer < _SHORTEST
        or shorter < _SHORTEST - 1
        or not (x.isalpha() and y.isalpha())
        or is_spaceless(x + y)
    ):
        return False
    spoken = tuple(languages)
    if not all(map(has_list, spoken)) or OSA.distance(x, y, score_cutoff=1) != 1:
        return False
    known, other = _is_known(x, spoken), _is_known(y, spoken)
    same_end = x[-2:] == y[-2:] or are_swapped(x, y)
    if not known and not other:
        if same_end and _commands(x, spoken) != _commands(y, spoken):
            return True
        known, other = _may_be_form(x, spoken), _may_be_form(y, spoken)
    if known == other:
        return False
    word, typo = (x, y) if known else (y, x)
    if is_common(word, spoken):
        return True
    if shorter < _SHORTEST_OF_RARE or not _same_start(x, y):
        return False
    if any(language != FIRST for language in spoken) and not same_end:
        return False
    return _mistyped(word, typo)


def is_common(word: str, languages: Iterable[str]) -> bool:
    """Whether a case-folded word is a common one in one of the languages."""
    often = _OFTEN if len(word) >= _SHORTEST_OF_RARE else _OFTEN_IF_SHORT
    for language in languages:
        if per_million(word, language) >= often or (
            language in _CAPITALISED_NOUNS and is_word(word, language)
        ):
            return True
    return False


def languages_of(words: Iterable[str], others: Iterable[str], guessed: Iterable[str]) -> tuple[str, ...]:
    """Return the languages in which two texts of these case-folded words may have typos: English, and theirs.

    `guessed` are the languages that their stop words tell.
    """
    shared = sorted({*words} & {*others})
    told = [language for language in guessed if language != FIRST and has_list(language)]
    own = written_language(shared, every_list()[1:] if told else every_list())
    if told and _TOLD * known_words(shared, told[0]) >= known_words(shared, own):
        own = told[0]
    return (FIRST,) if own == FIRST else (FIRST, own)


Place = Literal["opening", "subject", "inside"]
"""Where a capitalised word stands: it begins its sentence, is its subject without an article, or neither."""


def may_be_a_name(x: str, y: str, languages: Iterable[str], place: Place) -> bool:
    """Whether one of a word and its typo may be a name, both being capitalised in their texts.

    At the beginning of a sentence they are no names if they are verbs, make an adverb, or are no first name
    and common, or in another language than English an order; as a subject, only verbs are none. Elsewhere
    they are none only where nouns have capital letters, too, and for days and months.
    """
    if not _words("capitalised").isdisjoint((x, y)):
        return False
    first_name = not _first_names().isdisjoint((x, y))
    if place == "opening" and not first_name and (_commands(x, languages) or _commands(y, languages)):
        return False
    verb = any(is_word(form, FIRST) for word in (x, y) for form in _derived(word))
    if place != "inside" and verb and not (first_name and place == "subject"):
        return False
    if first_name or place == "subject":
        return True
    if place == "inside":
        return _CAPITALISED_NOUNS.isdisjoint(languages)
    return not (is_common(x, languages) or is_common(y, languages))


@cache
def _first_names() -> frozenset[str]:
    return frozenset(map(str.casefold, first_names()))


def are_swapped(x: str, y: str) -> bool:
    return len(x) == len(y) and sorted(x) == sorted(y)


def _derived(word: str) -> tuple[str, ...]:
    short = word.removesuffix("e")
    adjective = word.removesuffix("ly") if word.endswith("ly") else ""
    adverbs = (f"{word}ly", f"{word.removesuffix('y')}ily", adjective)
    return (f"{word}ing", f"{short}ing", f"{word}{word[-1]}ing", *adverbs)


def same_spelling(x: str, y: str) -> bool:
    """Whether two case-folded words are the British and the American spelling of one."""
    return x != y and _american(x) == _american(y)


class Spellings:
    """Words by their spellings: finds those that may be the same word as another one, or a typo of it.

    Two strings that differ by one letter, or by two in the wrong order, become equal when a letter of each is
    deleted (or of the longer one), and of a word and its typo one is in the word lists, or is a form of one
    that is. So a search takes time linear in the length of the word, and few are found. Most words are in the
    lists, and most searches are for such a word: letters are deleted only where there are others.
    """

    def __init__(self, words: Iterable[str], languages: Iterable[str]) -> None:
        self._languages = tuple(languages)
        self._words = tuple(words)
        self._american: dict[str, list[int]] = {}
        self._shortened: dict[bool, dict[str, list[int]]] = {}
        for place, word in enumerate(self._words):
            self._american.setdefault(_american(word), []).append(place)

    def alike(self, word: str) -> Sequence[int]:
        """Return the places of the words that have one American spelling with this one, in their order."""
        return self._american.get(_american(word), ())

    def near(self, word: str) -> Sequence[int]:
        """Return the places of the words that may be a typo of this one, or it of them, in their order."""
        if not self._words or not _may_be_mistyped(word):
            return ()
        known = _is_known(word, self._languages)
        others = [self._shortened_words(known=not known)]
        if not known and self._languages != (FIRST,):
            others.append(self._shortened_words(known=False))
        shorter = _shortened(word) if any(others) else ()
        return sorted({place for each in shorter for found in others for place in found.get(each, ())})

    def _shortened_words(self, *, known: bool) -> Mapping[str, Sequence[int]]:
        """The places of words in the word lists, or of the others, by what is left without a letter."""
        if known not in self._shortened:
            made = self._shortened[known] = {}
            for place, word in enumerate(self._words):
                if _may_be_mistyped(word) and _is_known(word, self._languages) == known:
                    for shorter in _shortened(word):
                        made.setdefault(shorter, []).append(place)
        return self._shortened[known]


def _may_be_mistyped(word: str) -> bool:
    """Whether a word can be or have a typo."""
    return _SHORTEST - 1 <= len(word) <= _LONGEST and word.isalpha()


def _shortened(word: str) -> set[str]:
    """The word, and the word without each of its letters."""
    return {word, *(word[:place] + word[place + 1 :] for place in range(len(word)))}


def correct_typos(text: str, other: str, languages: Iterable[str] = ("english",)) -> tuple[str, int]:
    """Return `text` with the typos in its steering words and units corrected, and how many there were.

    Steering words decide how a text is parsed; they are corrected to the spelling of `other`.
    """
    mine = _words_by_folded(text)
    wanted = sorted(word for word in _words_by_folded(other) if _steers(word) and word not in mine)
    spellings, corrected = Spellings(wanted, languages), 0
    for word, token in mine.items() if wanted else ():
        if not _steers(word):
            near = (wanted[place] for place in spellings.near(word))
            right = next((w for w in near if is_typo(word, w, languages)), None)
            if right is not None:
                text = text.replace(token, right)
                corrected += 1
    return text, corrected


@lru_cache(maxsize=4_096)
def _words_by_folded(text: str) -> Mapping[str, str]:
    """Return the words of a text as they stand, by their case-folded form."""
    return MappingProxyType({token.casefold(): token for token in tokens(text)})


def _is_known(word: str, languages: tuple[str, ...]) -> bool:
    if _steers(word) or any(is_word(word, language) for language in languages if language != FIRST):
        return True
    return is_word(word, FIRST) if languages == (FIRST,) else per_million(word, FIRST) >= _BORROWED


def _may_be_form(word: str, languages: tuple[str, ...]) -> bool:
    """Whether a word that no list has may be a form of one: English lists have all forms, others have not."""
    start = word[: max(len(word) - _ENDING, _START)]
    return any(begins_word(start, language) for language in languages if language != FIRST)


def _commands(word: str, languages: Iterable[str]) -> bool:
    """Whether a word orders something in another language than English, by a verb that is common there.

    The lists have infinitives, and often lack the form that an instruction begins with: explica, explicar.
    """
    verbs = [word + ending for ending in _words("infinitives")]
    return any(
        per_million(verb, language) >= _OFTEN for language in languages if language != FIRST for verb in verbs
    )


def _same_start(x: str, y: str) -> bool:
    return x[0] == y[0] or x[:2] == y[1::-1] or (x[1:] == y or y[1:] == x)


def _mistyped(word: str, typo: str) -> bool:
    """Whether an unknown string looks like a mistyped word, not like another word."""
    if f"{typo}e" == word:
        return True
    return not (_other_ending(word, typo) or _other_beginning(word, typo)) and _letters_confused(word, typo)


def _other_ending(x: str, y: str) -> bool:
    """Whether what follows a common stem is an ending of its own in both: nitr-ate, nitr-ite.

    -er for -or is a typo, or another spelling.
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
    """Whether one letter can be typed for another.

    It can if the two are adjacent on the keyboard, both are vowels, they sound alike, or one is rare.
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
    listed = (sets.articles, sets.directions, sets.fillers, sets.negations, phrases().synonyms)
    if word in _words("steering") or any(word in each for each in listed):
        return True
    return number_of(word) is not None or unit_of(word) is not None


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(word_sets("ace_graph.memory.similarity", "spelling.toml")[name].split())


@cache
def _american_by_british() -> Mapping[str, str]:
    return pairs(word_sets("ace_graph.memory.similarity", "spelling.toml")["british"])
