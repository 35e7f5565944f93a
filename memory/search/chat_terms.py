"""The terms of chat: politeness and small talk around a question, which carry no subject.

They are the chat words of the languages' tables as the tokenizer reads them, so they can be compared with the
terms of a question.
"""

from __future__ import annotations

from functools import cache

from ace_graph.languages.tables import FIRST, SPACELESS, chat_words, languages
from ace_graph.memory.search.tokenize import terms

__all__ = ["chat_terms"]


@cache
def chat_terms(language: str) -> frozenset[str]:
    """Return the terms of chat in a question whose language is, after `language_of`, this one.

    Terms of languages without spaces between words are among them, because `language_of` names none of these.
    """
    pairs = (word for each in languages("chat") if each in SPACELESS for word in chat_words(each))
    found = {term for word in pairs for term in terms(word, FIRST)}
    return frozenset(found.union(term for word in chat_words(language) for term in terms(word, language)))
