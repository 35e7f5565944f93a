"""Guesses in which language a text is, from the text alone: its script, or the words that it holds.

For the index the guess only chooses a stemmer and a stop list, so a wrong one costs little as long as it is
the same for a bullet and for the questions about it. English is the default and wins every tie. All is linear
in the text's length.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType

from ace_graph.memory.languages.tables import FIRST, chat_words, languages, stop_words, table, words

_STEMMED_SCRIPTS = (
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
)
_SCRIPTS = (
    ("japanese", re.compile("[\u3040-\u30ff]")),
    ("chinese", re.compile("[\u3400-\u9fff]")),
    ("russian", re.compile("[\u0400-\u052f]")),
)
"""What settles a language whatever else a sentence holds; kana come first, since Japanese has Han, too."""
_WORD = re.compile(r"\w+")


def script_language(char: str) -> str | None:
    """Return the stemmer's language that the script of a letter settles, None for Latin and the rest."""
    code = ord(char)
    if code < _STEMMED_SCRIPTS[0][0]:
        return None
    return next((language for low, high, language in _STEMMED_SCRIPTS if low <= code <= high), None)


def guess_language(said: Collection[str]) -> str:
    """Return the language whose stop words occur most often among these case-folded words.

    English wins ties and is what a text without a single stop word gets.
    """
    if not tells_of_another(said):
        return FIRST
    by_word = _languages_by_stop_word()
    hits = dict.fromkeys(languages("stop_words"), 0)
    for word in said:
        for language in by_word.get(word, ()):
            hits[language] += 1
    return max(hits, key=hits.__getitem__)  # the first of equals, and English comes first


def tells_of_another(said: Iterable[str]) -> bool:
    """Whether one of these case-folded words is a stop word, and none of the first language."""
    return not _not_in_first_language().isdisjoint(said)


def spoken_language(sentence: str) -> str:
    """Return the language whose words occur most often in a sentence; English wins ties.

    It is one of those that have tables of statements.
    """
    return nearly_likely(sentence)[0]


def nearly_likely(sentence: str) -> tuple[str, ...]:
    """Return the languages with the most words in a sentence, `spoken_language` first, and with one less."""
    written = _language_of_script(sentence)
    if written is not None:
        return (written,)
    hits = _hits(sentence, _languages_by_word())
    first = max(hits, key=hits.__getitem__)
    return (first, *(each for each in hits if each != first and hits[each] >= max(1, hits[first] - 1)))


def likely_languages(sentence: str) -> tuple[str, ...]:
    """Return the languages that a sentence may be in: its script's, or those that have words in it.

    It is English alone where that has the most. A sentence with no word that tells may be in any language of
    Latin letters.
    """
    written = _language_of_script(sentence)
    if written is not None:
        return ("chinese", "japanese") if written == "chinese" else (written,)
    hits = _hits(sentence, _languages_by_small_talk())
    settled = {language for language, _ in _SCRIPTS}
    found = sorted((each for each in hits if each not in settled), key=hits.__getitem__, reverse=True)
    most = hits[found[0]]
    if found[0] == FIRST and most > hits[found[1]]:
        return (FIRST,)
    return tuple(each for each in found if hits[each] or not most)


def _language_of_script(sentence: str) -> str | None:
    if sentence.isascii():
        return None
    return next((language for language, script in _SCRIPTS if script.search(sentence) is not None), None)


def _hits(sentence: str, known: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """How many words of a sentence each language has."""
    hits = dict.fromkeys(languages("persons"), 0)
    for word in _WORD.findall(sentence.casefold()):
        for language in known.get(word, ()):
            hits[language] += 1
    return hits


@cache
def _not_in_first_language() -> frozenset[str]:
    """Return the stop words that are not English, the first language; a text with none of them is English."""
    return frozenset(word for word, spoken in _languages_by_stop_word().items() if FIRST not in spoken)


@cache
def _languages_by_stop_word() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for language in languages("stop_words"):
        for word in stop_words(language):
            found[word] = (*found.get(word, ()), language)
    return MappingProxyType(found)


@cache
def _languages_by_word() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for language in languages("persons"):
        own = words(language, "persons", "own")  # they tell related languages apart, so they count twice
        for word in stop_words(language) | frozenset(_persons(language)) | _values(language):
            found[word] = (*found.get(word, ()), *(language,) * (2 if word in own else 1))
    return MappingProxyType(found)


def _values(language: str) -> frozenset[str]:
    """Return the words for a name, an age and the like: a request such as "olvida mi edad" has few others."""
    if language == FIRST:
        return frozenset()
    return frozenset(word for word in words(language, "statements", "slots") if not word.endswith(":"))


@cache
def _languages_by_small_talk() -> Mapping[str, tuple[str, ...]]:
    """The languages by word, with those of chat and feedback: what a learner says about an answer."""
    found = dict(_languages_by_word())
    for language in languages("feedback"):
        texts = " ".join(table(language, "feedback").values()).casefold()
        for word in chat_words(language) | frozenset(_WORD.findall(texts)):
            if language not in found.get(word, ()):
                found[word] = (*found.get(word, ()), language)
    return MappingProxyType(found)


def _persons(language: str) -> Iterator[str]:
    for name in ("own", "mine", "others", "questions", "joints", "material"):
        yield from words(language, "persons", name)
