"""A platitude: a lesson without a subject, such as "check the result of questions like this in a second way".

What a lesson is about stands in the words that are left when the words are taken away that fit any lesson:
how to work carefully, what becomes of answers and questions, who takes part. A lesson of which none is left
says nothing that a good assistant does not do anyway. The words are the tables `platitudes` of the languages.
"""

from __future__ import annotations

from functools import cache

from ace_graph.languages.detection import spoken_language
from ace_graph.languages.tables import FIRST, SPACELESS, languages, platitude_words
from ace_graph.memory.search.tokenize import is_spaceless, terms, tokens

__all__ = ["is_platitude"]

_READ_CHARS = 1_000
"""A longer text in a script without spaces is no platitude."""


def is_platitude(text: str) -> bool:
    """Whether no word of `text` names a subject, so that it fits any question."""
    if all(token.casefold() in platitude_words(FIRST) for token in tokens(text)):
        return True
    spaceless = spoken_language(text)
    if spaceless in SPACELESS:
        return len(text) <= _READ_CHARS and not _is_about_something(text, spaceless)
    others = (each for each in languages("platitudes") if each != FIRST and each not in SPACELESS)
    return any(_generic_terms(each).issuperset(terms(text, each)) for each in others)


def _is_about_something(text: str, language: str) -> bool:
    left = text
    for word in _longest_first(language):
        left = left.replace(word, " ")
    return any(is_spaceless(token) or token.isalnum() for token in tokens(left))


@cache
def _longest_first(language: str) -> tuple[str, ...]:
    return tuple(sorted(platitude_words(language), key=lambda word: (-len(word), word)))


@cache
def _generic_terms(language: str) -> frozenset[str]:
    return frozenset(term for word in platitude_words(language) for term in terms(word, language))
